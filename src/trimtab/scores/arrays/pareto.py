"""The Pareto score of every node: its non-dominated front, and how crowded it is there.

A node dominates another when it is no more loaded in any input and less in one. The front of
a node is the length of the longest chain of dominators below it (NSGA-II's front index).
5,000 nodes take about 12.5 million comparisons, done in rows of small integers: ranks say
the same as values and are four times as dense.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.scores.arrays.window import Floats

CROWDING = 0.1  # the share of a score that crowding can add


def pareto_score(values: Floats) -> Floats:
    """Scores (nodes,) from `values` (nodes, 4), nodes in name order."""
    front = front_index(values)
    distance = crowding(values, front)
    base = front / max(1, front.max())
    return np.asarray(np.clip(base + _contribution(distance, front), 0.0, 1.0))


def front_index(values: Floats) -> NDArray[np.int64]:
    """The front (0 is the best) of every row of `values`, by dominance; equal rows share one."""
    rows, inverse = np.unique(values, axis=0, return_inverse=True)
    # Sorted rows: only an earlier row can dominate, and its first input is never larger.
    ranks = [_ranks(column) for column in rows.T[1:]]
    depth = np.zeros(len(rows), dtype=ranks[0].dtype)  # front + 1, so that 0 means "no dominator"
    mask, scratch = np.empty(len(rows), dtype=bool), np.empty(len(rows), dtype=bool)
    for i in range(len(rows)):
        below = mask[:i]
        np.less_equal(ranks[0][:i], ranks[0][i], out=below)
        for column in ranks[1:]:
            np.less_equal(column[:i], column[i], out=scratch[:i])
            np.logical_and(below, scratch[:i], out=below)
        depth[i] = 1 + (depth[:i] * below).max(initial=0)
    return np.asarray(depth[inverse.reshape(-1)].astype(np.int64) - 1)


def _ranks(column: Floats) -> NDArray[np.signedinteger]:
    """Small integers in the order of the values, equal for equal values."""
    ranks = np.unique(column, return_inverse=True)[1].reshape(-1)
    return ranks.astype(np.int16 if len(ranks) < 2**15 - 1 else np.int32)


def crowding(values: Floats, front: NDArray[np.int64]) -> Floats:
    """The sum over inputs of (next - previous) / range inside the front; infinite at its ends.

    Neighbours are found by (value, position), so equal nodes have one definite order.
    """
    distance = np.zeros(len(values))
    for column in values.T:
        order = np.lexsort((np.arange(len(values)), column, front))
        ordered, label = column[order], front[order]
        starts = np.flatnonzero(np.diff(label, prepend=-1))
        ends = np.append(starts[1:], len(label)) - 1
        extent = np.repeat(ordered[ends] - ordered[starts], ends - starts + 1)
        gap = np.zeros(len(values))
        gap[1:-1] = ordered[2:] - ordered[:-2]
        share = np.divide(gap, extent, out=np.zeros(len(values)), where=extent > 0)
        share[starts] = share[ends] = np.inf
        distance[order] += share
    return distance


def _contribution(distance: Floats, front: NDArray[np.int64]) -> Floats:
    """At most `CROWDING`, most for the most crowded node of a front; half if all are alike."""
    finite = np.isfinite(distance)
    widest = np.zeros(front.max() + 1)
    np.maximum.at(widest, front[finite], distance[finite])
    share = np.full(len(distance), 0.5)
    reference = widest[front]
    np.divide(distance, reference, out=share, where=finite & (reference > 0))
    return np.asarray(np.where(finite, CROWDING * (1 - share), 0.0))
