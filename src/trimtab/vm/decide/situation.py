"""Everything that is known about one VM at one moment: what decisions are made from.

A `VmSituation` is put together from the stores, which may lag behind the API. Conclusions that
would do harm if they were drawn from an old copy (this pod is gone, that one is nobody's) are
drawn only from a `checked` one, whose objects were read from the API a moment ago.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from trimtab.kube.clock import Clock
from trimtab.kube.resources import Key, Pod
from trimtab.kube.virtual_machines import (
    DOMAIN,
    GROUP,
    VirtualMachine,
    VirtualMachineMigration,
    VmStatus,
)
from trimtab.vm.decide.eviction import FINISHED_PHASES
from trimtab.vm.settings import VmControllerSettings

T = TypeVar("T", Pod, VirtualMachineMigration)
KIND = "VirtualMachine"


class Precopy(Struct, frozen=True):
    """How the copying of a migration stands, in seconds from now at the present rate."""

    ends_in_s: float
    in_time: bool


class Losses(Struct, frozen=True):
    """Pods lost in a row, and when the last one was noticed."""

    count: int = 0
    at: datetime | None = None


class VmSituation(Struct, frozen=True, kw_only=True):
    """One VM, its pods (everything that carries its name), its migrations."""

    key: Key
    now: datetime
    vm: VirtualMachine | None = None
    pods: tuple[Pod, ...] = ()
    migrations: tuple[VirtualMachineMigration, ...] = ()
    clock: Clock = Clock()
    settings: VmControllerSettings = VmControllerSettings()
    losses: Losses = Losses()
    precopy: Precopy | None = None
    checked: bool = False

    @property
    def the_vm(self) -> VirtualMachine:
        assert self.vm is not None, "rules for a VM that exists"
        return self.vm

    @property
    def status(self) -> VmStatus:
        return self.the_vm.status

    @property
    def owned(self) -> list[Pod]:
        """The pods that this very VM controls."""
        return [pod for pod in self.pods if owner_uid(pod) == self.the_vm.metadata.uid]

    @property
    def active(self) -> Pod | None:
        return self.pod(self.status.pod_name)

    @property
    def current(self) -> VirtualMachineMigration | None:
        """The migration that has begun and is not over."""
        return named(self.unfinished, self.status.migration_name)

    @property
    def target(self) -> Pod | None:
        """The pod that a live migration under way leads to."""
        current = self.current
        if current is None or current.status.target_pod == self.status.pod_name:
            return None
        return self.pod(current.status.target_pod)

    @property
    def unfinished(self) -> list[VirtualMachineMigration]:
        return [each for each in self.migrations if is_unfinished(each)]

    def pod(self, name: str) -> Pod | None:
        found = named(self.pods, name)
        return found if found is not None and not is_foreign(found, self.the_vm) else None

    def left_s(self, since: datetime | None, lab_s: float) -> float:
        """Real seconds until `lab_s` of the lab's have passed since a moment."""
        passed = (self.now - since).total_seconds() if since else 0.0
        return self.clock.real_s(lab_s) - passed


def named(things: Iterable[T], name: str) -> T | None:
    return next((each for each in things if name and each.metadata.name == name), None)


def is_unfinished(migration: VirtualMachineMigration) -> bool:
    return not migration.finished and migration.metadata.deletion_timestamp is None


def owner_uid(pod: Pod) -> str:
    """The uid of the VM that controls a pod; empty if none does."""
    owner = pod.metadata.controller
    ours = owner is not None and owner.kind == KIND and owner.api_version.startswith(f"{GROUP}/")
    return owner.uid if owner is not None and ours else ""


def is_foreign(pod: Pod, vm: VirtualMachine) -> bool:
    """Whether a pod with a name that we want belongs to somebody else, or to an earlier VM.

    One that nobody controls but that carries the VM's name is ours: it was stripped, and is
    adopted again.
    """
    if pod.metadata.controller is not None:
        return owner_uid(pod) != vm.metadata.uid
    return pod.metadata.annotations.get(DOMAIN) != vm.metadata.name


def is_leaving(obj: Pod | VirtualMachineMigration) -> bool:
    return obj.metadata.deletion_timestamp is not None


def is_over(pod: Pod) -> bool:
    """Nothing runs in it any more, or soon nothing will."""
    return is_leaving(pod) or pod.status.phase in FINISHED_PHASES


def is_running(pod: Pod | None) -> bool:
    return pod is not None and pod.status.phase == "Running" and not is_leaving(pod)


def by_age(migrations: Sequence[VirtualMachineMigration]) -> list[VirtualMachineMigration]:
    """The oldest first; names decide between equals, so that everybody agrees."""

    def age(migration: VirtualMachineMigration) -> tuple[float, str]:
        created = migration.metadata.creation_timestamp
        return (created.timestamp() if created else 0.0, migration.metadata.name)

    return sorted(migrations, key=age)
