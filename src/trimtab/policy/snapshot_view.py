"""A snapshot as the view, the policy and the in-flight cache that `decide` wants."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec
import numpy as np

from trimtab.model import snapshot as model
from trimtab.model.snapshot import Snapshot, SnapshotNode, SnapshotPod
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import Policy
from trimtab.policy.inflight import InFlight, KnownEviction, PodEvent, PodState
from trimtab.policy.pods.migration_aware import Migrated
from trimtab.policy.pods.requests import amounts, qos_of, requested_names, requests_of
from trimtab.policy.view import (
    Amounts,
    PlainNode,
    PlainPod,
    PodView,
    QueryFailure,
    Traits,
    Vector,
    View,
)


def policy_of(snapshot: Snapshot, file: str = "snapshot: policy") -> Policy:
    """The snapshot's policy; priority classes come from the snapshot as well."""
    return read_policy(snapshot.policy, file, snapshot.priority_classes)


def inflight_of(snapshot: Snapshot) -> InFlight:
    """Entries of the snapshot and every pod that says itself that it is being evicted."""
    known = InFlight(
        KnownEviction(e.pod_uid, e.node, e.namespace, _seconds(e.assumed_at))
        for e in snapshot.in_flight
    )
    for pod in snapshot.pods:
        known = known.observe(PodEvent("added", state_of(pod)))
    return known


def state_of(pod: SnapshotPod) -> PodState:
    """What the in-flight cache looks at."""
    return PodState(
        uid=pod.uid,
        node=pod.node,
        namespace=pod.namespace,
        request_evict_only=model.REQUEST_EVICT_ONLY in pod.annotations,
        eviction_in_progress=model.EVICTION_IN_PROGRESS in pod.annotations,
        finished=pod.finished,
    )


class SnapshotView(View):
    """A `ClusterView` on a snapshot. Pods alike share their traits."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__([_node(node) for node in snapshot.nodes], snapshot.taken_at.timestamp())
        self._snapshot = snapshot
        self._traits: dict[bytes, Traits] = {}
        self._pods: dict[str, list[PodView]] = {}
        for pod in snapshot.pods:
            if pod.node and not pod.finished:
                self._pods.setdefault(pod.node, []).append(self._pod(pod))
        self._sums: dict[str, tuple[Amounts, int]] = {}
        self._owned = Counter(owner.uid for pod in snapshot.pods for owner in pod.owners)
        self._namespaces = {n.name: n.labels for n in snapshot.namespaces}
        self._claims = {(c.namespace, c.name): c.storage_class for c in snapshot.claims}
        self._node_metrics = {m.name: amounts(m.usage, m.name) for m in snapshot.node_metrics}
        self._migrations = {
            pod.uid: tuple(_migrations(text))
            for pod in snapshot.pods
            if (text := pod.annotations.get(model.MIGRATIONS))
        }
        self._pod_metrics = {
            (m.namespace, m.name): [amounts(usage, m.name) for usage in m.containers]
            for m in snapshot.pod_metrics
        }

    def samples(self) -> Vector | QueryFailure:
        result = self._snapshot.query
        if result is None:
            return QueryFailure("unable to capture prometheus metrics: the snapshot has none")
        if result.error:
            return QueryFailure(f"unable to capture prometheus metrics: {result.error}")
        if result.result_type == "string":
            return QueryFailure(
                "unable to capture prometheus metrics: unmarshalerDecoder: "
                'unexpected value type "string"'
            )
        if result.result_type != "vector":
            return QueryFailure(
                f'expected query results to be of type "vector", got "{result.result_type}" instead'
            )
        instances = [sample.labels.get("instance") for sample in result.samples]
        return Vector(instances, np.array([float(s.value) for s in result.samples], np.float64))

    def pods_on(self, node: str) -> Sequence[PodView]:
        return self._pods.get(node, ())

    def requested_on(self, node: str) -> tuple[Amounts, int]:
        if node not in self._sums:
            self._sums[node] = super().requested_on(node)
        return self._sums[node]

    def node_metrics(self, node: str) -> Amounts | None:
        return self._node_metrics.get(node)

    def pod_metrics(self, pod: PodView) -> Sequence[Amounts] | None:
        return self._pod_metrics.get((pod.namespace, pod.name))

    def replicas(self, owner_uid: str) -> int:
        return self._owned[owner_uid]

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        return self._namespaces.get(namespace)

    def storage_class(self, namespace: str, claim: str) -> str | None:
        return self._claims.get((namespace, claim)) or None

    def migrations(self, pod: PodView) -> Sequence[Migrated]:
        return self._migrations.get(pod.uid, ())

    def _pod(self, pod: SnapshotPod) -> PlainPod:
        return PlainPod(
            uid=pod.uid,
            name=pod.name,
            namespace=pod.namespace,
            owner_uid=pod.owners[0].uid if len(pod.owners) == 1 else "",
            started=_seconds(pod.start_time),
            terminating=pod.terminating,
            traits=self._shared(pod),
        )

    def _shared(self, pod: SnapshotPod) -> Traits:
        # Of owners only kind and number matter here, of annotations only those with a rule.
        alike = msgspec.structs.replace(
            pod,
            namespace="",
            name="",
            uid="",
            node="",
            start_time=None,
            terminating=False,
            owners=tuple(model.Owner(owner.kind, "") for owner in pod.owners),
            annotations={k: v for k, v in pod.annotations.items() if k in model.ANNOTATIONS},
        )
        key = msgspec.json.encode(alike)
        if key not in self._traits:
            self._traits[key] = traits_of(pod)
        return self._traits[key]


def traits_of(pod: SnapshotPod) -> Traits:
    """Everything that the rules read of a pod besides its identity."""
    annotations = pod.annotations
    return Traits(
        priority=pod.priority,
        qos=qos_of(pod),
        evict=model.EVICT in annotations,
        prefer_no_eviction=model.PREFER_NO_EVICTION in annotations,
        request_evict_only=model.REQUEST_EVICT_ONLY in annotations,
        mirror=model.MIRROR in annotations,
        static=annotations.get(model.CONFIG_SOURCE, "api") != "api",
        owners=len(pod.owners),
        daemon_set=any(owner.kind == "DaemonSet" for owner in pod.owners),
        local_storage=any(v.kind in ("hostPath", "emptyDir") for v in pod.volumes),
        resource_claims=pod.resource_claims > 0,
        claims=tuple(v.claim for v in pod.volumes if v.kind == "persistentVolumeClaim"),
        labels=pod.labels,
        tolerations=pod.tolerations,
        node_selector=pod.node_selector,
        node_affinity=pod.node_affinity,
        anti_affinity=pod.anti_affinity,
        requests=requests_of(pod),
        requested=requested_names(pod),
    )


def _node(node: SnapshotNode) -> PlainNode:
    return PlainNode(
        name=node.name,
        labels=node.labels,
        taints=node.taints,
        unschedulable=node.unschedulable,
        ready=node.ready,
        allocatable=amounts(node.allocatable, f"node {node.name}: allocatable"),
        capacity=amounts(node.capacity, f"node {node.name}: capacity"),
    )


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _migrations(text: str) -> Iterator[Migrated]:
    """`BEGIN/END BEGIN/` in ISO 8601, the last one still under way; what is unreadable is none."""
    for interval in text.split():
        begun, _, ended = interval.partition("/")
        with suppress(ValueError):
            yield Migrated(
                datetime.fromisoformat(begun).timestamp(),
                datetime.fromisoformat(ended).timestamp() if ended else None,
            )
