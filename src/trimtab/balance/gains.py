"""What a move brings: the drop of excess at both ends, and of the sum of squared shares."""

from typing import NamedTuple

import numpy as np

from trimtab.balance.problem import Floats, Places
from trimtab.balance.state import State


class Gains(NamedTuple):
    """(vms, targets) each: drop of excess, drop of squares, rise of targets above ceilings."""

    drop: Floats
    squares: Floats
    rise: Floats


def gains(state: State, source: int, vms: Places, targets: Places, ceiling: Floats) -> Gains:
    """What it brings when each of the VMs leaves `source` for each of the targets.

    Excess is what a node carries above its ceiling, in shares of the node. With nodes alike
    the drop of squares is 2·v·(a - b - v) in each resource, for a load v that goes from a
    node at a to one at b.
    """
    problem = state.problem
    drop = np.zeros((len(vms), len(targets)))
    squares, risen = np.zeros_like(drop), np.zeros_like(drop)
    for row in (0, 1):
        load, capacity = problem.load[row, vms], problem.capacity[row]
        share, limit = state.share[row], ceiling[row]
        here = load / capacity[source]
        there = load[:, None] / capacity[targets][None, :]
        now, then = share[source], share[source] - here
        relief = max(now - limit[source], 0.0) - np.maximum(then - limit[source], 0.0)
        room = share[targets] - limit[targets]
        rise = np.maximum(room + there, 0.0) - np.maximum(room, 0.0)
        drop += relief[:, None] - rise
        risen += rise
        squares += (here * (2 * now - here))[:, None] - there * (2 * share[targets] + there)
    return Gains(drop, squares, risen)


def coldest(state: State, ceiling: Floats, count: int, per_resource: int) -> Places:
    """The open nodes with most room below their ceilings, of every class of nodes.

    By the worse of both resources, and some by each resource alone: a VM that is all memory
    fits where CPU is short. At 100 × 1,600 these lose nothing against all nodes.
    """
    problem = state.problem
    open_nodes = np.flatnonzero(problem.open)
    if len(open_nodes) <= count + 2 * per_resource:
        return open_nodes
    relative = state.share[:, open_nodes] / np.maximum(ceiling[:, open_nodes], 1e-9)
    chosen = [
        _smallest(relative.max(axis=0), problem.node_class[open_nodes], count),
        _first(relative[0], per_resource),
        _first(relative[1], per_resource),
    ]
    return np.asarray(open_nodes[np.unique(np.concatenate(chosen))])


def _smallest(heat: Floats, classes: Places, count: int) -> Places:
    """The `count` smallest, and of each class its part of that number."""
    present = np.unique(classes)
    if len(present) == 1:
        return _first(heat, count)
    part = max(count // len(present), 4)
    return np.concatenate(
        [
            members[_first(heat[members], part)]
            for members in (np.flatnonzero(classes == each) for each in present)
        ]
    )


def _first(values: Floats, count: int) -> Places:
    if len(values) <= count:
        return np.arange(len(values))
    return np.asarray(np.argpartition(values, count)[:count])
