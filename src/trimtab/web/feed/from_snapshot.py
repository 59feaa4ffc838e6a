"""A snapshot as a picture: loads, classes and distances by the very rules of `explain`."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.quantity import parse_quantity
from trimtab.model.snapshot import Snapshot, SnapshotNode
from trimtab.observe.vm_loads import NOT_LIVE_MIGRATABLE
from trimtab.policy.cycle import Cycle
from trimtab.truth.explain.changes.trial import Trial, read_trial
from trimtab.truth.explain.nodes import NodeExplained, explain_nodes
from trimtab.web.feed.picture import ClusterState, MoveState, NodeState, Picture, VmState

ZONE = "topology.kubernetes.io/zone"
_MIB = 1024**2


class MeasuredNode(Struct, frozen=True):
    """What Prometheus tells of a node, as shares; None where it tells nothing."""

    cpu: float | None = None
    memory: float | None = None
    pressure: float | None = None


def picture_of(
    snapshot: Snapshot,
    *,
    measured: Mapping[str, MeasuredNode] | None = None,
    moves: Mapping[str, MoveState] | None = None,
    moved: int = 0,
    notes: Sequence[str] = (),
) -> Picture:
    """Everything that the page shows of one look."""
    moves = dict(moves or {})
    decided = _decide(snapshot)
    vms = _vms(snapshot, decided.evicted)
    nodes = {
        node.name: _node(node, decided.nodes.get(node.name), (measured or {}).get(node.name), load)
        for node, load in zip(snapshot.nodes, _loads(snapshot, vms), strict=True)
    }
    cluster = ClusterState(
        verdict=decided.verdict,
        problem=decided.problem,
        query=snapshot.query.query if snapshot.query else "",
        average=_rounded(decided.average),
        low=_rounded(decided.low),
        high=_rounded(decided.high),
        imbalance=imbalance(list(nodes.values())),
        over=sum(node.kind == "over" for node in nodes.values()),
        evictions=len(decided.evicted),
        moving=sum(not move.ended for move in moves.values()),
        moved=moved,
        notes=tuple(notes),
    )
    return Picture(
        at=snapshot.taken_at.timestamp(), cluster=cluster, nodes=nodes, vms=vms, moves=moves
    )


def node_classes(snapshot: Snapshot) -> dict[str, NodeState]:
    """Class, score and thresholds of each node by the snapshot's policy and query alone."""
    decided = _decide(snapshot)
    return {
        node.name: _node(node, decided.nodes[node.name], None, None)
        for node in snapshot.nodes
        if node.name in decided.nodes
    }


def imbalance(nodes: Sequence[NodeState]) -> float | None:
    """The deviation of CPU and memory over the nodes that are ready, in points."""
    shares = [
        (node.cpu, node.memory)
        for node in nodes
        if node.ready and node.cpu is not None and node.memory is not None
    ]
    if not shares:
        return None
    return round(100.0 * float(np.sqrt(np.var(np.array(shares), axis=0).sum())), 2)


class _Decided(Struct, frozen=True):
    """What the policy makes of a snapshot; a `problem` if it can make nothing of it."""

    nodes: dict[str, NodeExplained] = {}
    evicted: frozenset[str] = frozenset()
    """Uids of pods."""
    average: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    problem: str = ""


def _decide(snapshot: Snapshot) -> _Decided:
    if not snapshot.policy:
        return _Decided(problem="no policy of a descheduler is known, so nodes have no class")
    try:
        trial = read_trial(snapshot)
    except ConfigError as error:
        return _Decided(problem=str(error))
    cycle = trial.cycle()
    if cycle.skipped is not None:
        return _Decided(problem=f"{cycle.skipped.text} ({cycle.skipped.rule})")
    if not cycle.runs:
        return _Decided(problem="the policy enables no plugin that balances nodes")
    return _judged(trial, cycle)


