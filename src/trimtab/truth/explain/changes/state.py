"""Changes of the cluster: a taint less, a node uncordoned, a mark on a pod, an eviction ended."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from trimtab.model.snapshot import EVICT, SnapshotNode, SnapshotPod
from trimtab.truth.explain.changes.change import UntriedChange, single_change, with_node, with_pod
from trimtab.truth.explain.changes.trial import Trial
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER

_MOST = 5
"""How many nodes or pods of one kind are tried: they are mostly alike."""


def state_attempts(trial: Trial) -> Iterator[UntriedChange]:
    """What could be different in the cluster, one thing at a time."""
    yield from _metrics(trial)
    yield from _taints(trial)
    yield from _nodes(trial)
    yield from _in_flight(trial)
    yield from _pods(trial)


def _metrics(trial: Trial) -> Iterator[UntriedChange]:
    """The one node that the metrics server tells nothing of gets what another node has."""
    known = {metrics.name: metrics for metrics in trial.snapshot.node_metrics}
    names = trial.view.selected(trial.policy.node_selector).names
    missing = [name for name in names if name not in known]
    if len(missing) != 1:
        return
    (name,) = missing
    for other in known.values():
        told = (*trial.snapshot.node_metrics, replace(other, name=name))
        what = f"let the metrics server tell what {name} uses (as much as {other.name} was tried)"
        snapshot = replace(trial.snapshot, node_metrics=told)
        yield single_change("sample", what, snapshot, "metrics")


def _destinations(trial: Trial) -> Sequence[SnapshotNode]:
    cycle = trial.cycle()
    names = {cycle.nodes[at] for run in cycle.runs for at in run.destinations}
    return [node for node in trial.snapshot.nodes if node.name in names]


def _taints(trial: Trial) -> Iterator[UntriedChange]:
    tainted = [node for node in _destinations(trial) if node.taints]
    tainted.sort(key=lambda node: len(node.taints))
    for node in tainted[:_MOST]:
        for taint in node.taints:
            left = tuple(each for each in node.taints if each != taint)
            what = f"take the taint {taint.key}:{taint.effect} off {node.name}"
            snapshot = with_node(trial.snapshot, replace(node, taints=left))
            yield single_change("node", what, snapshot, "taint")


def _nodes(trial: Trial) -> Iterator[UntriedChange]:
    nodes = trial.snapshot.nodes
    for node in [node for node in nodes if node.unschedulable][:_MOST]:
        snapshot = with_node(trial.snapshot, replace(node, unschedulable=False))
        yield single_change("node", f"uncordon {node.name}", snapshot, "cordon")
    for node in [node for node in nodes if node.ready is False][:_MOST]:
        snapshot = with_node(trial.snapshot, replace(node, ready=True))
        yield single_change("node", f"make {node.name} ready", snapshot, "ready")


def _in_flight(trial: Trial) -> Iterator[UntriedChange]:
    """One eviction under way ends: its pod is gone, and its slot is free."""
    for entry in list(trial.inflight.entries.values())[:_MOST]:
        pods = [pod for pod in trial.snapshot.pods if pod.uid == entry.pod_uid]
        name = f"{pods[0].namespace}/{pods[0].name}" if pods else entry.pod_uid
        snapshot = replace(
            trial.snapshot,
            in_flight=tuple(e for e in trial.snapshot.in_flight if e.pod_uid != entry.pod_uid),
            pods=tuple(pod for pod in trial.snapshot.pods if pod.uid != entry.pod_uid),
        )
        what = f"wait until the eviction of {name} has ended"
        yield single_change("in flight", what, snapshot, "in flight")


def _pods(trial: Trial) -> Iterator[UntriedChange]:
    cycle = trial.cycle()
    sources = {cycle.nodes[n] for run in cycle.runs for group in run.sources for n in group}
    pods = [p for p in trial.snapshot.pods if p.node in sources and not p.finished]
    for pod in [p for p in pods if p.annotations.get(EVICTION_ANSWER, "").startswith("refused")][
        :_MOST
    ]:
        what = f"let the VM of {_key(pod)} migrate: the API server refuses its eviction"
        snapshot = with_pod(trial.snapshot, _without(pod, EVICTION_ANSWER))
        yield single_change("pod", what, snapshot, "refused")
    fresh = [p for p in pods if EVICT not in p.annotations and p.uid not in trial.inflight]
    for pod in fresh[:_MOST]:
        marked = replace(pod, annotations={**pod.annotations, EVICT: ""})
        what = f"annotate {_key(pod)} with {EVICT}: it beats every protection"
        yield single_change("pod", what, with_pod(trial.snapshot, marked), "evict")


def _key(pod: SnapshotPod) -> str:
    return f"{pod.namespace}/{pod.name}"


def _without(pod: SnapshotPod, annotation: str) -> SnapshotPod:
    kept = {key: value for key, value in pod.annotations.items() if key != annotation}
    return replace(pod, annotations=kept)
