"""Each node of an explanation: its class, how far it is from the others, and what became of it.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct

from trimtab.model.snapshot import QueryResult, Snapshot
from trimtab.policy.cycle import Class, Cycle, CycleFigures, PluginRun
from trimtab.policy.file.settings import LowNodeUtilization, Plugin, UsageSource
from trimtab.truth.explain.changes.trial import Trial
from trimtab.truth.explain.outcome_texts import STOPS, class_name

_ADDRESS = re.compile(r".+:\d+")


class Distance(Struct, frozen=True, rename="camel"):
    """One resource of one node: usage in percent, and points above each threshold."""

    usage: int
    percent: float | None
    low: float
    high: float
    above_low: float
    above_high: float


class NodeExplained(Struct, frozen=True, kw_only=True, rename="camel"):
    """One node in one run."""

    name: str
    node_class: str
    """over, under, appropriate; not selected, not ready; unknown where the plugin failed."""
    note: str = ""
    possible: tuple[str, ...] = ()
    """More than one where the last bit of the mean decides (T5)."""
    distances: Mapping[str, Distance] = {}
    stop_rule: str = ""
    stop: str = ""

    @property
    def above_high(self) -> float:
        """Points above the high threshold of the resource that is closest to it."""
        return max((d.above_high for d in self.distances.values()), default=-math.inf)

    @property
    def above_low(self) -> float:
        return max((d.above_low for d in self.distances.values()), default=math.inf)


def explain_nodes(
    trial: Trial, cycle: Cycle, run: PluginRun, plugin: Plugin
) -> tuple[NodeExplained, ...]:
    """Selected nodes in the order of usage, then the others with the reason."""
    cordoned = {node.name for node in trial.view.nodes if node.unschedulable}
    selected = [
        _selected(trial.snapshot, at, name, run, plugin, cordoned)
        for at, name in enumerate(cycle.nodes)
    ]
    selected.sort(key=lambda node: (-node.above_high, node.name))
    return (*selected, *_left_out(trial, set(cycle.nodes)))


def _left_out(trial: Trial, selected: set[str]) -> Iterator[NodeExplained]:
    policy = trial.policy
    for node in trial.view.nodes:
        if node.name in selected:
            continue
        if not policy.node_selector.matches(node.labels):
            note = f"the policy's nodeSelector {policy.node_selector.text} does not match (R3)"
            yield NodeExplained(name=node.name, node_class="not selected", note=note)
        else:
            note = "its Ready condition is not True (R3)"
            yield NodeExplained(name=node.name, node_class="not ready", note=note)


def _selected(
    snapshot: Snapshot, at: int, name: str, run: PluginRun, plugin: Plugin, cordoned: set[str]
) -> NodeExplained:
    if run.figures is None:
        return NodeExplained(
            name=name, node_class="unknown", note=_usage_note(snapshot, plugin, name)
        )
    figures = run.figures
    visit = next((visit for visit in run.visits if visit.node == name), None)
    possible = figures.doubtful.get(at, frozenset())
    return NodeExplained(
        name=name,
        node_class=class_name(Class(figures.classes[at]), plugin),
        note="it is cordoned: it may be over, never under (C4)" if name in cordoned else "",
        possible=tuple(sorted(class_name(each, plugin) for each in possible)),
        distances={r: _distance(figures, r, at) for r in figures.low},
        stop_rule=visit.stop.value if visit else "",
        stop=STOPS[visit.stop] if visit else "",
    )


def _distance(figures: CycleFigures, resource: str, at: int) -> Distance:
    percent = float(figures.percent[resource][at])
    read = 0.0 if np.isnan(percent) else percent
    low, high = figures.low[resource], figures.high[resource]
    return Distance(
        usage=int(figures.usage[resource][at]),
        percent=None if np.isnan(percent) else percent,
        low=low,
        high=high,
        above_low=read - low,
        above_high=read - high,
    )


def _usage_note(snapshot: Snapshot, plugin: Plugin, node: str) -> str:
    """Why the node's usage is unknown, as far as that is the node's own fault."""
    if isinstance(plugin, LowNodeUtilization) and plugin.source is UsageSource.METRICS_SERVER:
        known = {metrics.name for metrics in snapshot.node_metrics}
        return "" if node in known else "the metrics server tells nothing of it (P7)"
    return sample_note(snapshot, node)


def sample_note(snapshot: Snapshot, node: str) -> str:
    """What is wrong with the node's own sample, if anything is (P3–P8)."""
    if snapshot.query is None or snapshot.query.error or snapshot.query.result_type != "vector":
        return ""
    values = [s.value for s in snapshot.query.samples if s.labels.get("instance") == node]
    if not values:
        if near := _nearly(snapshot, node):
            return f"no sample (P7): instance is {near}, which is not the node's name"
        if address := address_instead_of_node(snapshot.query, (n.name for n in snapshot.nodes)):
            return f"no sample (P7): instance is an address, as {address}, not a node's name"
        return "no sample (P7)"
    value = float(values[-1])
    if math.isnan(value):
        return "its sample is NaN (P8)"
    return f"its sample {values[-1]} is outside [0, 1] (P4)" if not 0 <= value <= 1 else ""


def address_instead_of_node(query: QueryResult, nodes: Iterable[str]) -> str:
    """One of the instances if all of them are HOST:PORT and none of them is a node."""
    instances = {s.labels.get("instance", "") for s in query.samples}
    if instances and all(map(_ADDRESS.fullmatch, instances)) and instances.isdisjoint(nodes):
        return min(instances)
    return ""


def _nearly(snapshot: Snapshot, node: str) -> str:
    """An instance that only adds a port or a domain to the node's name."""
    assert snapshot.query is not None
    instances = (s.labels.get("instance", "") for s in snapshot.query.samples)
    return next((i for i in instances if i.startswith((f"{node}:", f"{node}."))), "")
