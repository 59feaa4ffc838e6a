"""A scenario at a glance: what each node carries at the start, and what the VMs do over time."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.duration import format_duration
from trimtab.model.load.curve import value_at
from trimtab.model.load.curve_means import mean_matrix
from trimtab.model.load.pressure import pressure
from trimtab.model.nodes_and_vms import Ground, Vm, requested
from trimtab.model.quantity import Quantity
from trimtab.model.scenarios.scenario import Scenario, ScenarioEvent

SLOTS = 24


class NodeAtStart(Struct, frozen=True, rename="camel"):
    """A node and the VMs that start on it; its ground load counts as use."""

    name: str
    cpu: str
    memory: str
    vms: int
    cpu_use: float
    """Share of the cores that is used at the first moment"""
    memory_use: float
    cpu_pressure: float
    memory_pressure: float


class VmsAlike(Struct, frozen=True, rename="camel"):
    """VMs of one group."""

    name: str
    count: int
    cpu: str
    memory: str
    node: str | None
    cpu_use: tuple[float, ...]
    """Share of their cores that they use, the mean of each of 24 spans of the run"""
    memory_use: tuple[float, ...]


class Summary(Struct, frozen=True, rename="camel"):
    """What `trimtab scenario show` shows."""

    name: str
    description: str
    duration_s: float
    nodes: tuple[NodeAtStart, ...]
    vms: tuple[VmsAlike, ...]
    unplaced: int
    """VMs that start where the scheduler puts them"""
    cpu_use: tuple[float, ...]
    """Share of all cores of the cluster that all VMs would use, over time"""
    memory_use: tuple[float, ...]
    events: tuple[ScenarioEvent, ...]


def summarise(scenario: Scenario) -> Summary:
    """Look at a scenario without running it."""
    groups = [list(vms) for _, vms in groupby(scenario.vms, key=_alike)]
    cpu = sum(float(node.cpu) for node in scenario.nodes)
    memory = sum(float(node.memory) for node in scenario.nodes)
    edges = np.linspace(0.0, scenario.duration_s, SLOTS + 1)
    cpu_used, memory_used = _used(scenario, edges)
    return Summary(
        name=scenario.name,
        description=scenario.description,
        duration_s=scenario.duration_s,
        nodes=tuple(_nodes(scenario)),
        vms=tuple(_group(vms, edges) for vms in groups),
        unplaced=sum(vm.node is None for vm in _at_start(scenario)),
        cpu_use=_rounded(cpu_used / cpu),
        memory_use=_rounded(memory_used / memory),
        events=scenario.events,
    )


def _alike(vm: Vm) -> tuple[object, ...]:
    return re.sub(r"-\d+$", "", vm.name), vm.cpu, vm.memory, vm.node


def _at_start(scenario: Scenario) -> list[Vm]:
    late = {event.name for event in scenario.events if event.what == "arrive"}
    return [vm for vm in scenario.vms if vm.name not in late]


def _nodes(scenario: Scenario) -> list[NodeAtStart]:
    rows = {node.name: row for row, node in enumerate(scenario.nodes)}
    used, count = np.zeros((len(rows), 2)), np.zeros(len(rows), dtype=np.int64)
    for row, node in enumerate(scenario.nodes):
        if node.ground is not None:
            used[row] += float(node.ground.cpu), float(node.ground.memory)
    for vm in _at_start(scenario):
        if vm.node is not None:
            cpu, memory = value_at(vm.cpu_load, 0.0), value_at(vm.memory_load, 0.0)
            used[rows[vm.node]] += float(vm.cpu) * cpu, float(vm.memory) * memory
            count[rows[vm.node]] += 1
    shares = used / np.array([(float(node.cpu), float(node.memory)) for node in scenario.nodes])
    pressures = pressure(shares, scenario.pressure)
    return [
        NodeAtStart(
            name=node.name,
            cpu=str(node.cpu),
            memory=str(node.memory),
            vms=int(count[row]),
            cpu_use=round(float(shares[row, 0]), 6),
            memory_use=round(float(shares[row, 1]), 6),
            cpu_pressure=round(float(pressures[row, 0]), 6),
            memory_pressure=round(float(pressures[row, 1]), 6),
        )
        for row, node in enumerate(scenario.nodes)
    ]


def _group(vms: list[Vm], edges: NDArray[np.float64]) -> VmsAlike:
    first = vms[0]
    name = first.name if len(vms) == 1 else re.sub(r"-\d+$", "", first.name)
    return VmsAlike(
        name=name,
        count=len(vms),
        cpu=str(first.cpu),
        memory=str(first.memory),
        node=first.node,
        cpu_use=_rounded(mean_matrix([vm.cpu_load for vm in vms], edges).mean(axis=0)),
        memory_use=_rounded(mean_matrix([vm.memory_load for vm in vms], edges).mean(axis=0)),
    )


def _used(
    scenario: Scenario, edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cores and bytes that all VMs use in each span, from their arrival to their departure."""
    there = np.ones((len(scenario.vms), len(edges) - 1))
    rows = {vm.name: row for row, vm in enumerate(scenario.vms)}
    for event in scenario.events:
        after = np.clip((edges[1:] - event.at) / np.diff(edges), 0.0, 1.0)
        if event.what in ("arrive", "depart"):
            there[rows[event.name]] *= after if event.what == "arrive" else 1.0 - after
    cpu = mean_matrix([vm.cpu_load for vm in scenario.vms], edges) * there
    memory = mean_matrix([vm.memory_load for vm in scenario.vms], edges) * there
    cores = np.array([float(vm.cpu) for vm in scenario.vms])
    sizes = np.array([float(vm.memory) for vm in scenario.vms])
    return cores @ cpu, sizes @ memory


