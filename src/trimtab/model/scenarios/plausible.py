"""Doubts about a scenario that is correct: what will hardly happen as it was meant."""

from collections import defaultdict
from collections.abc import Iterator

from trimtab.model.duration import format_duration
from trimtab.model.machines import Ground, requested
from trimtab.model.quantity import Quantity
from trimtab.model.scenarios.scenario import Scenario


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