def _judged(trial: Trial, cycle: Cycle) -> _Decided:
    """The first plugin's view of the nodes, and the evictions of all plugins."""
    run = cycle.runs[0]
    plugin = next(plugin for profile in trial.policy.profiles for _, plugin in profile.plugins)
    explained = explain_nodes(trial, cycle, run, plugin)
    evicted = frozenset(each.pod.uid for each in cycle.evictions)
    figures = run.figures
    one = next(iter(figures.low), "") if figures and len(figures.low) == 1 else ""
    exits = run.exit and f"{run.exit.text} ({run.exit.rule})"
    count = len(evicted)
    return _Decided(
        nodes={node.name: node for node in explained},
        evicted=evicted,
        average=(figures.average or {}).get(one) if figures and one else None,
        low=figures.low[one] if figures and one else None,
        high=figures.high[one] if figures and one else None,
        verdict=f"a cycle now would evict {count} {'pod' if count == 1 else 'pods'}"
        if count
        else f"a cycle now would evict nothing{f': {exits}' if exits else ''}",
        problem=f"{run.error.text} ({run.error.rule})" if run.error else "",
    )


def _vms(snapshot: Snapshot, evicted: frozenset[str]) -> dict[str, VmState]:
    where = {pod.uid: pod.node for pod in snapshot.pods}
    if not snapshot.vms:  # an old snapshot, without loads: its launchers still are VMs
        return {
            f"{pod.namespace}/{pod.name}": VmState(node=pod.node, evict=pod.uid in evicted)
            for pod in snapshot.pods
            if pod.labels.get("kubevirt.io") == "virt-launcher" and pod.node and not pod.finished
        }
    return {
        f"{vm.namespace}/{vm.name}": VmState(
            node=where.get(vm.pod_uid, ""),
            cpu=round(float(parse_quantity(vm.cpu, "vm")), 3) if vm.cpu else None,
            # whole MiB: a guest's last pages are no reason to send it again
            memory=float(parse_quantity(vm.memory, "vm")) // _MIB * _MIB if vm.memory else None,
            stays=vm.not_movable,
            protected=vm.not_movable == NOT_LIVE_MIGRATABLE,
            evict=vm.pod_uid in evicted,
        )
        for vm in snapshot.vms
    }


def _loads(snapshot: Snapshot, vms: Mapping[str, VmState]) -> list[tuple[float, float] | None]:
    """What the VMs of each node use in all; None where that is not known of every VM."""
    sums: dict[str, tuple[float, float] | None] = {}
    for vm in vms.values():
        so_far = sums.get(vm.node, (0.0, 0.0))
        if so_far is None or vm.cpu is None or vm.memory is None:
            sums[vm.node] = None
        else:
            sums[vm.node] = (so_far[0] + vm.cpu, so_far[1] + vm.memory)
    nothing = (0.0, 0.0) if vms else None
    return [sums.get(node.name, nothing) for node in snapshot.nodes]


def _node(
    node: SnapshotNode,
    explained: NodeExplained | None,
    measured: MeasuredNode | None,
    load: tuple[float, float] | None,
) -> NodeState:
    cores, memory = (_amount(node, name) for name in ("cpu", "memory"))
    known = measured or MeasuredNode()
    nearest = max(
        explained.distances.values() if explained else (), key=lambda d: d.above_high, default=None
    )
    shared_cpu = load[0] / cores if load and cores else None
    shared_memory = load[1] / memory if load and memory else None
    return NodeState(
        kind=explained.node_class if explained else "",
        percent=_rounded(nearest.percent) if nearest else None,
        low=_rounded(nearest.low) if nearest else None,
        high=_rounded(nearest.high) if nearest else None,
        cpu=_rounded(shared_cpu if known.cpu is None else known.cpu, 4),
        memory=_rounded(shared_memory if known.memory is None else known.memory, 4),
        pressure=_rounded(known.pressure, 4),
        capacity=(cores, memory),
        zone=node.labels.get(ZONE, ""),
        ready=node.ready is not False,
        cordoned=node.unschedulable,
    )


def _amount(node: SnapshotNode, name: str) -> float:
    text = node.allocatable.get(name) or node.capacity.get(name) or "0"
    return float(parse_quantity(text, f"node {node.name}"))


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None else round(value, digits)