def _rounded(shares: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(share) for share in np.round(shares, 6))


# Doubts about a scenario that is correct: what will hardly happen as it was meant.


def doubts(scenario: Scenario) -> Iterator[str]:
    """One line for each thing that will hardly happen as it was meant."""
    for event in scenario.events:
        if event.at >= scenario.duration_s:
            yield (
                f"events: {event.what} {event.name} at {format_duration(event.at)} comes after "
                f"the end; raise duration above {format_duration(scenario.duration_s)}"
            )
    yield from _homeless(scenario)
    yield from _crowded(scenario)


def _homeless(scenario: Scenario) -> Iterator[str]:
    """VMs that no node can hold."""
    nodes = {(node.cpu, node.memory) for node in scenario.nodes}
    named: defaultdict[tuple[Quantity, Quantity], list[str]] = defaultdict(list)
    for vm in scenario.vms:
        named[requested(vm, scenario.requests)].append(vm.name)
    for (cpu, memory), names in named.items():
        if not any(cpu <= has_cpu and memory <= has_memory for has_cpu, has_memory in nodes):
            others = f" and {len(names) - 1} others" if len(names) > 1 else ""
            yield (
                f"vm {names[0]!r}{others}: no node can hold {cpu} cores and {_gib(memory)} of "
                "memory; it will stay pending"
            )


def _crowded(scenario: Scenario) -> Iterator[str]:
    """Nodes on which more VMs start than they can hold."""
    late = {event.name for event in scenario.events if event.what == "arrive"}
    wanted: defaultdict[str, list[tuple[Quantity, Quantity]]] = defaultdict(list)
    for vm in scenario.vms:
        if vm.node is not None and vm.name not in late:
            wanted[vm.node].append(requested(vm, scenario.requests))
    for node in scenario.nodes:
        if not wanted[node.name]:
            continue
        ground = node.ground or Ground()
        cpu = Quantity(sum(wants[0].nano for wants in wanted[node.name]))
        memory = Quantity(sum(wants[1].nano for wants in wanted[node.name]))
        free_cpu = node.cpu.nano - ground.requested_cpu.nano
        free_memory = node.memory.nano - ground.requested_memory.nano
        crowd = len(wanted[node.name]) + ground.pods
        if cpu.nano > free_cpu or memory.nano > free_memory or crowd > node.pods:
            yield (
                f"node {node.name!r}: its {len(wanted[node.name])} VMs request {cpu} of {node.cpu} "
                f"cores and {_gib(memory)} of {node.memory}, {node.pods} pods; some will stay "
                "pending"
            )


def _gib(memory: Quantity) -> str:
    return f"{memory.nano / 1e9 / 2**30:.1f}Gi"
