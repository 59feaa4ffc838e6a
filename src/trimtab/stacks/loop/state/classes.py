"""Nodes as the descheduler would classify them now: its rules on Prometheus' own samples."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from trimtab.kube.resources import Node as ApiNode
from trimtab.policy import Class, Figures, Policy, QueryFailed, Vector, View, decide
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.view import Node
from trimtab.prom.client import Sample
from trimtab.virt.soft_taints import NodeClass


class Standing(Struct, frozen=True):
    """A node in the descheduler's eyes; `percent` is what it compares, already truncated."""

    percent: float
    kind: NodeClass


class Verdict(Struct, frozen=True, kw_only=True):
    """All nodes of one instant; with a `problem` the descheduler would do nothing at all."""

    nodes: dict[str, Standing] = {}
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
    """Nodes of the API with a vector of Prometheus; pods are not needed for classes."""

    def __init__(self, nodes: Sequence[ApiNode], answer: Vector | QueryFailed) -> None:
        super().__init__([_node(node) for node in nodes])
        self._answer = answer

    def samples(self) -> Vector | QueryFailed:
        return self._answer


def classify(
    nodes: Sequence[ApiNode], samples: Sequence[Sample] | QueryFailed, policy: Policy
) -> Verdict:
    """The first plugin's view; a NaN sample is a problem, since processors differ on it."""
    answer = samples if isinstance(samples, QueryFailed) else vector(samples)
    if isinstance(answer, Vector) and np.isnan(answer.values).any():
        return Verdict(problem="a sample is not a number")
    cycle = decide(LiveView(nodes, answer), policy)
    if cycle.skipped:
        return Verdict(problem=cycle.skipped.text)
    if not cycle.runs:
        return Verdict(problem="the policy enables no plugin that classifies nodes")
    run = cycle.runs[0]
    if run.error or run.figures is None:
        return Verdict(problem=run.error.text if run.error else "no figures")
    return _verdict(cycle.nodes, run.figures)


def vector(samples: Sequence[Sample]) -> Vector:
    instances = [sample.labels.get("instance") for sample in samples]
    return Vector(instances, np.array([sample.value for sample in samples], np.float64))


def _verdict(names: Sequence[str], figures: Figures) -> Verdict:
    resource = METRIC_RESOURCE if METRIC_RESOURCE in figures.percent else next(iter(figures.low))
    percents, average = figures.percent[resource], figures.average
    return Verdict(
        nodes={
            name: Standing(float(percents[at]), KINDS[Class(int(figures.classes[at]))])
            for at, name in enumerate(names)
        },
        average=None if average is None else average.get(resource),
        low=figures.low.get(resource),
        high=figures.high.get(resource),
    )


def _node(node: ApiNode) -> Node:
    ready = next((c.status for c in node.status.conditions if c.type == "Ready"), None)
    return Node(
        name=node.metadata.name,
        labels=node.metadata.labels,
        unschedulable=node.spec.unschedulable,
        ready=None if ready is None else ready == "True",
    )
