"""The least that any balancer must do: fewest moves and bytes, best level with k moves.

Whoever chooses VMs and targets, a node above its ceiling has to lose its excess in every
resource. The fewest VMs that carry it, summed over the nodes, are a lower bound for any
plan, because arrivals can only add to a node. Per node this is a covering problem with two
resources; three ways to bound it, each at least as good as the one before:

resource    the largest VMs of one resource, the worse of the two
surrogate   the same for weighted sums of both resources, the best of 33 weights
exact       the covering problem itself, by branch and bound (`exact`)

VMs that cannot move are left out: then a node may be proved to stay above its ceiling.
"""

from collections.abc import Collection, Sequence
from math import ceil
from typing import Literal

import numpy as np
from msgspec import Struct

from trimtab.balance import exact
from trimtab.balance.exact import WEIGHTS, best_mix
from trimtab.balance.problem import CPU, MEMORY, RESOURCES, Floats, Places, Problem

Method = Literal["resource", "surrogate", "exact"]
_MIXES = {"resource": WEIGHTS[[0, -1]], "surrogate": WEIGHTS, "exact": WEIGHTS}
"""Weights of CPU, the rest is memory's: one resource at a time, or 33 mixes of both."""
SLACK = 1e-9
"""Excess below this share of a node is rounding."""
EXACT_NODES = 1000
"""Above so many nodes `auto` takes the surrogate, which costs a tenth and is 2 % lower."""


class StuckNode(Struct, frozen=True):
    """A node that no balancer can level, with the proof."""

    node: int
    resource: str
    fixed: float
    """Share of the node's load in that resource that cannot move."""
    over: float
    """How far the node stays above its ceiling after everything that can move has left."""
    text: str


class Bound(Struct, frozen=True):
    """What any balancer needs at least to bring every node below its ceiling, stuck ones aside."""

    moves: int
    bytes: float
    method: Method
    stuck: tuple[StuckNode, ...]
    by_node: dict[int, int]


def ceilings(problem: Problem, band: float) -> Floats:
    """(2, N) the mean plus the band, at most a whole node."""
    ceiling = np.minimum(problem.mean() + band, 1.0)
    return np.repeat(ceiling[:, None], len(problem.nodes), axis=1)


def bound(problem: Problem, ceiling: Floats, *, method: Method | Literal["auto"] = "auto") -> Bound:
    """Fewest moves and bytes that bring all nodes down to `ceiling` (2, N)."""
    if method == "auto":
        method = "exact" if len(problem.nodes) <= EXACT_NODES else "surrogate"
    covers = _covers(problem, ceiling)
    stuck = tuple(cover.stuck for cover in covers if cover.stuck is not None)
    moves = {cover.node: _fewest(cover, method) for cover in covers}
    weight = sum(_least_weight(cover, method) for cover in covers)
    return Bound(sum(moves.values()), float(weight), method, stuck, moves)


def fewest_cycles(moves: Collection[int], limits: tuple[int | None, int | None]) -> int:
    """Cycles that limits force with so many moves from each node.

    limits: moves per cycle in all and per node; None is no limit.
    """
    total, per_node = limits
    needed = [1] if moves else [0]
    if total:
        needed.append(ceil(sum(moves) / total))
    if per_node:
        needed.append(max((ceil(count / per_node) for count in moves), default=0))
    return max(needed)


def best_level_by_moves(
    problem: Problem, most: Sequence[int], *, method: Method = "surrogate", precision: float = 1e-4
) -> list[tuple[int, float]]:
    """For each number of moves the lowest ceiling above the mean that a bound still allows.

    No balancer gets every node closer to the mean than this with so few moves: the curve to
    draw under what a plan reaches. Bisection, since fewer moves never allow a lower ceiling.
    """
    worst = float((problem.shares() - problem.mean()[:, None]).max(initial=0.0))
    curve = []
    for moves in most:
        low, high = 0.0, max(worst, 0.0)
        while high - low > precision:
            band = (low + high) / 2
            ceiling = problem.mean()[:, None] + band + np.zeros_like(problem.capacity)
            found = bound(problem, ceiling, method=method)
            possible = found.moves <= moves and not found.stuck
            low, high = (low, band) if possible else (band, high)
        curve.append((moves, high))
    return curve


