"""Choices for many pods at one moment: the nodes of each worth, in order.

Each choice rests on the one before it, so thousands of them cannot be made in an array. What can
be saved is the search: where counting the bytes of a window and comparing them took 6 µs for a
choice among 1,000 nodes, bisecting ordered lists and moving one node between them takes 2.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


class NodesByWorth:
    """Which nodes are worth how much, rising; those that are worth nothing do not fit."""

    def __init__(self, worth: NDArray[np.uint8]) -> None:
        """worth: (nodes,)"""
        self._count = len(worth)
        order, counts = np.argsort(worth, kind="stable"), np.bincount(worth)
        self._nodes: defaultdict[int, list[int]] = defaultdict(list)
        ends = np.cumsum(counts)
        for level in counts.nonzero()[0].tolist():
            self._nodes[level] = order[ends[level] - counts[level] : ends[level]].tolist()
        self._highest = len(counts) - 1
        self.all_fit = not counts[0]

    def change(self, node: int, before: int, after: int) -> None:
        """A node is worth something else from now on."""
        if before == after:
            return
        nodes = self._nodes[before]
        del nodes[bisect_left(nodes, node)]
        insort(self._nodes[after], node)
        if after > self._highest:
            self._highest = after
        self.all_fit = not self._nodes[0]

    def choose(
        self, first: int, last: int, avoid: int, worth: int, draw: Callable[[int], int]
    ) -> int | None:
        """One of the best nodes from `first` to `last`, of equal ones as `draw` says.

        Numbers from the number of nodes on are those of a second round. `worth` is that of the
        node to avoid, which must not be among those that are looked at.
        """
        round_ = self._count
        while self._highest and not self._nodes[self._highest]:
            self._highest -= 1
        within = first <= avoid < last or avoid + round_ < last
        for level in range(self._highest, 0, -1):
            nodes = self._nodes[level]
            begin = bisect_left(nodes, first)
            count = bisect_left(nodes, last) - begin
            if last > round_:
                count += bisect_left(nodes, last - round_)
            skipped = within and worth == level
            if count > skipped:
                count -= skipped
                at = begin + (draw(count) if count > 1 else 0)
                size = len(nodes)
                if skipped:
                    # The place of the avoided node as seen from the first: those behind it move up.
                    place = bisect_left(nodes, avoid)
                    at += at >= (place if place >= begin else place + size)
                return nodes[at if at < size else at - size]
        return None
