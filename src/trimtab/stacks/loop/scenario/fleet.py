"""The kind of VMs that a scenario is made of: trimtab's own, or KubeVirt's."""

from typing import Any, Protocol

from trimtab.kube.kubevirt import KUBEVIRT_VMS, Vm
from trimtab.kube.machines import VMS, VirtualMachine
from trimtab.kube.resources import Free, Kind
from trimtab.kube.translate import kubevirt_vm
from trimtab.model.machines import RequestsModel

UNSETTLED = frozenset(("", "Starting", "Provisioning", "Terminating", "WaitingForReceiver"))
"""What KubeVirt says of a VM that is on its way; everything else stays until a person acts."""


class Fleet(Protocol):
    """How a scenario writes its VMs and knows that they run."""

    kind: Kind[Any]

    def manifest(self, vm: Free) -> Free:
        """The object to create for a VM of the script."""
        ...

    def is_settled(self, vm: Any) -> bool:
        """It runs, or only a person can make it run: no room for it, a bad spec, stopped."""
        ...


class OwnFleet:
    """VMs of trimtab."""

    kind: Kind[Any] = VMS

    def manifest(self, vm: Free) -> Free:
        return vm

    def is_settled(self, vm: VirtualMachine) -> bool:
        return is_settled(vm)


class KubevirtFleet:
    """VMs of KubeVirt; what their launchers ask the scheduler for is the scenario's to say."""

    kind: Kind[Any] = KUBEVIRT_VMS

    def __init__(self, requests: RequestsModel) -> None:
        self._requests = requests

    def manifest(self, vm: Free) -> Free:
        return kubevirt_vm(vm, requests=self._requests)

    def is_settled(self, vm: Vm) -> bool:
        return vm.status.printable_status not in UNSETTLED


def is_settled(vm: VirtualMachine) -> bool:
    """One of trimtab's own VMs runs, or only a person can make it run."""
    if vm.status.phase in ("Running", "Migrating", "Stopped", "Failed"):
        return True
    ready = next((c for c in vm.status.conditions if c.type == "Ready"), None)
    return vm.status.phase == "Scheduling" and ready is not None and bool(ready.message)
