"""From the file a person wrote to every node and VM by name.

Deterministic: what is drawn is drawn from the scenario's own seed, in the file's order.
VMs that follow the same curve share one object, so a thousand of them cost as much as one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration
from trimtab.model.load.curve import Constant, Curve, Diurnal, Spikes, Steps, Trace
from trimtab.model.nodes_and_vms import Ground, Node, Vm
from trimtab.model.pod_rules import Constraints
from trimtab.model.quantity import parse_quantity
from trimtab.model.scenarios.check import check_file
from trimtab.model.scenarios.file import (
    Between,
    EventInFile,
    GroundLoad,
    MigrationModel,
    NodeDrains,
    NodeFails,
    NodeGroup,
    ScenarioFile,
    TraceSource,
    VmDeparts,
    VmGroup,
    VmsArrive,
)
from trimtab.model.scenarios.scenario import Migration, Scenario, ScenarioEvent, check_names

Recorded: TypeAlias = Sequence[tuple[Trace, Trace | None]]
"""CPU and, where recorded, memory of each machine."""
Traces: TypeAlias = Mapping[TraceSource, Recorded]


def expand(file: ScenarioFile, traces: Traces | None = None) -> Scenario:
    """Every node and VM of the file; `traces` holds what was recorded for each of its traces."""
    for problem in check_file(file):
        raise ConfigError(problem)
    scenario = expanded(file, traces)
    check_names(scenario)
    return scenario


def expanded(file: ScenarioFile, traces: Traces | None = None) -> Scenario:
    """The same of a file that was checked; names are not: see `name_problems`."""
    expansion = _Expansion(file, traces or {})
    vms = [
        vm for index, group in enumerate(file.vms) for vm in expansion.vms(group, f"vms[{index}]")
    ]
    events: list[ScenarioEvent] = []
    for index, event in enumerate(file.events):
        arrived, more = expansion.event(event, f"events[{index}]")
        vms += arrived
        events += more
    return Scenario(
        name=file.name,
        nodes=tuple(node for group in file.nodes for node in _nodes(group)),
        vms=tuple(vms),
        description=file.description,
        duration_s=parse_duration(file.duration),
        seed=file.seed,
        events=tuple(sorted(events, key=lambda event: event.at)),
        migration=_migration(file.migration),
        pressure=file.pressure,
        requests=file.requests,
    )


def traces_of(file: ScenarioFile) -> Iterator[tuple[str, TraceSource]]:
    """Every trace that the file names, with the field that does."""
    for index, group in enumerate(file.vms):
        if group.trace is not None:
            yield f"vms[{index}].trace.file", group.trace
    for index, event in enumerate(file.events):
        if isinstance(event, VmsArrive) and event.vms.trace is not None:
            yield f"events[{index}].vms.trace.file", event.vms.trace


def _nodes(group: NodeGroup) -> Iterator[Node]:
    cpu, memory = parse_quantity(group.cpu), parse_quantity(group.memory)
    ground = _ground(group.ground)
    for name in _names(group.name, group.count):
        yield Node(
            name=name,
            cpu=cpu,
            memory=memory,
            pods=group.pods,
            labels=group.labels,
            taints=group.taints,
            unschedulable=group.unschedulable,
            ground=ground,
        )


def _ground(load: GroundLoad) -> Ground | None:
    if load == GroundLoad():
        return None
    return Ground(
        cpu=parse_quantity(load.cpu),
        memory=parse_quantity(load.memory),
        requested_cpu=parse_quantity(load.requested_cpu),
        requested_memory=parse_quantity(load.requested_memory),
        pods=load.pods,
        without_cpu=load.without_cpu,
        without_memory=load.without_memory,
    )


def _names(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}-{index + 1}" for index in range(count)]


class _Expansion:
    """The chance and the recordings that all groups of one file share."""

    def __init__(self, file: ScenarioFile, traces: Traces) -> None:
        seed = np.random.SeedSequence([0x5CE7A210, file.seed % 2**32])
        self._rng, self._traces = np.random.default_rng(seed), traces

    def vms(self, group: VmGroup, field: str) -> Iterator[Vm]:
        first = Vm(
            name=group.name,
            cpu=parse_quantity(group.cpu),
            memory=parse_quantity(group.memory),
            node=group.node,
            priority=group.priority,
            eviction_strategy=group.eviction_strategy,
            live_migratable=group.live_migratable,
            dirty_rate=parse_quantity(group.dirty_rate),
            constraints=None if group.constraints == Constraints() else group.constraints,
        )
        curves = self._curves(group, field)
        for name, (cpu, memory) in zip(_names(group.name, len(curves)), curves, strict=True):
            yield structs.replace(first, name=name, cpu_load=cpu, memory_load=memory)

    def _curves(self, group: VmGroup, field: str) -> list[tuple[Curve, Curve]]:
        """CPU and memory of each VM of the group."""
        recorded = self._recorded(group.trace, field) if group.trace is not None else None
        count = group.count if recorded is None else len(recorded)
        cpu = self._loads(group.load.cpu, group.utilization.cpu, count, group)
        memory = self._loads(group.load.memory, group.utilization.memory, count, group)
        if recorded is None:
            return list(zip(cpu, memory, strict=True))
        given = group.load.memory is not None
        return [
            (cpu_trace, constant if given or memory_trace is None else memory_trace)
            for (cpu_trace, memory_trace), constant in zip(recorded, memory, strict=True)
        ]

    def _recorded(self, trace: TraceSource, field: str) -> Recorded:
        if trace not in self._traces:
            raise ConfigError(f"{field}.trace.file: {trace.file!r} was not read")
        return self._traces[trace][: trace.limit]

    def _loads(
        self, curve: Curve | None, level: float | Between, count: int, group: VmGroup
    ) -> list[Curve]:
        if curve is not None:
            stagger = parse_duration(group.stagger)
            return [_later(curve, index, stagger) for index in range(count)]
        if isinstance(level, Between):
            drawn = self._rng.uniform(level.min, level.max, count)
            return [Constant(round(float(value), 9)) for value in drawn]
        return [Constant(float(level))] * count

    def event(self, event: EventInFile, field: str) -> tuple[list[Vm], list[ScenarioEvent]]:
        """The VMs that an event brings, and what happens when."""
        at = parse_duration(event.at)
        match event:
            case VmsArrive():
                vms = list(self.vms(event.vms, f"{field}.vms"))
                return vms, [ScenarioEvent(at, "arrive", vm.name) for vm in vms]
            case VmDeparts():
                return [], [ScenarioEvent(at, "depart", event.vm)]
            case NodeFails():
                return [], _for_a_while(event, at, "fail", "recover")
            case NodeDrains():
                return [], _for_a_while(event, at, "drain", "undrain")


def _later(curve: Curve, index: int, stagger: float) -> Curve:
    """The curve of a group's VM number `index`: later, or for spikes at moments of its own."""
    delay = index * stagger
    match curve:
        case Spikes() if not stagger:
            return structs.replace(curve, seed=curve.seed + index)
        case Diurnal() if delay:
            return structs.replace(curve, peak_at=curve.peak_at + delay)
        case Steps() | Spikes() if delay:
            return structs.replace(curve, delay=curve.delay + delay)
        case Trace() if delay:
            points = tuple((at * curve.interval, value) for at, value in enumerate(curve.values))
            period = len(points) * curve.interval
            return Steps(points, repeat=period if curve.repeat else None, delay=delay)
        case _:
            return curve


def _for_a_while(
    event: NodeFails | NodeDrains,
    at: float,
    begins: Literal["fail", "drain"],
    ends: Literal["recover", "undrain"],
) -> list[ScenarioEvent]:
    events = [ScenarioEvent(at, begins, event.node)]
    if event.lasts is not None:
        events.append(ScenarioEvent(at + parse_duration(event.lasts), ends, event.node))
    return events


def _migration(model: MigrationModel) -> Migration:
    return Migration(
        mode=model.mode,
        bandwidth=float(parse_quantity(model.bandwidth)),
        per_cluster=model.per_cluster,
        per_node_outbound=model.per_node_outbound,
        timeout_s_per_gib=parse_duration(model.timeout_per_gib),
        failure_rate=model.failure_rate,
        backoff_s=parse_duration(model.backoff),
    )
