"""The scenario as arrays: what never changes during a run, one entry per node or per VM.

Loads are counted in units of 1e-9 of the reference node (32 cores, 128 GiB) and rounded to
whole units before anything is summed, so a node's sum is exact and its order is irrelevant.
Requests are what the scheduler sees: milli-cores and bytes.
"""

from collections.abc import Iterable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from trimtab.model.machines import REFERENCE_CPU, REFERENCE_MEMORY, Node, Vm, requested
from trimtab.model.quantity import Quantity
from trimtab.model.scenario import Scenario
from trimtab.model.snapshot import Toleration
from trimtab.policy.taints import tolerates_all, tolerates_for_scheduling

UNITS = 1e9
BYTES_PER_UNIT = float(REFERENCE_MEMORY) / UNITS
SCHEDULABLE_LABEL = "kubevirt.io/schedulable"
TOLERATIONS = (
    Toleration(key="kwok.x-k8s.io/node", value="fake", effect="NoSchedule"),
    Toleration(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoExecute"),
    Toleration(key="node.kubernetes.io/unreachable", operator="Exists", effect="NoExecute"),
)
"""What every virt-launcher pod tolerates: KWOK's nodes, and for a while a node that is lost."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class OnEviction(IntEnum):
    """What an eviction does to a VM, from its strategy and whether it can migrate."""

    MIGRATES = 0
    RESTARTS = 1
    REFUSES = 2


def on_eviction(vm: Vm) -> OnEviction:
    """KubeVirt's answer to an eviction of this VM's pod."""
    if vm.eviction_strategy == "None":
        return OnEviction.RESTARTS
    if vm.live_migratable:
        return OnEviction.MIGRATES
    strict = vm.eviction_strategy == "LiveMigrate"
    return OnEviction.REFUSES if strict else OnEviction.RESTARTS


class Fleet:
    """Nodes and VMs by number, in the scenario's order."""

    def __init__(self, scenario: Scenario) -> None:
        nodes, vms = scenario.nodes, scenario.vms
        self.scenario = scenario
        self.node_names = tuple(node.name for node in nodes)
        self.vm_names = tuple(vm.name for vm in vms)
        self.node_number = {name: number for number, name in enumerate(self.node_names)}
        self.vm_number = {name: number for number, name in enumerate(self.vm_names)}
        self.cpu_capacity = _ratios((node.cpu for node in nodes), REFERENCE_CPU)
        self.memory_capacity = _ratios((node.memory for node in nodes), REFERENCE_MEMORY)
        self.allocatable_cpu = _integers(node.cpu.milli_value() for node in nodes)
        self.allocatable_memory = _integers(node.memory.value() for node in nodes)
        self.allocatable_pods = _integers(node.pods for node in nodes)
        self.accepts = np.array([_accepts(node) for node in nodes], dtype=np.bool_)
        self.cordoned = np.array([node.unschedulable for node in nodes], dtype=np.bool_)
        self.soft_taints = _integers(_soft_taints(node) for node in nodes)
        self.cpu_size = _ratios((vm.cpu for vm in vms), REFERENCE_CPU)
        self.memory_size = _ratios((vm.memory for vm in vms), REFERENCE_MEMORY)
        self.requested_cpu, self.requested_memory = _requests(scenario)
        self.dirty_rate = np.fromiter((float(vm.dirty_rate) for vm in vms), dtype=np.float64)
        self.fates = tuple(map(on_eviction, vms))
        self.on_eviction = _integers(self.fates)
        """The same as an array; NumPy compares its single numbers with an enum slowly."""
        self.first_node = _integers(
            -1 if vm.node is None else self.node_number[vm.node] for vm in vms
        )
        late = {event.name for event in scenario.events if event.what == "arrive"}
        self.present = np.array([vm.name not in late for vm in vms], dtype=np.bool_)

    @property
    def nodes(self) -> int:
        return len(self.node_names)

    @property
    def vms(self) -> int:
        return len(self.vm_names)


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def _ratios(amounts: Iterable[Quantity], reference: Quantity) -> Floats:
    """Amounts in units of 1e-9 of the reference node."""
    whole = reference.nano
    return np.fromiter((amount.nano / whole * UNITS for amount in amounts), dtype=np.float64)


def _accepts(node: Node) -> bool:
    """Whether a virt-launcher pod may be placed there at all (cordons come and go: elsewhere)."""
    willing = node.labels.get(SCHEDULABLE_LABEL, "true") == "true"
    return willing and tolerates_for_scheduling(TOLERATIONS, node.taints)


def _soft_taints(node: Node) -> int:
    return sum(
        taint.effect == "PreferNoSchedule" and not tolerates_all(TOLERATIONS, [taint])
        for taint in node.taints
    )


def _requests(scenario: Scenario) -> tuple[Integers, Integers]:
    """Milli-cores and bytes of each VM's pod, fixed for its life."""
    known: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    found = []
    by_load = scenario.requests == "consumption"  # otherwise only the size counts
    for vm in scenario.vms:
        loads = (id(vm.cpu_load), id(vm.memory_load)) if by_load else (0, 0)
        kind = (vm.cpu.nano, vm.memory.nano, *loads)
        if kind not in known:
            cpu, memory = requested(vm, scenario.requests)
            known[kind] = (cpu.milli_value(), memory.value())
        found.append(known[kind])
    return _integers(cpu for cpu, _ in found), _integers(memory for _, memory in found)
