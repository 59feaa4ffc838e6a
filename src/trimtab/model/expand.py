"""From the file a person wrote to every node and VM by name; finds every mistake on the way.

Deterministic: what is drawn is drawn from the scenario's own seed, in the file's order.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.model.curve import Constant, Curve, Diurnal, Spikes, Steps, Trace, check_curve
from trimtab.model.duration import parse_duration
from trimtab.model.machines import Node, Vm
from trimtab.model.quantity import Quantity, parse_quantity
from trimtab.model.scenario import Event, Migration, Scenario, check_names
from trimtab.model.scenario_file import (
    API_VERSION,
    Amount,
    Between,
    EventInFile,
    MigrationModel,
    NodeDrains,
    NodeFails,
    NodeGroup,
    ScenarioFile,
    VmDeparts,
    VmGroup,
    VmsArrive,
)

# For each trace file named in a scenario: CPU and, where recorded, memory of each machine.
Traces: TypeAlias = Mapping[str, Sequence[tuple[Trace, Trace | None]]]


def expand(file: ScenarioFile, traces: Traces | None = None) -> Scenario:
    """Every node and VM of the file; `traces` holds the curves of each trace file named in it."""
    if file.api_version != API_VERSION:
        raise ConfigError(f"apiVersion: {file.api_version!r} is not known; write {API_VERSION}")
    rng = np.random.default_rng(np.random.SeedSequence([0x5CE7A210, file.seed % 2**32]))
    nodes = [
        node for index, group in enumerate(file.nodes) for node in _nodes(group, f"nodes[{index}]")
    ]
    vms = [
        vm
        for index, group in enumerate(file.vms)
        for vm in _vms(group, f"vms[{index}]", rng, traces or {})
    ]
    events: list[Event] = []
    for index, event in enumerate(file.events):
        arrived, more = _event(event, f"events[{index}]", rng, traces or {})
        vms += arrived
        events += more
    scenario = Scenario(
        name=file.name,
        nodes=tuple(nodes),
        vms=tuple(vms),
        description=file.description,
        duration_s=parse_duration(file.duration, "duration"),
        seed=file.seed,
        events=tuple(sorted(events, key=lambda event: event.at)),
        migration=_migration(file.migration),
        pressure=file.pressure,
        requests=file.requests,
    )
    check_names(scenario)
    return scenario


def _numbered(name: str, count: int, field: str) -> Iterator[tuple[int, str]]:
    if count < 0:
        raise ConfigError(f"{field}.count: must not be negative")
    for index in range(count):
        yield index, name if count == 1 else f"{name}-{index + 1}"


def _amount(amount: Amount, field: str, *, positive: bool = True) -> Quantity:
    quantity = parse_quantity(amount, field)
    if quantity.nano < 0 or (positive and quantity.nano == 0):
        raise ConfigError(f"{field}: {amount!r} must be above 0")
    return quantity


def _nodes(group: NodeGroup, field: str) -> Iterator[Node]:
    for _, name in _numbered(group.name, group.count, field):
        yield Node(
            name=name,
            cpu=_amount(group.cpu, f"{field}.cpu"),
            memory=_amount(group.memory, f"{field}.memory"),
            pods=group.pods,
            labels=group.labels,
            taints=group.taints,
            unschedulable=group.unschedulable,
        )


def _vms(
    group: VmGroup,
    field: str,
    rng: np.random.Generator,
    traces: Traces,
) -> Iterator[Vm]:
    recorded: Sequence[tuple[Trace, Trace | None]] | None = None
    if group.trace is not None:
        recorded = traces.get(group.trace.file)
        if recorded is None:
            raise ConfigError(f"{field}.trace.file: {group.trace.file!r} was not read")
        recorded = recorded[: group.trace.limit]
    stagger = parse_duration(group.stagger, f"{field}.stagger")
    for index, name in _numbered(
        group.name, len(recorded) if recorded is not None else group.count, field
    ):
        cpu_load = _curve(
            group.load.cpu, group.utilization.cpu, index, stagger, rng, f"{field}.load.cpu"
        )
        memory_load = _curve(
            group.load.memory, group.utilization.memory, index, stagger, rng, f"{field}.load.memory"
        )
        if recorded is not None:
            cpu_load, memory_load = recorded[index][0], recorded[index][1] or memory_load
        yield Vm(
            name=name,
            cpu=_amount(group.cpu, f"{field}.cpu"),
            memory=_amount(group.memory, f"{field}.memory"),
            cpu_load=cpu_load,
            memory_load=memory_load,
            node=group.node,
            priority=group.priority,
            eviction_strategy=group.eviction_strategy,
            live_migratable=group.live_migratable,
            dirty_rate=_amount(group.dirty_rate, f"{field}.dirtyRate", positive=False),
        )


def _curve(
    curve: Curve | None,
    level: float | Between,
    index: int,
    stagger: float,
    rng: np.random.Generator,
    field: str,
) -> Curve:
    if curve is None:
        value = float(rng.uniform(level.min, level.max)) if isinstance(level, Between) else level
        curve = Constant(round(value, 9))
    check_curve(curve, field)
    return _later(curve, index * stagger, index)


def _later(curve: Curve, delay: float, index: int) -> Curve:
    """The same curve `delay` seconds later; each VM of a group spikes at its own moments."""
    match curve:
        case Spikes():
            return structs.replace(curve, seed=curve.seed + index)
        case Diurnal() if delay:
            return structs.replace(curve, peak_at=curve.peak_at + delay)
        case Steps() if delay and curve.repeat is None:
            first, *rest = curve.points
            return Steps((first, *((at + delay, value) for at, value in rest)))
        case _:
            return curve


def _event(
    event: EventInFile,
    field: str,
    rng: np.random.Generator,
    traces: Traces,
) -> tuple[list[Vm], list[Event]]:
    at = parse_duration(event.at, f"{field}.at")
    match event:
        case VmsArrive():
            vms = list(_vms(event.vms, f"{field}.vms", rng, traces))
            return vms, [Event(at, "arrive", vm.name) for vm in vms]
        case VmDeparts():
            return [], [Event(at, "depart", event.vm)]
        case NodeFails():
            return [], _for_a_while(event, at, field, "fail", "recover")
        case NodeDrains():
            return [], _for_a_while(event, at, field, "drain", "undrain")


def _for_a_while(
    event: NodeFails | NodeDrains,
    at: float,
    field: str,
    begins: Literal["fail", "drain"],
    ends: Literal["recover", "undrain"],
) -> list[Event]:
    events = [Event(at, begins, event.node)]
    if event.lasts is not None:
        events.append(Event(at + parse_duration(event.lasts, f"{field}.lasts"), ends, event.node))
    return events


def _migration(model: MigrationModel) -> Migration:
    if model.per_cluster < 1 or model.per_node_outbound < 1:
        raise ConfigError("migration: perCluster and perNodeOutbound must be at least 1")
    if not 0 <= model.failure_rate < 1:
        raise ConfigError("migration.failureRate: must be at least 0 and below 1")
    return Migration(
        mode=model.mode,
        bandwidth=float(_amount(model.bandwidth, "migration.bandwidth")),
        per_cluster=model.per_cluster,
        per_node_outbound=model.per_node_outbound,
        timeout_s_per_gib=parse_duration(model.timeout_per_gib, "migration.timeoutPerGib"),
        failure_rate=model.failure_rate,
        backoff_s=parse_duration(model.backoff, "migration.backoff"),
    )
