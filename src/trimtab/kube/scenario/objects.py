"""A scenario's VMs as trimtab's own VirtualMachine objects. Pure functions.

`kinds` turns these into KubeVirt's where the cluster has KubeVirt.
"""

from collections.abc import Collection
from typing import Any

from msgspec import to_builtins

from trimtab.kube.resources import Free
from trimtab.kube.virtual_machines import INITIAL_NODE
from trimtab.model.load.curve import Constant, Curve
from trimtab.model.nodes_and_vms import Vm
from trimtab.model.scenarios.scenario import Scenario

MANAGED_BY = ("app.kubernetes.io/managed-by", "trimtab-exporter")
"""The label of VMs that came from a scenario; only those are replaced by the next one."""
MANAGED = "=".join(MANAGED_BY)
"""Selects these VMs."""


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


def is_of_scenario(vm: Any) -> bool:
    """Whether a scenario made this VM, be it KubeVirt's or trimtab's."""
    name, value = MANAGED_BY
    return bool(vm.metadata.labels.get(name) == value)


def starting_node(wanted: Free) -> str | None:
    """The node that a VM's first pod goes to, if it is not the scheduler's to choose."""
    node: str | None = wanted["metadata"].get("annotations", {}).get(INITIAL_NODE)
    return node


def _spec(vm: Vm) -> Free:
    """As a dict, because what is sent must name even what equals a default."""
    spec: Free = {
        "resources": {"cpu": str(vm.cpu), "memory": str(vm.memory)},
        "utilization": _constants(cpu=vm.cpu_load, memory=vm.memory_load),
        "evictionStrategy": vm.eviction_strategy,
        "liveMigratable": vm.can_migrate,
    }
    curves = _curves(cpu=vm.cpu_load, memory=vm.memory_load)
    return spec | ({"load": curves} if curves else {})


def _constants(**loads: Curve) -> dict[str, float]:
    return {name: load.value for name, load in loads.items() if isinstance(load, Constant)}


def _curves(**loads: Curve) -> dict[str, Any]:
    return {
        name: to_builtins(load) for name, load in loads.items() if not isinstance(load, Constant)
    }
