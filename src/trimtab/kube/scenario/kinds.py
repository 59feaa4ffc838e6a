"""The kind of VMs that a scenario is made of: trimtab's own, or KubeVirt's."""

from typing import Any, Protocol

from msgspec import convert

from trimtab.kube.kubevirt import DIRTY_RATE, KUBEVIRT_VMS, NOT_MIGRATABLE, KubevirtVm
from trimtab.kube.resources import Free, Kind
from trimtab.kube.scenario.objects import starting_node
from trimtab.kube.translate import kubevirt_vm
from trimtab.kube.virtual_machines import INITIAL_NODE, LOAD, VMS, VirtualMachine, VmSpec
from trimtab.kube.worlds import World
from trimtab.model.nodes_and_vms import RequestsModel
from trimtab.model.quantity import parse_quantity

UNSETTLED = frozenset(("", "Starting", "Provisioning", "Terminating", "WaitingForReceiver"))
"""What KubeVirt says of a VM that is on its way; everything else stays until a person acts."""

_NOTES = frozenset((LOAD, DIRTY_RATE, NOT_MIGRATABLE, INITIAL_NODE))


class VmKind(Protocol):
    """How a scenario writes its VMs, recognises them and knows that they run.

    `vm` and `wanted` are objects as `objects.vm_object` makes them, whatever the kind.
    """

    kind: Kind[Any]

    def manifest(self, vm: Free) -> Free:
        """The object to create."""
        ...

    def is_same(self, existing: Any, wanted: Free) -> bool:
        """Whether a VM is already what the scenario asks for."""
        ...

    def is_settled(self, vm: Any) -> bool:
        """It runs, or only a person can make it run: no room for it, a bad spec, stopped."""
        ...


class OwnVms:
    """VMs of trimtab."""

    kind: Kind[Any] = VMS

    def manifest(self, vm: Free) -> Free:
        return vm

    def is_same(self, existing: VirtualMachine, wanted: Free) -> bool:
        started = existing.metadata.annotations.get(INITIAL_NODE) == starting_node(wanted)
        return started and existing.spec == convert(wanted["spec"], VmSpec)

    def is_settled(self, vm: VirtualMachine) -> bool:
        if vm.status.phase in ("Running", "Migrating", "Stopped", "Failed"):
            return True
        ready = next((c for c in vm.status.conditions if c.type == "Ready"), None)
        return vm.status.phase == "Scheduling" and ready is not None and bool(ready.message)


class KubevirtVms:
    """VMs of KubeVirt; what their launchers ask the scheduler for is the scenario's to say."""

    kind: Kind[Any] = KUBEVIRT_VMS

    def __init__(self, requests: RequestsModel = "consumption") -> None:
        self._requests = requests

    def manifest(self, vm: Free) -> Free:
        return kubevirt_vm(vm, requests=self._requests)

    def is_same(self, existing: KubevirtVm, wanted: Free) -> bool:
        return _said(existing) == _said(convert(self.manifest(wanted), KubevirtVm))

    def is_settled(self, vm: KubevirtVm) -> bool:
        return vm.status.printable_status not in UNSETTLED


def kind_of(world: World, requests: RequestsModel = "consumption") -> VmKind:
    """The VMs of a cluster; `requests` matters where they are KubeVirt's."""
    return KubevirtVms(requests) if world == "kubevirt" else OwnVms()


def _amount(quantity: str | int) -> int:
    """As a number: virt-api writes 8192Mi as 8Gi, and 3000m as 3."""
    return parse_quantity(quantity or 0, "spec.template").nano


def _said(vm: KubevirtVm) -> tuple[object, ...]:
    """What `kubevirt_vm` writes; virt-api adds defaults to everything else of a spec."""
    template = vm.spec.template
    domain, notes = template.spec.domain, template.metadata.annotations
    return (
        vm.spec.wanted,
        domain.cpu.count,
        _amount(domain.memory.guest),
        {name: _amount(asked) for name, asked in domain.resources.requests.items()},
        template.spec.eviction_strategy,
        {name: text for name, text in notes.items() if name in _NOTES},
    )
