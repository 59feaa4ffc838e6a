"""The scenario as arrays: what never changes during a run, one entry per node or per VM.

Loads are counted in units of 1e-9 of the reference node (32 cores, 128 GiB) and rounded to
whole units before anything is summed, so a node's sum is exact and its order is irrelevant.
Requests are what the scheduler sees: milli-cores and bytes. Ground is what pods that are not
VMs use and request; it never moves.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.nodes_and_vms import REFERENCE_CPU, REFERENCE_MEMORY, Ground, Node, Vm, requested
from trimtab.model.quantity import Quantity
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.pods.taints import LAUNCHER_TOLERATIONS, tolerates_for_scheduling
from trimtab.sim.placement.rules import rules_of, soft_taints
from trimtab.sim.placement.scheduler_scores import DEFAULT_MEMORY, DEFAULT_MILLI_CPU
from trimtab.virt.eviction import EvictionEffect, judge_eviction
from trimtab.virt.launcher import SCHEDULABLE

UNITS = 1e9
DEFAULT_NAMESPACE = "default"
BYTES_PER_UNIT = float(REFERENCE_MEMORY) / UNITS
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Numbers = NDArray[np.intp]
"""Of VMs or nodes, in the scenario's order."""
Flags = NDArray[np.bool_]
Item = TypeVar("Item")


def on_eviction(vm: Vm) -> EvictionEffect:
    """What an eviction of this VM's active pod does."""
    return judge_eviction(vm.eviction_strategy, migratable=vm.can_migrate).effect


class GroundArrays(Struct, frozen=True, eq=False):
    """What pods that are not VMs take of each node.

    cpu, memory: (nodes,) use in whole units.
    requested_cpu, requested_memory, pods: (nodes,) milli-cores, bytes and numbers of pods.
    assumed_cpu, assumed_memory: (nodes,) what scores count for containers without requests.
    """

    cpu: Floats
    memory: Floats
    requested_cpu: Integers
    requested_memory: Integers
    pods: Integers
    assumed_cpu: Integers
    assumed_memory: Integers


def ground_of(nodes: Sequence[Node]) -> GroundArrays | None:
    """None where no node has any."""
    if all(node.ground is None for node in nodes):
        return None
    grounds = [node.ground or Ground() for node in nodes]
    return GroundArrays(
        cpu=np.round(_ratios((each.cpu for each in grounds), REFERENCE_CPU)),
        memory=np.round(_ratios((each.memory for each in grounds), REFERENCE_MEMORY)),
        requested_cpu=_integers(each.requested_cpu.milli_value() for each in grounds),
        requested_memory=_integers(each.requested_memory.value() for each in grounds),
        pods=_integers(each.pods for each in grounds),
        assumed_cpu=_integers(each.without_cpu * DEFAULT_MILLI_CPU for each in grounds),
        assumed_memory=_integers(each.without_memory * DEFAULT_MEMORY for each in grounds),
    )


