"""A live cluster as the policy sees it, and how the descheduler would classify its nodes now.

The rules are those of `trimtab.policy`, on samples that Prometheus gives. Whoever looks at a
live cluster without keeping a snapshot of it looks through `LiveView`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from trimtab.kube.resources import Node as ApiNode
from trimtab.policy.cycle import Class, CycleFigures
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import METRIC_RESOURCE, Policy
from trimtab.policy.view import PlainNode, PodView, QueryFailure, Vector, View
from trimtab.prom.client import Sample
from trimtab.virt.soft_taints import NodeClass


class ClassifiedNode(Struct, frozen=True):
    """A node as the descheduler classifies it; `percent` is what it compares, truncated."""

    percent: float
    kind: NodeClass


class Classification(Struct, frozen=True, kw_only=True):
    """All nodes of one instant; with a `problem` the descheduler would do nothing at all."""

    nodes: dict[str, ClassifiedNode] = {}
    average: float | None = None
    low: float | None = None
    high: float | None = None
    problem: str = ""


KINDS: dict[Class, NodeClass] = {
    Class.UNDER: "under",
    Class.APPROPRIATE: "appropriate",
    Class.OVER: "over",
}


class LiveView(View):
    """Nodes with the answer of Prometheus; classes need no pods, evictions do."""

    def __init__(
        self,
        nodes: Sequence[PlainNode],
        answer: Vector | QueryFailure,
        pods: Mapping[str, Sequence[PodView]] | None = None,
    ) -> None:
        super().__init__(nodes)
        self._answer, self._pods = answer, pods or {}

    def samples(self) -> Vector | QueryFailure:
        return self._answer

    def pods_on(self, node: str) -> Sequence[PodView]:
        return self._pods.get(node, ())

    def replicas(self, owner_uid: str) -> int:
        return 1  # every VM has one active pod


def classify(
    nodes: Sequence[ApiNode], samples: Sequence[Sample] | QueryFailure, policy: Policy
) -> Classification:
    """The first plugin's view; a NaN sample is a problem, since processors differ on it."""
    answer = samples if isinstance(samples, QueryFailure) else vector(samples)
    if isinstance(answer, Vector) and np.isnan(answer.values).any():
        return Classification(problem="a sample is not a number")
    cycle = decide(LiveView([_node(node) for node in nodes], answer), policy)
    if cycle.skipped:
        return Classification(problem=cycle.skipped.text)
    if not cycle.runs:
        return Classification(problem="the policy enables no plugin that classifies nodes")
    run = cycle.runs[0]
    if run.error or run.figures is None:
        return Classification(problem=run.error.text if run.error else "no figures")
    return _classification(cycle.nodes, run.figures)


def vector(samples: Sequence[Sample]) -> Vector:
    instances = [sample.labels.get("instance") for sample in samples]
    return Vector(instances, np.array([sample.value for sample in samples], np.float64))


def _classification(names: Sequence[str], figures: CycleFigures) -> Classification:
    resource = METRIC_RESOURCE if METRIC_RESOURCE in figures.percent else next(iter(figures.low))
    percents, average = figures.percent[resource], figures.average
    return Classification(
        nodes={
            name: ClassifiedNode(float(percents[at]), KINDS[Class(int(figures.classes[at]))])
            for at, name in enumerate(names)
        },
        average=None if average is None else average.get(resource),
        low=figures.low.get(resource),
        high=figures.high.get(resource),
    )


def _node(node: ApiNode) -> PlainNode:
    ready = next((c.status for c in node.status.conditions if c.type == "Ready"), None)
    return PlainNode(
        name=node.metadata.name,
        labels=node.metadata.labels,
        unschedulable=node.spec.unschedulable,
        ready=None if ready is None else ready == "True",
    )