class _Cover(Struct, frozen=True, eq=False):
    """The covering problem of one hot node: loads (2, M) that can leave, excess (2,) to lose."""

    node: int
    loads: Floats
    excess: Floats
    weights: Floats
    stuck: StuckNode | None


def _covers(problem: Problem, ceiling: Floats) -> list[_Cover]:
    excess = problem.shares() - ceiling
    hot = np.flatnonzero((excess > SLACK).any(axis=0))
    order = np.argsort(problem.where, kind="stable")
    placed = problem.where[order]
    movable = problem.movable
    covers = []
    for node in hot.tolist():
        first, last = np.searchsorted(placed, (node, node + 1))
        vms = order[first:last]
        covers.append(_cover(problem, node, vms[movable[vms]], excess[:, node]))
    return covers


def _cover(problem: Problem, node: int, vms: Places, excess: Floats) -> _Cover:
    loads = problem.load[:, vms] / problem.capacity[:, node, None]
    over = excess - loads.sum(axis=1)
    stuck = None
    if (over > SLACK).any():
        resource = int(over.argmax())
        share = float(problem.shares()[resource, node])
        fixed = 1.0 - float(loads[resource].sum()) / share
        stuck = StuckNode(
            node,
            RESOURCES[resource],
            fixed,
            float(over[resource]),
            f"{100 * fixed:.0f} % of its {RESOURCES[resource]} load cannot migrate",
        )
    # What can be lost at all: the rest is the stuck node's, whoever balances.
    wanted = np.minimum(np.maximum(excess, 0.0), loads.sum(axis=1))
    return _Cover(node, loads, wanted, problem.resident[vms], stuck)


def _fewest(cover: _Cover, method: Method) -> int:
    quick = fewest_by_weights(cover.loads, cover.excess, _MIXES[method])
    if method != "exact" or quick == greedy_cover(cover.loads, cover.excess):
        return quick  # bound and a cover of that size meet: nothing to search for
    return max(quick, int(exact.fewest(cover.loads, cover.excess).least))


def greedy_cover(loads: Floats, excess: Floats) -> int:
    """How many VMs a simple choice needs: each time the one that takes most of what is left."""
    left, free, taken = excess.copy(), loads.copy(), 0
    while (left > SLACK).any() and taken < loads.shape[1]:
        gain = np.minimum(free, np.maximum(left, 0.0)[:, None]).sum(axis=0)
        best = int(gain.argmax())
        left = left - free[:, best]
        free[:, best] = 0.0
        taken += 1
    return taken


def fewest_by_weights(loads: Floats, excess: Floats, mixes: Floats = WEIGHTS) -> int:
    """The most that any weighted sum of both resources demands. loads: (2, M)."""
    if not loads.shape[1] or not (excess > SLACK).any():
        return 0
    mixed = mixes[:, None] * loads[CPU] + (1 - mixes)[:, None] * loads[MEMORY]
    wanted = mixes * excess[CPU] + (1 - mixes) * excess[MEMORY]
    reached = np.cumsum(-np.sort(-mixed, axis=1), axis=1)
    missing = reached < (wanted - SLACK)[:, None]
    return min(int(missing.sum(axis=1).max()) + 1, int(loads.shape[1]))


def _least_weight(cover: _Cover, method: Method) -> float:
    if not cover.loads.shape[1] or not (cover.excess > SLACK).any():
        return 0.0
    if method != "exact":
        return best_mix(cover.loads, cover.weights, cover.excess, _MIXES[method])[1]
    return exact.least_weight(cover.loads, cover.weights, cover.excess).least
