"""Clusters, pods and policies for the tests of `trimtab.policy`, each with sane defaults.

Percents are what the descheduler should read: `a_view([80, 10])` has samples in the middle
of those percents, so that truncation cannot surprise where it is not the subject.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.model.quantity import parse_quantity
from trimtab.model.snapshot import Snapshot
from trimtab.policy.cycle import Cycle
from trimtab.policy.decision import decide
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import (
    METRIC_RESOURCE,
    Evictor,
    HighNodeUtilization,
    LowNodeUtilization,
    Plugin,
    Policy,
    Profile,
    UsageSource,
)
from trimtab.policy.snapshot_view import SnapshotView, inflight_of, policy_of
from trimtab.policy.view import (
    Amounts,
    NodeView,
    PlainNode,
    PlainPod,
    PodView,
    QueryFailure,
    Traits,
    Vector,
    View,
)


def nano(**quantities: str | int) -> dict[str, int]:
    """`nano(cpu="500m", memory="1Gi")` in nano-units."""
    return {name: parse_quantity(text).nano for name, text in quantities.items()}


def a_node(
    name: str = "n1",
    *,
    labels: Mapping[str, str] | None = None,
    capacity: Mapping[str, str | int] | None = None,
    **fields: Any,
) -> PlainNode:
    """A node with 10 cores, 100 bytes of memory and room for 10 pods: easy percentages."""
    room = nano(**{"cpu": 10, "memory": 100, "pods": 10, **(capacity or {})})
    return PlainNode(name=name, labels=labels or {}, **{"allocatable": room, **fields})


def a_pod(
    name: str = "p1",
    *,
    namespace: str = "default",
    uid: str | None = None,
    owner_uid: str = "owner",
    started: float | None = 0.0,
    terminating: bool = False,
    **traits: Any,
) -> PlainPod:
    """A pod that passes the default filter; further arguments go to its traits."""
    return PlainPod(
        uid=f"uid-{namespace}-{name}" if uid is None else uid,
        name=name,
        namespace=namespace,
        owner_uid=owner_uid,
        started=started,
        terminating=terminating,
        traits=Traits(**traits),
    )


def some_pods(node: str, count: int = 3, **traits: Any) -> list[PlainPod]:
    """Pods alike."""
    return [a_pod(f"{node}-{number}", **traits) for number in range(count)]


class AView(View):
    """A cluster in a few dictionaries."""

    def __init__(
        self,
        nodes: Sequence[NodeView],
        *,
        vector: Vector | QueryFailure,
        pods: Mapping[str, Sequence[PodView]],
        now: float,
        facts: Mapping[str, Any],
    ) -> None:
        super().__init__(nodes, now)
        self._vector, self._pods, self._facts = vector, pods, facts
        self.visited: list[str] = []

    def samples(self) -> Vector | QueryFailure:
        return self._vector

    def pods_on(self, node: str) -> Sequence[PodView]:
        self.visited.append(node)
        return self._pods.get(node, ())

    def replicas(self, owner_uid: str) -> int:
        return int(self._facts.get("replicas", {}).get(owner_uid, 0))

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        labels: Mapping[str, str] | None = self._facts.get("namespaces", {}).get(namespace)
        return labels

    def storage_class(self, namespace: str, claim: str) -> str | None:
        found: str | None = self._facts.get("storage_classes", {}).get(f"{namespace}/{claim}")
        return found

    def node_metrics(self, node: str) -> Amounts | None:
        found: Amounts | None = self._facts.get("node_metrics", {}).get(node)
        return found

    def pod_metrics(self, pod: PodView) -> Sequence[Amounts] | None:
        found: Sequence[Amounts] | None = self._facts.get("pod_metrics", {}).get(pod.name)
        return found


def a_view(
    percent: Sequence[float] = (80, 10),
    *,
    pods: Mapping[str, Sequence[PodView]] | None = None,
    nodes: Sequence[NodeView] | None = None,
    samples: Sequence[tuple[str | None, float]] | None = None,
    failed: str | None = None,
    now: float = 1_000_000.0,
    **facts: Any,
) -> AView:
    """Nodes n0, n1, … with these percents, and three pods on each unless told otherwise."""
    given = nodes if nodes is not None else [a_node(f"n{at}") for at in range(len(percent))]
    if samples is None:
        samples = [(node.name, (p + 0.5) / 100) for node, p in zip(given, percent, strict=True)]
    vector: Vector | QueryFailure = Vector(
        [instance for instance, _ in samples], np.array([v for _, v in samples], dtype=np.float64)
    )
    if failed is not None:
        vector = QueryFailure(failed)
    if pods is None:
        pods = {node.name: some_pods(node.name) for node in given}
    return AView(given, vector=vector, pods=pods, now=now, facts=facts)


def a_policy(
    low: float = 0,
    high: float = 10,
    *,
    deviation: bool = True,
    evictor: Evictor | None = None,
    plugin: Plugin | None = None,
    policy: Mapping[str, Any] | None = None,
    **args: Any,
) -> Policy:
    """One profile with one plugin: LowNodeUtilization on a Prometheus query unless given."""
    chosen = plugin or LowNodeUtilization(
        low={METRIC_RESOURCE: low},
        high={METRIC_RESOURCE: high},
        deviation=deviation,
        source=UsageSource.PROMETHEUS,
        thresholds_only=True,
        **args,
    )
    name = type(chosen).__name__
    profile = Profile(name="test", evictor=evictor or Evictor(), plugins=((name, chosen),))
    return Policy(profiles=(profile,), **(policy or {}))


def a_low(low: Mapping[str, float], high: Mapping[str, float], **args: Any) -> LowNodeUtilization:
    """LowNodeUtilization on requests."""
    return LowNodeUtilization(low=low, high=high, **args)


def a_high(low: Mapping[str, float], **args: Any) -> HighNodeUtilization:
    """HighNodeUtilization."""
    return HighNodeUtilization(low=low, **args)


def default_policy() -> Policy:
    """What trimtab runs unless told otherwise."""
    return read_policy(DEFAULT_POLICY)


def decide_snapshot(snapshot: Snapshot) -> Cycle:
    """The cycle that the descheduler would run on this cluster with this policy."""
    return decide(
        SnapshotView(snapshot),
        policy_of(snapshot),
        inflight_of(snapshot),
        background=snapshot.evictions_in_background,
    )
