"""Changes of the cluster: a taint less, a node uncordoned, a mark on a pod, an eviction ended."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from trimtab.model.snapshot import EVICT, Snapshot, SnapshotNode, SnapshotPod
from trimtab.policy.file.settings import DEFAULT_PROTECTIONS, SYSTEM_CRITICAL, Evictor, Protection
from trimtab.truth.explain.changes.change import (
    SnapshotChange,
    Tree,
    UntriedChange,
    args_of,
    in_policy,
    with_node,
    with_pod,
)
from trimtab.truth.explain.changes.samples import query_attempts, sample_attempts
from trimtab.truth.explain.changes.thresholds import limit_attempts, plugin_attempts
from trimtab.truth.explain.changes.trial import Trial, evictions_after
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER

# Changes of DefaultEvictor: one protection or condition less.
EVICTOR = "DefaultEvictor"
_LEGACY = {
    Protection.LOCAL_STORAGE: ("evictLocalStoragePods", True),
    Protection.DAEMON_SET: ("evictDaemonSetPods", True),
    Protection.SYSTEM_CRITICAL: ("evictSystemCriticalPods", True),
    Protection.PVC: ("ignorePvcPods", False),
    Protection.WITHOUT_PDB: ("ignorePodsWithoutPDB", False),
}


def evictor_attempts(trial: Trial) -> Iterator[UntriedChange]:
    """Each setting that can keep a pod, taken away alone."""
    for at, profile in enumerate(trial.policy.profiles):
        if profile.plugins:
            for what, edit in _edits(profile.evictor):
                yield in_policy(trial.snapshot, what, _of_profile(at, edit))


def _edits(evictor: Evictor) -> Iterator[tuple[str, Callable[[Tree], None]]]:
    if evictor.node_fit:
        yield "switch nodeFit off", _set("nodeFit", False)
    for protection in Protection:
        # Without it bare pods would still never pass.
        if protection in evictor.protections and protection is not Protection.FAILED_BARE:
            yield f"switch the protection {protection.value} off", _unprotect(protection)
    if evictor.no_eviction == "Mandatory":
        yield "make noEvictionPolicy Preferred", _set("noEvictionPolicy", "Preferred")
    if evictor.label_selector.requirements:
        yield f"drop the labelSelector {evictor.label_selector.text}", _pop("labelSelector")
    if evictor.min_replicas > 1:
        yield f"drop minReplicas {evictor.min_replicas}", _pop("minReplicas")
    if evictor.min_pod_age_s is not None:
        yield f"drop minPodAge ({evictor.min_pod_age_s:g} s)", _pop("minPodAge")
    if evictor.namespace_selector.requirements:
        text = evictor.namespace_selector.text
        yield f"drop the namespaceLabelSelector {text}", _pop("namespaceLabelSelector")
    if evictor.priority_threshold < SYSTEM_CRITICAL:
        yield "drop the priorityThreshold", _pop("priorityThreshold")
    if evictor.node_fit and (evictor.node_selector is None or evictor.node_selector.requirements):
        yield "let nodeFit look at all nodes: drop its nodeSelector", _pop("nodeSelector")


def _of_profile(at: int, edit: Callable[[Tree], None]) -> Callable[[Tree], None]:
    return lambda tree: edit(args_of(tree, at, EVICTOR))


def _set(name: str, value: object) -> Callable[[Tree], None]:
    def edit(args: Tree) -> None:
        args[name] = value

    return edit


def _pop(name: str) -> Callable[[Tree], None]:
    def edit(args: Tree) -> None:
        args.pop(name, None)

    return edit


def _unprotect(protection: Protection) -> Callable[[Tree], None]:
    """In the words that the file uses: the new lists, or the old booleans."""

    def edit(args: Tree) -> None:
        lists = args.get("podProtections") or {}
        if not (lists.get("extraEnabled") or lists.get("defaultDisabled")) and any(
            args.get(name) for name, _ in _LEGACY.values()
        ):
            name, value = _LEGACY[protection]
            args[name] = value
            return
        args["podProtections"] = lists
        if protection in DEFAULT_PROTECTIONS:
            lists["defaultDisabled"] = [*(lists.get("defaultDisabled") or ()), protection.value]
        else:
            extra = lists.get("extraEnabled") or ()
            lists["extraEnabled"] = [name for name in extra if name != protection.value]

    return edit


# The smallest single change that would have led to an eviction, found by trying.
#
# Thresholds, limits and samples are moved step by step until the cycle evicts; settings,
# taints and marks are taken away one at a time. Each change that is told was applied to the
# snapshot and decided again from scratch.


class Found(Struct, frozen=True):
    """A change that evicts, and the snapshot with it."""

    change: SnapshotChange
    snapshot: Snapshot


def find_changes(trial: Trial) -> tuple[Found, ...]:
    """Single changes of our repertoire that evict, one of each sort, the smallest first.

    Changes of one size keep the order of the repertoire: the policy before the cluster.
    """
    found, done = [], set()
    for attempt in _attempts(trial):
        if attempt.group in done:
            continue
        if evictions := evictions_after(attempt.snapshot):
            change = replace(attempt.change, evictions=evictions)
            found.append(Found(change, attempt.snapshot))
            if attempt.group:
                done.add(attempt.group)
    return tuple(sorted(found, key=lambda each: each.change.size))


def _attempts(trial: Trial) -> Iterator[UntriedChange]:
    return chain(
        query_attempts(trial),
        limit_attempts(trial),
        plugin_attempts(trial),
        evictor_attempts(trial),
        sample_attempts(trial),
        state_attempts(trial),
    )


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
        yield UntriedChange(SnapshotChange("sample", what, 1.0), snapshot, "metrics")


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
            yield UntriedChange(SnapshotChange("node", what, 1.0), snapshot, "taint")


def _nodes(trial: Trial) -> Iterator[UntriedChange]:
    nodes = trial.snapshot.nodes
    for node in [node for node in nodes if node.unschedulable][:_MOST]:
        snapshot = with_node(trial.snapshot, replace(node, unschedulable=False))
        yield UntriedChange(
            SnapshotChange("node", f"uncordon {node.name}", 1.0), snapshot, "cordon"
        )
    for node in [node for node in nodes if node.ready is False][:_MOST]:
        snapshot = with_node(trial.snapshot, replace(node, ready=True))
        yield UntriedChange(
            SnapshotChange("node", f"make {node.name} ready", 1.0), snapshot, "ready"
        )


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
        yield UntriedChange(SnapshotChange("in flight", what, 1.0), snapshot, "in flight")


def _pods(trial: Trial) -> Iterator[UntriedChange]:
    cycle = trial.cycle()
    sources = {cycle.nodes[n] for run in cycle.runs for group in run.sources for n in group}
    pods = [p for p in trial.snapshot.pods if p.node in sources and not p.finished]
    for pod in [p for p in pods if p.annotations.get(EVICTION_ANSWER, "").startswith("refused")][
        :_MOST
    ]:
        what = f"let the VM of {_key(pod)} migrate: the API server refuses its eviction"
        snapshot = with_pod(trial.snapshot, _without(pod, EVICTION_ANSWER))
        yield UntriedChange(SnapshotChange("pod", what, 1.0), snapshot, "refused")
    fresh = [p for p in pods if EVICT not in p.annotations and p.uid not in trial.inflight]
    for pod in fresh[:_MOST]:
        marked = replace(pod, annotations={**pod.annotations, EVICT: ""})
        what = f"annotate {_key(pod)} with {EVICT}: it beats every protection"
        yield UntriedChange(
            SnapshotChange("pod", what, 1.0), with_pod(trial.snapshot, marked), "evict"
        )


def _key(pod: SnapshotPod) -> str:
    return f"{pod.namespace}/{pod.name}"


def _without(pod: SnapshotPod, annotation: str) -> SnapshotPod:
    kept = {key: value for key, value in pod.annotations.items() if key != annotation}
    return replace(pod, annotations=kept)
