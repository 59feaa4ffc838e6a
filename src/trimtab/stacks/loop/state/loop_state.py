"""The loop at one moment: nodes with their load and class, VMs, migrations, the last cycle."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.kube.resources import NODES, Node
from trimtab.kube.virtual_machines import VirtualMachineMigration
from trimtab.observe.node_classes import Classification, classify
from trimtab.policy.file.settings import queries
from trimtab.policy.view import QueryFailure
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.projector.policy_file import algorithm_of
from trimtab.stacks.loop.state.keeping_up import KeepingUp, keeping_up
from trimtab.stacks.loop.state.recent_cycles import RecentCycle, current_cycle

SERIES = {
    "cpu": "node_cpu_usage_ratio",
    "cpu_pressure": "node_cpu_pressure_psi",
    "memory": "node_memory_usage_ratio",
    "memory_pressure": "node_memory_pressure_psi",
    "vms": "node_vm_count",
}
RECENT = 8


class LoopNode(Struct, frozen=True, kw_only=True):
    """One node; what Prometheus does not know is None."""

    name: str
    ready: bool
    cordoned: bool
    cpu: float | None
    cpu_pressure: float | None
    memory: float | None
    memory_pressure: float | None
    vms: int | None
    score: float | None
    kind: str
    """under, appropriate, over; empty when the descheduler could not tell."""


class MigrationUnderWay(Struct, frozen=True, kw_only=True):
    """A migration."""

    name: str
    vm: str
    phase: str
    source: str
    target: str
    age_s: float
    reason: str = ""


class LoopState(Struct, frozen=True, kw_only=True):
    """Everything that the live view shows."""

    at: datetime
    scale: int
    algorithm: str
    query: str
    average: float | None
    low: float | None
    high: float | None
    problem: str
    """Why the descheduler would do nothing now; empty if it could act."""
    nodes: tuple[LoopNode, ...]
    vms: dict[str, int]
    """By phase."""
    evacuating: tuple[str, ...]
    moves: tuple[MigrationUnderWay, ...]
    """The newest migrations, newest first."""
    moved: int
    """Migrations that succeeded, of those that are kept."""
    cycle: RecentCycle | None
    keeping_up: KeepingUp = KeepingUp()


async def read_loop(loop: Loop) -> LoopState:
    """Look once; `problem` says which part of the loop does not answer."""
    policy = loop.policy()
    query = next(iter(queries(policy)), "")
    nodes = await loop.api.list(NODES)
    verdict, scores = await _judge(loop, nodes, query)
    inputs = await _inputs(loop)
    vms = await loop.vms()
    moves = await loop.migrations()
    return LoopState(
        at=datetime.now(UTC),
        scale=loop.spec.clock.scale,
        algorithm=algorithm_of(query),
        query=query,
        average=verdict.average,
        low=verdict.low,
        high=verdict.high,
        problem=verdict.problem,
        nodes=tuple(
            _node(node.metadata.name, node.ready, node.spec.unschedulable, inputs, scores, verdict)
            for node in sorted(nodes, key=lambda node: _natural(node.metadata.name))
        ),
        vms=dict(Counter(vm.status.phase or "new" for vm in vms)),
        evacuating=tuple(vm.metadata.name for vm in vms if vm.status.evacuation_node_name),
        moves=newest(moves),
        moved=sum(move.status.phase == "Succeeded" for move in moves),
        cycle=current_cycle(loop.lab),
        keeping_up=await keeping_up(loop),
    )


def newest(moves: Sequence[VirtualMachineMigration]) -> tuple[MigrationUnderWay, ...]:
    """The newest migrations, those under way first."""
    now = time.time()

    def begun(move: VirtualMachineMigration) -> float:
        created = move.metadata.creation_timestamp
        return created.timestamp() if created else now

    ordered = sorted(moves, key=lambda move: (not move.finished, begun(move)), reverse=True)
    return tuple(
        MigrationUnderWay(
            name=move.metadata.name,
            vm=move.spec.vm_name,
            phase=move.status.phase or "Pending",
            source=move.status.source_node,
            target=move.status.target_node,
            age_s=max(0.0, now - begun(move)),
            reason=move.status.reason,
        )
        for move in ordered[:RECENT]
    )


async def _judge(
    loop: Loop, nodes: Sequence[Node], query: str
) -> tuple[Classification, Mapping[str, float]]:
    try:
        samples = await loop.prometheus.instant(query)
    except TrimtabError as error:
        failed = classify(nodes, QueryFailure(str(error)), loop.policy())
        return failed, {}
    verdict = classify(nodes, samples, loop.policy())
    return verdict, {s.labels.get("instance", ""): s.value for s in samples}


async def _inputs(loop: Loop) -> dict[str, Mapping[str, float]]:
    try:
        return {
            name: await loop.prometheus.by_label(series, "node") for name, series in SERIES.items()
        }
    except TrimtabError:  # the verdict's problem says it
        return {name: {} for name in SERIES}


def _node(
    name: str,
    ready: bool,
    cordoned: bool,
    inputs: Mapping[str, Mapping[str, float]],
    scores: Mapping[str, float],
    verdict: Classification,
) -> LoopNode:
    vms = inputs["vms"].get(name)
    standing = verdict.nodes.get(name)
    return LoopNode(
        name=name,
        ready=ready,
        cordoned=cordoned,
        cpu=inputs["cpu"].get(name),
        cpu_pressure=inputs["cpu_pressure"].get(name),
        memory=inputs["memory"].get(name),
        memory_pressure=inputs["memory_pressure"].get(name),
        vms=None if vms is None else int(vms),
        score=scores.get(name),
        kind="" if standing is None else standing.kind,
    )


def _natural(name: str) -> tuple[str, int]:
    """kwok-node-10 after kwok-node-9."""
    stem, _, number = name.rpartition("-")
    return (stem, int(number)) if number.isdigit() else (name, 0)
