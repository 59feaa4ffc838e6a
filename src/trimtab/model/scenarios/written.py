"""The way back: from values to what a person would have written in a scenario file."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, structs

from trimtab.model.duration import format_duration, parse_duration
from trimtab.model.load.curve import Constant
from trimtab.model.nodes_and_vms import (
    DEFAULT_CPU_UTILISATION,
    DEFAULT_MEMORY_UTILISATION,
    Ground,
    Node,
    Vm,
)
from trimtab.model.pod_rules import Constraints
from trimtab.model.quantity import NANO, Quantity
from trimtab.model.scenarios.file import (
    Amount,
    Duration,
    EventInFile,
    GroundLoad,
    Load,
    MigrationModel,
    NodeDrains,
    NodeFails,
    NodeGroup,
    ScenarioFile,
    Utilisation,
    VmDeparts,
    VmGroup,
    VmsArrive,
)
from trimtab.model.scenarios.scenario import Migration, Scenario


def written(value: Any) -> Any:
    """A struct as plain data under the names of the file, without what is default."""
    if isinstance(value, tuple | list):
        return [written(item) for item in value]
    if not isinstance(value, Struct):
        return msgspec.to_builtins(value)
    config = value.__struct_config__
    result: dict[str, Any] = {} if config.tag_field is None else {config.tag_field: config.tag}
    for field in structs.fields(value):
        content = getattr(value, field.name)
        if field.required or content != _default(field):
            result[field.encode_name] = written(content)
    return result


def _default(field: structs.FieldInfo) -> Any:
    made = field.default_factory
    return field.default if made is msgspec.NODEFAULT else made()


def as_file(scenario: Scenario) -> ScenarioFile:
    """A scenario with every node and VM in a group of its own: what `expand` made of a file."""
    arrivals = {event.name: event.at for event in scenario.events if event.what == "arrive"}
    return ScenarioFile(
        name=scenario.name,
        description=scenario.description,
        duration=_time(scenario.duration_s),
        seed=scenario.seed,
        nodes=tuple(map(_node, scenario.nodes)),
        vms=tuple(_vm(vm) for vm in scenario.vms if vm.name not in arrivals),
        events=tuple(_events(scenario)),
        migration=_migration(scenario.migration),
        pressure=scenario.pressure,
        requests=scenario.requests,
    )


def _node(node: Node) -> NodeGroup:
    return NodeGroup(
        name=node.name,
        cpu=_amount(node.cpu),
        memory=_amount(node.memory),
        pods=node.pods,
        labels=node.labels,
        taints=node.taints,
        unschedulable=node.unschedulable,
        ground=_ground(node.ground or Ground()),
    )


def _ground(ground: Ground) -> GroundLoad:
    return GroundLoad(
        cpu=_amount(ground.cpu),
        memory=_amount(ground.memory),
        requested_cpu=_amount(ground.requested_cpu),
        requested_memory=_amount(ground.requested_memory),
        pods=ground.pods,
        without_cpu=ground.without_cpu,
        without_memory=ground.without_memory,
    )


def _vm(vm: Vm) -> VmGroup:
    cpu, memory = vm.cpu_load, vm.memory_load
    constant = Utilisation(
        cpu=cpu.value if isinstance(cpu, Constant) else DEFAULT_CPU_UTILISATION,
        memory=memory.value if isinstance(memory, Constant) else DEFAULT_MEMORY_UTILISATION,
    )
    return VmGroup(
        name=vm.name,
        cpu=_amount(vm.cpu),
        memory=_amount(vm.memory),
        utilization=constant,
        load=Load(
            cpu=None if isinstance(cpu, Constant) else cpu,
            memory=None if isinstance(memory, Constant) else memory,
        ),
        node=vm.node,
        priority=vm.priority,
        eviction_strategy=vm.eviction_strategy,
        live_migratable=vm.live_migratable,
        dirty_rate=_amount(vm.dirty_rate),
        constraints=vm.constraints or Constraints(),
    )


def _events(scenario: Scenario) -> Iterator[EventInFile]:
    vms = {vm.name: vm for vm in scenario.vms}
    for number, event in enumerate(scenario.events):
        at = _time(event.at)
        match event.what:
            case "arrive":
                yield VmsArrive(at, _vm(vms[event.name]))
            case "depart":
                yield VmDeparts(at, event.name)
            case "fail":
                yield NodeFails(at, event.name, _lasts(scenario, number, "recover"))
            case "drain":
                yield NodeDrains(at, event.name, _lasts(scenario, number, "undrain"))
            case "recover" | "undrain":
                pass  # told by how long the other one lasts


def _lasts(scenario: Scenario, number: int, ends: str) -> Duration | None:
    begun = scenario.events[number]
    for event in scenario.events[number:]:
        if event.what == ends and event.name == begun.name:
            return _time(event.at - begun.at)
    return None


def _migration(migration: Migration) -> MigrationModel:
    return MigrationModel(
        mode=migration.mode,
        bandwidth=_amount(Quantity(round(migration.bandwidth * NANO))),
        per_cluster=migration.per_cluster,
        per_node_outbound=migration.per_node_outbound,
        timeout_per_gib=_time(migration.timeout_s_per_gib),
        failure_rate=migration.failure_rate,
        backoff=_time(migration.backoff_s),
    )


def _amount(quantity: Quantity) -> Amount:
    """Small whole numbers as numbers, everything else as text with a unit."""
    text = str(quantity)
    return int(text) if text.isdecimal() else text


def _time(seconds: float) -> Duration:
    text = format_duration(seconds)
    return text if parse_duration(text) == seconds else seconds
