"""VMs that are to leave their node, and the attempts to make them do so.

A mark stays until the VM has left, is gone, or its node is; each attempt that fails puts
the next one off for twice as long. Which attempts may run at once is KubeVirt's to say.
"""

from collections.abc import Sequence

from msgspec import Struct

from trimtab.virt.slots import MigrationPriority


class MigrationAttempt(Struct, eq=False, gc=False):
    """One try to move a VM; without `target` its pod still waits for a node to fit."""

    number: int
    begun_s: float
    target: int | None = None
    copy: int | None = None
    """Its place among the copies under way; None before, after, and in mode `recreate`."""
    copy_begun_s: float | None = None
    sent: float = 0.0
    """Bytes, once the copy has ended."""
    ends_s: float = 0.0
    """Without a copy: when it is given up, or when a VM that is started anew has booted."""
    doomed: bool = False
    """Fails when it should have succeeded."""


class EvacuationMark(Struct, eq=False, gc=False):
    """A VM that is to leave `source`."""

    vm: int
    source: int
    requested_s: float
    priority: MigrationPriority
    wanted_target: int | None = None
    """Set by planners that choose the target too; the descheduler cannot."""
    failures: int = 0
    not_before_s: float = 0.0
    attempt: MigrationAttempt | None = None
    sequence: int = 0
    """Of equal priority the first one to be requested goes first."""

    @property
    def order(self) -> tuple[int, int]:
        """Of those that wait, the smaller one goes first."""
        return (-self.priority, self.sequence)


def intended(mark: EvacuationMark) -> int | None:
    """Where the VM is going, as far as that is known."""
    return mark.wanted_target if mark.attempt is None else mark.attempt.target


def targets_of(marks: Sequence[EvacuationMark]) -> list[int]:
    """Where VMs go whose pods all have a node."""
    attempts = [mark.attempt for mark in marks]
    return [a.target for a in attempts if a is not None and a.target is not None]
