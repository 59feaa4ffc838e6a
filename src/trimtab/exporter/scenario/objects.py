"""A scenario's VMs as VirtualMachine objects, and what of a scenario these cannot hold."""

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import convert, to_builtins

from trimtab.exporter.nodes.wire import MANAGED_BY
from trimtab.kube.machines import INITIAL_NODE, VirtualMachine, VmSpec
from trimtab.kube.resources import Free
from trimtab.model.load.curve import Constant, Curve
from trimtab.model.load.pressure import PressureCurve
from trimtab.model.machines import Vm
from trimtab.model.scenarios.scenario import Migration, Scenario


def first_vms(scenario: Scenario) -> list[Vm]:
    """The VMs that are there at the start."""
    later = {event.name for event in scenario.events if event.what == "arrive" and event.at > 0}
    return [vm for vm in scenario.vms if vm.name not in later]


def vm_object(vm: Vm, namespace: str, nodes: Collection[str]) -> Free:
    """The VM to create; it starts on its node if the cluster has that one."""
    placed = vm.node is not None and vm.node in nodes
    annotations = {"annotations": {INITIAL_NODE: vm.node}} if placed else {}
    metadata = {"name": vm.name, "namespace": namespace, "labels": dict([MANAGED_BY])}
    return {"metadata": metadata | annotations, "spec": _spec(vm)}


def is_same(existing: VirtualMachine, wanted: Free) -> bool:
    """Whether a VM is already what the scenario asks for."""
    started = existing.metadata.annotations.get(INITIAL_NODE) == starting_node(wanted)
    return started and existing.spec == convert(wanted["spec"], VmSpec)


def starting_node(wanted: Free) -> str | None:
    """The node that a VM's first pod goes to, if it is not the scheduler's to choose."""
    node: str | None = wanted["metadata"].get("annotations", {}).get(INITIAL_NODE)
    return node


def warnings(scenario: Scenario, nodes: Collection[str], pressure: PressureCurve) -> list[str]:
    """What of a scenario a cluster does not take from it, one line each."""
    missing = sorted({vm.node for vm in scenario.vms if vm.node is not None} - set(nodes))
    lines = [
        f'node "{node}" is not in this cluster; the scheduler places its VMs' for node in missing
    ]
    return [*lines, *_unused(scenario, pressure)]


def _unused(scenario: Scenario, pressure: PressureCurve) -> Iterator[str]:
    if scenario.events:
        yield "events: nothing happens later; only the VMs of the start are created"
    if any(vm.priority for vm in scenario.vms):
        yield "vms.priority: a VirtualMachine has none; it is left out"
    if any(vm.dirty_rate.nano for vm in scenario.vms):
        yield "vms.dirtyRate: it is an option of the vm-controller (--dirty-rate)"
    if scenario.migration != Migration():
        yield "migration: it is set by options of the vm-controller"
    if scenario.requests != "consumption":
        yield "requests: it is an option of the vm-controller (--requests)"
    if scenario.pressure != pressure:
        yield "pressure: it is an option of the exporter (--pressure)"


def _spec(vm: Vm) -> Free:
    """As a dict, because what is sent must name even what equals a default."""
    spec: Free = {
        "resources": {"cpu": str(vm.cpu), "memory": str(vm.memory)},
        "utilization": _constants(cpu=vm.cpu_load, memory=vm.memory_load),
        "evictionStrategy": vm.eviction_strategy,
        "liveMigratable": vm.live_migratable,
    }
    curves = _curves(cpu=vm.cpu_load, memory=vm.memory_load)
    return spec | ({"load": curves} if curves else {})


def _constants(**loads: Curve) -> dict[str, float]:
    return {name: load.value for name, load in loads.items() if isinstance(load, Constant)}


def _curves(**loads: Curve) -> dict[str, Any]:
    return {
        name: to_builtins(load) for name, load in loads.items() if not isinstance(load, Constant)
    }