class Fleet:
    """Nodes and VMs by number, in the scenario's order."""

    def __init__(self, scenario: Scenario) -> None:
        nodes, vms = scenario.nodes, scenario.vms
        self.scenario = scenario
        self.node_names = tuple(node.name for node in nodes)
        self.vm_names = tuple(vm.name for vm in vms)
        self.node_number = {name: number for number, name in enumerate(self.node_names)}
        self.cpu_capacity = _ratios((node.cpu for node in nodes), REFERENCE_CPU)
        self.memory_capacity = _ratios((node.memory for node in nodes), REFERENCE_MEMORY)
        self.allocatable_cpu = _integers(node.cpu.milli_value() for node in nodes)
        self.allocatable_memory = _integers(node.memory.value() for node in nodes)
        self.allocatable_pods = _integers(node.pods for node in nodes)
        self.accepts = np.array([_accepts(node) for node in nodes], dtype=np.bool_)
        self.cordoned = np.array([node.unschedulable for node in nodes], dtype=np.bool_)
        self.soft_taints = _integers(soft_taints(nodes))
        self.ground = ground_of(nodes)
        self.rules = rules_of(nodes, vms)
        by_load = scenario.requests == "consumption"  # what a VM uses on average is requested
        alike = _size_effect_and_loads if by_load else _size_and_effect
        kinds, kind = kinds_of(vms, alike if self.rules is None else _with_constraints(alike))
        self.cpu_size = _ratios((vm.cpu for vm in kinds), REFERENCE_CPU)[kind]
        self.memory_size = _ratios((vm.memory for vm in kinds), REFERENCE_MEMORY)[kind]
        asked = [requested(vm, scenario.requests) for vm in kinds]
        self.requested_cpu = _integers(cpu.milli_value() for cpu, _ in asked)[kind]
        self.requested_memory = _integers(memory.value() for _, memory in asked)[kind]
        self.dirty_rate = _floats(float(vm.dirty_rate) for vm in kinds)[kind]
        effects = list(map(on_eviction, kinds))
        self.eviction_effects = tuple(map(effects.__getitem__, kind.tolist()))
        self.on_eviction = _integers(effects)[kind]
        """The same as an array; NumPy compares its single numbers with an enum slowly."""
        number_of: dict[str | None, int] = {None: -1}
        number_of.update(self.node_number)
        self.first_node = _integers(map(number_of.__getitem__, (vm.node for vm in vms)))
        late = {event.name for event in scenario.events if event.what == "arrive"}
        self.present = np.ones(len(vms), dtype=np.bool_)
        for name in late:
            self.present[self.vm_number[name]] = False

    @cached_property
    def vm_number(self) -> dict[str, int]:
        """Needed for what happens to single VMs only."""
        return {name: number for number, name in enumerate(self.vm_names)}

    def namespace(self, vm: int) -> str:
        """Of the VM's pods."""
        rules = self.scenario.vms[vm].constraints
        return DEFAULT_NAMESPACE if rules is None else rules.namespace

    @property
    def nodes(self) -> int:
        return len(self.node_names)

    @property
    def vms(self) -> int:
        return len(self.vm_names)


_size_and_effect: Callable[[Vm], tuple[Hashable, ...]] = attrgetter(
    "cpu.nano", "memory.nano", "dirty_rate.nano", "eviction_strategy", "live_migratable"
)


def _size_effect_and_loads(vm: Vm) -> tuple[Hashable, ...]:
    return (*_size_and_effect(vm), id(vm.cpu_load), id(vm.memory_load))


def _with_constraints(alike: Callable[[Vm], tuple[Hashable, ...]]) -> Callable[[Vm], Hashable]:
    return lambda vm: (*alike(vm), vm.can_migrate)


def kinds_of(items: Sequence[Item], key: Callable[[Item], Hashable]) -> tuple[list[Item], Numbers]:
    """The first item of each kind, and the number of its kind for every item.

    Of a million VMs few kinds differ: what is computed for each kind is picked by number.
    """
    numbers: defaultdict[Hashable, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new kind gets the next number
    kind = np.fromiter(map(numbers.__getitem__, map(key, items)), np.intp, len(items))
    first = np.zeros(len(numbers), dtype=np.intp)
    first[kind[::-1]] = np.arange(len(items))[::-1]
    return [items[at] for at in first.tolist()], kind


def plain(array: NDArray[Any]) -> Any:
    """An array's elements as plain numbers, one at a time, to read and to write.

    A memory view takes a third of the time that NumPy takes for a single element.
    """
    return array.data


def _floats(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def _ratios(amounts: Iterable[Quantity], reference: Quantity) -> Floats:
    """Amounts in units of 1e-9 of the reference node."""
    whole = reference.nano
    return _floats(amount.nano / whole * UNITS for amount in amounts)


def _accepts(node: Node) -> bool:
    """Whether a virt-launcher pod may be placed there at all (cordons come and go: elsewhere)."""
    willing = node.labels.get(SCHEDULABLE, "true") == "true"
    return willing and tolerates_for_scheduling(LAUNCHER_TOLERATIONS, node.taints)
