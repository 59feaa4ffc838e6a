"""Migrations that wait: for a back-off to end, then for their turn.

Whoever is first in order goes first, unless as many as may do so leave its node already; then
the others of that node need not be looked at either. So there is a queue for each node, and a
list of the nodes by the first one in their queue: a start costs the same with ten waiting as
with ten thousand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from math import inf
from operator import attrgetter

from trimtab.sim.migration.marks import EvacuationMark

Order = tuple[int, int]
_SEQUENCE, _PRIORITY = attrgetter("sequence"), attrgetter("priority")


class WaitingMarks:
    """The marks without an attempt; `marks` are all marks that still count, by VM."""

    def __init__(self, marks: Mapping[int, EvacuationMark]) -> None:
        self._marks = marks
        self._later: dict[float, list[EvacuationMark]] = {}
        """By the moment until which they have to wait: thousands of evictions share one."""
        self._moments: list[float] = []
        """Those moments, a heap."""
        self._queues: dict[int, list[tuple[Order, EvacuationMark]]] = {}
        self._nodes: list[tuple[Order, int]] = []
        """Nodes by the first one in their queue; those that were found full are not there."""

    def add(self, mark: EvacuationMark) -> None:
        if (same := self._later.get(mark.not_before_s)) is None:
            same = self._later[mark.not_before_s] = []
            heappush(self._moments, mark.not_before_s)
        same.append(mark)

    def add_all(self, marks: Sequence[EvacuationMark], not_before_s: float) -> None:
        """These wait until one and the same moment."""
        if marks:
            self.add(marks[0])
            self._later[not_before_s] += marks[1:]

    def next_s(self, now: float) -> float:
        """When the next back-off ends."""
        self._ripen(now)
        while self._moments and not any(map(self._waits, self._later[self._moments[0]])):
            del self._later[heappop(self._moments)]
        return self._moments[0] if self._moments else inf

    def take(self, now: float, may_leave: Callable[[int], bool]) -> EvacuationMark | None:
        """The first one whose node another VM may leave; None if there is none.

        A node that none may leave is not looked at again before `freed` tells of it.
        """
        self._ripen(now)
        while self._nodes:
            order, node = heappop(self._nodes)
            queue = self._queues[node]
            if not queue or queue[0][0] != order:
                continue  # another one has come first since, and stands in the list itself
            mark = queue[0][1]
            waits = self._waits(mark)
            if waits and not may_leave(node):
                continue
            heappop(queue)
            self.freed(node)
            if waits:
                return mark
        return None

    def take_all(self, now: float) -> list[EvacuationMark]:
        """All whose turn has come, in order: for a moment at which no limit holds anyone up."""
        ripe = [mark for queue in self._queues.values() for _, mark in queue]
        self._queues.clear()
        self._nodes.clear()
        while self._moments and self._moments[0] <= now:
            ripe += self._later.pop(heappop(self._moments))
        waits = sorted(filter(self._waits, ripe), key=_SEQUENCE)
        return sorted(waits, key=_PRIORITY, reverse=True)  # equal ones stay in order

    def freed(self, node: int) -> None:
        """One VM less leaves a node."""
        if queue := self._queues.get(node):
            heappush(self._nodes, (queue[0][0], node))

    def freed_all(self, nodes: Iterable[int]) -> None:
        """One VM less leaves each of these nodes."""
        if self._queues:
            for node in nodes:
                self.freed(node)

    def _ripen(self, now: float) -> None:
        while self._moments and self._moments[0] <= now:
            for mark in self._later.pop(heappop(self._moments)):
                queue = self._queues.setdefault(mark.source, [])
                heappush(queue, (mark.order, mark))
                if queue[0][1] is mark:
                    heappush(self._nodes, (mark.order, mark.source))

    def _waits(self, mark: EvacuationMark) -> bool:
        return self._marks.get(mark.vm) is mark and mark.attempt is None
