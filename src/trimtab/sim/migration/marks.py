"""VMs that are to leave their node, and the attempts to make them do so, as columns of numbers.

A mark stays until the VM has left, is gone, or its node is; each attempt that fails puts
the next one off for twice as long. Which attempts may run at once is KubeVirt's to say.
In columns because thousands are marked, begin and end at one moment: an object for each mark
and each attempt took half of the time of such a cycle.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import Floats, Integers, Numbers
from trimtab.virt.slots import MigrationPriority

NONE = -1
"""No target: none is wanted, or none has been found yet."""
UNMARKED, WAITING, PENDING, BOUND = range(4)
"""A VM without a mark; without an attempt; whose new pod waits for a node; whose pod has one."""


class Marks:
    """One entry for each VM; it means something while the VM is marked.

    A million VMs take 70 MB: NumPy asks for large pages, of which a few marks touch all.
    """

    def __init__(self, vms: int) -> None:
        self.state: NDArray[np.int8] = np.zeros(vms, dtype=np.int8)
        self.source: Numbers = np.zeros(vms, dtype=np.intp)
        self.requested_s: Floats = np.zeros(vms)
        self.priority: NDArray[np.int8] = np.zeros(vms, dtype=np.int8)
        self.wanted_target: NDArray[np.int32] = np.zeros(vms, dtype=np.int32)
        """Set by planners that choose the target too; the descheduler cannot."""
        self.failures: NDArray[np.int32] = np.zeros(vms, dtype=np.int32)
        self.sequence: Integers = np.zeros(vms, dtype=np.int64)
        """Of equal priority the first one to be requested goes first; each mark has its own."""
        self.attempts: NDArray[np.int32] = np.zeros(vms, dtype=np.int32)
        """Of all marks that the VM has had."""
        # Of the attempt under way:
        self.begun_s: Floats = np.zeros(vms)
        self.target: Numbers = np.zeros(vms, dtype=np.intp)
        self.copy_begun_s: Floats = np.zeros(vms)
        """NaN before, and in mode `recreate`."""
        self.ends_s: Floats = np.zeros(vms)
        """Without a copy: when it is given up, or when a VM that is started anew has booted."""
        self._count = self._requests = 0

    def __len__(self) -> int:
        return self._count

    def add(
        self, vms: Numbers, sources: Numbers, now: float, priority: MigrationPriority, wanted: int
    ) -> None:
        """Mark VMs that have no mark, one after the other."""
        self._count += len(vms)
        first, self._requests = self._requests + 1, self._requests + len(vms)
        self.state[vms], self.source[vms] = WAITING, sources
        self.requested_s[vms], self.priority[vms] = now, int(priority)
        self.wanted_target[vms], self.failures[vms] = wanted, 0
        self.sequence[vms] = np.arange(first, first + len(vms))
        self.target[vms] = NONE

    def remove(self, vms: Any) -> None:
        """Forget the marks of these VMs; all of them have one."""
        self.state[vms] = UNMARKED
        self._count -= np.size(vms)

    def begin(self, vms: Any, now: float, ends_s: float) -> None:
        """An attempt begins for each of these VMs."""
        self.attempts[vms] += 1
        self.state[vms], self.begun_s[vms], self.target[vms] = PENDING, now, NONE
        self.copy_begun_s[vms], self.ends_s[vms] = np.nan, ends_s

    def bind(self, vms: Any, targets: Any) -> None:
        """The new pods got nodes."""
        self.state[vms], self.target[vms] = BOUND, targets

    def end(self, vm: int) -> None:
        """An attempt has failed; the mark stays."""
        self.state[vm], self.target[vm] = WAITING, NONE

    def in_order(self) -> Numbers:
        """The VMs that are marked, in the order of the requests."""
        if not self._count:
            return np.zeros(0, dtype=np.intp)
        marked = self.state.nonzero()[0]
        return np.asarray(marked[np.argsort(self.sequence[marked])])

    def intended(self, vms: Numbers) -> Numbers:
        """Where marked VMs are going, as far as that is known, else `NONE`."""
        waiting = self.state[vms] == WAITING
        return np.where(waiting, self.wanted_target[vms], self.target[vms])
