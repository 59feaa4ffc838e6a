"""The least that any rebalancer must do: fewest migrations, bytes and cycles.

Whoever chooses the VMs, a node above the band has to lose its excess. The fewest VMs that
carry it are the largest ones; the least memory is that of the VMs with the most load per
byte, the last one in part. Closed form, so every run has a gap to the optimum.
"""

from math import ceil

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.sim.fleet import BYTES_PER_UNIT, Fleet, Floats

BAND = 0.10
"""A node is level while its use is at most this much above the mean of the nodes."""
GB = 1e9


class Bounds(Struct, frozen=True):
    """What the best conceivable rebalancer needs from one placement."""

    migrations: int
    gb: float
    cycles: int


NOTHING = Bounds(0, 0.0, 0)


def lower_bounds(
    fleet: Fleet,
    where: NDArray[np.intp],
    cpu: Floats,
    memory: Floats,
    limits: tuple[int | None, int | None],
) -> Bounds:
    """Bounds for loads `cpu`, `memory` (units per VM) placed at `where` (node or nowhere).

    limits: evictions per cycle in all and per node; None is no limit.
    """
    nodes = fleet.nodes
    # The VMs node by node, sorted once: going over a million of them for each hot node took 16 s.
    by_node = np.argsort(where, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=nodes + 1))])
    moves: dict[int, int] = {}
    least: dict[int, float] = {}
    for load, capacity in ((cpu, fleet.cpu_capacity), (memory, fleet.memory_capacity)):
        share = np.bincount(where, load, minlength=nodes + 1)[:nodes] / capacity
        excess = (share - (share.mean() + BAND)) * capacity
        # Half a unit is rounding, not excess: loads are whole units.
        for node in np.flatnonzero(excess > 0.5).tolist():
            here = by_node[first[node] : first[node + 1]]
            count = fewest(load[here], float(excess[node]))
            weight = least_weight(load[here], memory[here], float(excess[node]))
            moves[node] = max(moves.get(node, 0), count)
            least[node] = max(least.get(node, 0.0), weight)
    total = sum(moves.values())
    gb = sum(least.values()) * BYTES_PER_UNIT / GB
    return Bounds(total, gb, fewest_cycles(list(moves.values()), limits)) if total else NOTHING


def fewest(loads: Floats, excess: float) -> int:
    """The smallest number of loads that together reach the excess."""
    reached = np.cumsum(np.sort(loads)[::-1])
    return min(int(np.searchsorted(reached, excess - 0.5)) + 1, len(loads))


def least_weight(loads: Floats, weights: Floats, excess: float) -> float:
    """The least weight whose loads reach the excess, the last one in part (a knapsack's bound)."""
    useful = loads > 0
    loads, weights = loads[useful], weights[useful]
    order = np.argsort(weights / loads, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(loads[order])])
    carried = np.concatenate([[0.0], np.cumsum(weights[order])])
    return float(np.interp(excess, reached, carried))


def fewest_cycles(moves: list[int], limits: tuple[int | None, int | None]) -> int:
    """Cycles that the limits on evictions force, with so many moves from each node."""
    total, per_node = limits
    needed = [1] if moves else [0]
    if total:
        needed.append(ceil(sum(moves) / total))
    if per_node:
        needed.append(max((ceil(count / per_node) for count in moves), default=0))
    return max(needed)
