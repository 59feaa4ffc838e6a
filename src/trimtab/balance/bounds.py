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

from collections.abc import Collection, Iterator, Sequence
from math import ceil
from typing import Literal

import numpy as np
from msgspec import Struct

from trimtab.balance import exact
from trimtab.balance.exact import WEIGHTS, best_mix, mix
from trimtab.balance.problem import RESOURCES, SLACK, Floats, Places, Problem

Method = Literal["resource", "surrogate", "exact"]
_MIXES = {"resource": WEIGHTS[[0, -1]], "surrogate": WEIGHTS, "exact": WEIGHTS}
"""Weights of CPU, the rest is memory's: one resource at a time, or 33 mixes of both."""
_TOGETHER = 1000
"""Nodes at a time: enough that numpy's calls do not count, and little memory."""
PRECISION = 1e-4
"""How exactly the best level is found, as a share of a node."""
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
    stuck: dict[int, StuckNode] = {}
    moves: dict[int, int] = {}
    weights: dict[int, float] = {}
    for covers in _covers(problem, ceiling):
        nodes = covers.nodes.tolist()
        stuck |= _stuck(problem, covers)
        moves |= zip(nodes, _fewest(covers, method), strict=True)
        weights |= zip(nodes, _least_weight(covers, method), strict=True)
    by_node = dict(sorted(moves.items()))
    weight = sum(weights[node] for node in by_node)  # in one order: sums of floats differ
    proofs = tuple(stuck[node] for node in sorted(stuck))
    return Bound(sum(moves.values()), float(weight), method, proofs, by_node)


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


def best_level_by_moves(problem: Problem, most: Sequence[int]) -> list[tuple[int, float]]:
    """For each number of moves the lowest ceiling above the mean that a bound still allows.

    No balancer gets every node closer to the mean than this with so few moves: the curve to
    draw under what a plan reaches. Bisection, since fewer moves never allow a lower ceiling.
    """
    worst = float((problem.shares() - problem.mean()[:, None]).max(initial=0.0))
    curve = []
    for moves in most:
        low, high = 0.0, max(worst, 0.0)
        while high - low > PRECISION:
            band = (low + high) / 2
            ceiling = problem.mean()[:, None] + band + np.zeros_like(problem.capacity)
            found = bound(problem, ceiling, method="surrogate")
            possible = found.moves <= moves and not found.stuck
            low, high = (low, band) if possible else (band, high)
        curve.append((moves, high))
    return curve


class _Covers(Struct, frozen=True, eq=False):
    """The covering problems of G hot nodes with M VMs each that can leave.

    Together, since a cluster has thousands of hot nodes and numpy's calls cost more than
    their dozen VMs.
    """

    nodes: Places
    loads: Floats
    """(G, 2, M)"""
    excess: Floats
    """(G, 2) to lose, at most what can leave: the rest is a stuck node's, whoever balances."""
    weights: Floats
    """(G, M)"""
    over: Floats
    """(G, 2) what stays above the ceiling after all of them have left."""


def _covers(problem: Problem, ceiling: Floats) -> Iterator[_Covers]:
    excess = problem.shares() - ceiling
    hot = np.flatnonzero((excess > SLACK).any(axis=0))
    free = np.flatnonzero(problem.movable)
    order = free[np.argsort(problem.where[free], kind="stable")]
    placed = problem.where[order]
    first = np.searchsorted(placed, hot)
    count = np.searchsorted(placed, hot, side="right") - first
    for size in np.unique(count).tolist():
        alike = np.flatnonzero(count == size)
        for start in range(0, len(alike), _TOGETHER):
            some = alike[start : start + _TOGETHER]
            nodes = hot[some]
            vms = order[first[some, None] + np.arange(size)]
            loads = problem.load[:, vms].swapaxes(0, 1) / problem.capacity.T[nodes][:, :, None]
            there = loads.sum(axis=-1)
            wanted = np.minimum(np.maximum(excess.T[nodes], 0.0), there)
            yield _Covers(nodes, loads, wanted, problem.resident[vms], excess.T[nodes] - there)


def _stuck(problem: Problem, covers: _Covers) -> dict[int, StuckNode]:
    """The nodes among them that stay above their ceiling, with the proof."""
    stuck = {}
    for row in np.flatnonzero((covers.over > SLACK).any(axis=1)).tolist():
        node, resource = int(covers.nodes[row]), int(covers.over[row].argmax())
        share = float(problem.shares()[resource, node])
        fixed = 1.0 - float(covers.loads[row, resource].sum()) / share
        stuck[node] = StuckNode(
            node,
            RESOURCES[resource],
            fixed,
            float(covers.over[row, resource]),
            f"{100 * fixed:.0f} % of its {RESOURCES[resource]} load cannot migrate",
        )
    return stuck


def _fewest(covers: _Covers, method: Method) -> list[int]:
    quick: list[int] = fewest_by_weights(covers.loads, covers.excess, _MIXES[method]).tolist()
    if method != "exact":
        return quick
    return [
        # Bound and a cover of that size meet: nothing to search for.
        least
        if least == greedy_cover(loads, excess)
        else max(least, int(exact.fewest(loads, excess).least))
        for least, loads, excess in zip(quick, covers.loads, covers.excess, strict=True)
    ]


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


def fewest_by_weights(loads: Floats, excess: Floats, mixes: Floats = WEIGHTS) -> Places:
    """The most that any weighted sum of both resources demands.

    loads: (2, M) of one node, or stacked (..., 2, M) with excess (..., 2).
    """
    mixed, wanted = mix(loads, excess, mixes)
    reached = np.cumsum(-np.sort(-mixed, axis=-1), axis=-1)
    missing = np.count_nonzero(reached < (wanted - SLACK)[..., None], axis=-1)
    least = np.minimum(missing.max(axis=-1) + 1, loads.shape[-1])
    return np.where((excess > SLACK).any(axis=-1), least, 0)


def _least_weight(covers: _Covers, method: Method) -> list[float]:
    if method != "exact":
        demands = best_mix(covers.loads, covers.weights, covers.excess, _MIXES[method])[1]
        least: list[float] = demands.tolist()
        return least
    return [
        exact.least_weight(*cover).least
        for cover in zip(covers.loads, covers.weights, covers.excess, strict=True)
    ]
