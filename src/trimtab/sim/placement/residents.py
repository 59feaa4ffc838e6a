"""Which VMs are on a node: all of them sorted by node once, and those that moved since.

Looking for the VMs of one node among 100,000 takes 30 µs, and hundreds of nodes are asked for in
a cycle without limits; sorted, a node's VMs are a slice.
"""

from collections.abc import Iterable

import numpy as np

from trimtab.sim.fleet import Numbers

FEWEST_MOVES = 64
"""So many VMs may move before all are sorted anew; of many VMs, one in a hundred."""


class Residents:
    """The VMs of each node. `where` is the node of each VM, kept by the cluster."""

    def __init__(self, where: Numbers, nodes: int) -> None:
        self._where, self._nodes = where, nodes
        self._most = max(FEWEST_MOVES, len(where) // 100)
        self._sorted = False
        self._moved: set[int] = set()
        """Those that moved since all were sorted."""
        self._elsewhere: Numbers | None = None
        """Those of them that are not back; None when that is to be found out again."""
        self._asked: tuple[Numbers, Numbers, Numbers] | None = None
        """The nodes that were asked for last, their VMs when all were sorted, the node of each."""
        self._looks = 0
        """How often VMs that moved were looked through for one node since all were sorted."""

    def forget(self) -> None:
        """Many VMs moved at once."""
        self._sorted = False

    def move(self, vms: Iterable[int]) -> None:
        """These VMs are somewhere else from now on."""
        if self._sorted:
            self._moved.update(vms)
            self._elsewhere = None
            self._sorted = len(self._moved) <= self._most

    def on(self, node: int) -> Numbers:
        """Numbers of the VMs on a node, rising."""
        elsewhere = self._follow()
        found = self._vms[self._first[node] : self._first[node + 1]]
        if not len(elsewhere):
            return found
        self._looks += 1
        self._sorted = self._looks <= self._most  # beyond that sorting is quicker
        stayed = found[self._where[found] == node]
        came = elsewhere[self._where[elsewhere] == node]
        return np.sort(np.concatenate([stayed, came])) if len(came) else stayed

    def on_any(self, nodes: Numbers) -> Numbers:
        """Numbers of the VMs on some nodes, in no order."""
        elsewhere = self._follow()
        if self._asked is None or not np.array_equal(nodes, self._asked[0]):
            self._asked = nodes, *self._sorted_on(nodes)
        _, found, home = self._asked
        if not len(elsewhere):
            return found
        wanted = np.zeros(self._nodes, dtype=np.bool_)
        wanted[nodes] = True
        stayed = found[self._where[found] == home]
        return np.concatenate([stayed, elsewhere[wanted[self._where[elsewhere]]]])

    def _sorted_on(self, nodes: Numbers) -> tuple[Numbers, Numbers]:
        """The VMs that were on these nodes when all were sorted, and the node of each."""
        begin = self._first[nodes]
        counts = self._first[nodes + 1] - begin
        ends = np.cumsum(counts)
        # Slice by slice in one go: where each begins, less what stands before it in the result.
        offsets = np.repeat(begin - ends + counts, counts)
        return self._vms[np.arange(len(offsets)) + offsets], np.repeat(nodes, counts)

    def _follow(self) -> Numbers:
        """Sort all VMs if need be; returns those that are not where they were sorted."""
        if not self._sorted:
            self._home = self._where.copy()
            self._vms = np.argsort(self._home, kind="stable")
            counts = np.bincount(self._home, minlength=self._nodes)
            self._first = np.concatenate([[0], np.cumsum(counts)])
            self._moved.clear()
            self._sorted, self._elsewhere, self._asked, self._looks = True, None, None, 0
        if self._elsewhere is None:
            moved = np.fromiter(self._moved, np.intp, len(self._moved))
            self._elsewhere = moved[self._where[moved] != self._home[moved]]
        return self._elsewhere
