"""Migrations that wait: for a back-off to end, then for their turn.

Whoever is first in order goes first, unless as many as may do so leave its node already; then
the others of that node need not be looked at either. So there is a queue for each node, and a
list of the nodes by the first one in their queue: a start costs the same with ten waiting as
with ten thousand.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf

import numpy as np

from trimtab.sim.fleet import Flags, Integers, Numbers
from trimtab.sim.migration.marks import WAITING, Marks

Order = tuple[int, int]
"""Priority, negated, and sequence: of those that wait, the smaller one goes first."""


class WaitingMarks:
    """The marks without an attempt."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._later: dict[float, list[tuple[Numbers, Integers]]] = {}
        """By the moment until which they wait: VMs, and the sequence of the mark of each."""
        self._moments: list[float] = []
        """Those moments, a heap."""
        self._queues: dict[int, list[tuple[Order, int]]] = {}
        self._nodes: list[tuple[Order, int]] = []
        """Nodes by the first one in their queue; those that were found full are not there."""

    def add(self, vms: Numbers, not_before_s: float) -> None:
        """These wait until one and the same moment."""
        if (same := self._later.get(not_before_s)) is None:
            same = self._later[not_before_s] = []
            heappush(self._moments, not_before_s)
        same.append((vms, self._marks.sequence[vms]))

    def next_s(self, now: float) -> float:
        """When the next back-off ends."""
        self._ripen(now)
        while self._moments and not any(
            self._wait(*some).any() for some in self._later[self._moments[0]]
        ):
            del self._later[heappop(self._moments)]
        return self._moments[0] if self._moments else inf

    def take(self, now: float, may_leave: Callable[[int], bool]) -> int | None:
        """The first VM whose node another one may leave; None if there is none.

        A node that none may leave is not looked at again before `freed` tells of it.
        """
        self._ripen(now)
        while self._nodes:
            order, node = heappop(self._nodes)
            queue = self._queues[node]
            if not queue or queue[0][0] != order:
                continue  # another one has come first since, and stands in the list itself
            vm = queue[0][1]
            waits = self._waits(vm, order[1])
            if waits and not may_leave(node):
                continue
            heappop(queue)
            self.freed(node)
            if waits:
                return vm
        return None

    def take_all(self, now: float) -> Numbers:
        """All whose turn has come, in order: for a moment at which no limit holds anyone up."""
        queued = [(vm, order[1]) for queue in self._queues.values() for order, vm in queue]
        vms, sequence = np.array(queued, dtype=np.intp).reshape(-1, 2).T
        ripe: list[tuple[Numbers, Integers]] = [(vms, sequence)]
        self._queues.clear()
        self._nodes.clear()
        while self._moments and self._moments[0] <= now:
            ripe += self._later.pop(heappop(self._moments))
        vms = np.concatenate([vms[self._wait(vms, sequence)] for vms, sequence in ripe])
        return vms[np.lexsort((self._marks.sequence[vms], -self._marks.priority[vms]))]

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
            for vms, sequence in self._later.pop(heappop(self._moments)):
                waits = self._wait(vms, sequence)
                self._queue(vms[waits])

    def _queue(self, vms: Numbers) -> None:
        marks = self._marks
        priorities, sequence = marks.priority[vms].tolist(), marks.sequence[vms].tolist()
        for vm, node, priority, turn in zip(
            vms.tolist(), marks.source[vms].tolist(), priorities, sequence, strict=True
        ):
            queue, order = self._queues.setdefault(node, []), (-priority, turn)
            heappush(queue, (order, vm))
            if queue[0][0] == order:
                heappush(self._nodes, (order, node))

    def _waits(self, vm: int, sequence: int) -> bool:
        marks = self._marks
        return marks.state.item(vm) == WAITING and marks.sequence.item(vm) == sequence

    def _wait(self, vms: Numbers, sequence: Integers) -> Flags:
        """Which of them wait still: others are gone, under way, or marked anew."""
        marks = self._marks
        return np.asarray((marks.state[vms] == WAITING) & (marks.sequence[vms] == sequence))
