"""What a decision about a VM may come to: one write at most, then look again.

Each is a value, so a decision can be tested without a cluster; `executor` carries it out.
"""

from typing import Any, Literal

from msgspec import Struct

from trimtab.kube.resources import Free, OwnerReference, Pod
from trimtab.kube.virtual_machines import MigrationStatus, VirtualMachineMigration, VmStatus


class EventNote(Struct, frozen=True):
    """An Event about the VM, and about a pod if one is named."""

    reason: str
    note: str
    warning: bool = False
    pod: Pod | None = None


class WriteVmStatus(Struct, frozen=True):
    """Apply the VM's status as a whole, if nobody has changed the VM since it was read."""

    status: VmStatus
    news: tuple[EventNote, ...] = ()


class Lose(Struct, frozen=True):
    """The active pod is lost: `status` names the next one."""

    status: VmStatus
    news: tuple[EventNote, ...] = ()


class Start(Struct, frozen=True):
    """Begin a migration as soon as the limits allow."""

    migration: VirtualMachineMigration
    source: str
    status: VmStatus
    news: tuple[EventNote, ...] = ()


class CreatePod(Struct, frozen=True):
    pod: Free
    target: bool = False
    news: tuple[EventNote, ...] = ()


class PatchPod(Struct, frozen=True):
    """Merge `metadata` into a pod's."""

    pod: Pod
    metadata: dict[str, Any]


class DeletePod(Struct, frozen=True):
    pod: Pod
    news: tuple[EventNote, ...] = ()


class ClearMark(Struct, frozen=True):
    """Remove the evacuation mark of this node, if nobody has changed the VM since."""

    node: str
    news: tuple[EventNote, ...] = ()


class DropCancel(Struct, frozen=True):
    """Remove the annotation that asked to cancel an evacuation."""

    node: str


class CreateMigration(Struct, frozen=True):
    migration: Free
    news: tuple[EventNote, ...] = ()


class WriteMigration(Struct, frozen=True):
    """Apply a migration's status as a whole."""

    migration: VirtualMachineMigration
    status: MigrationStatus
    news: tuple[EventNote, ...] = ()


class DeleteMigration(Struct, frozen=True):
    migration: VirtualMachineMigration


class AdoptMigration(Struct, frozen=True):
    """Make the VM an owner of a migration that somebody wrote, so that it goes with the VM."""

    migration: VirtualMachineMigration
    owners: tuple[OwnerReference, ...]


class DecideAgain(Struct, frozen=True):
    """Decide again from what the API says at this moment; `why` is for the log."""

    why: str


class Wait(Struct, frozen=True):
    """Nothing to do for so many seconds, unless something changes."""

    seconds: float


class Rest(Struct, frozen=True):
    """Nothing to do until something changes."""


Step = (
    WriteVmStatus
    | Lose
    | Start
    | CreatePod
    | PatchPod
    | DeletePod
    | ClearMark
    | DropCancel
    | CreateMigration
    | WriteMigration
    | DeleteMigration
    | AdoptMigration
    | DecideAgain
    | Wait
    | Rest
)
Outcome = Literal["Succeeded", "Failed", "Cancelled"]
