"""Which rules a cycle touched: where the rule decided something, not merely where it was asked."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from conformance.descheduler.judge.compare import Judgement
from conformance.descheduler.recording import Recording
from conformance.descheduler.stubs import Reply
from trimtab.model.snapshot import EVICT, REQUEST_EVICT_ONLY
from trimtab.policy.cycle import Class, CycleFigures, PluginRun, PodOutcome, Visit, VisitEnd
from trimtab.policy.file.settings import (
    HighNodeUtilization,
    LowNodeUtilization,
    Plugin,
    Profile,
    UsageSource,
)
from trimtab.policy.inflight import InFlight, PodEvent
from trimtab.policy.pods.filters import Filter
from trimtab.policy.pods.fit import PreEviction
from trimtab.policy.snapshot_view import SnapshotView, policy_of

_ODD_PERCENTS = {7, 14, 28, 29, 55, 56, 57, 58}
_BASIC = {"cpu", "memory", "pods", "MetricResource"}


def coverage(judged: Sequence[tuple[Recording, Judgement]]) -> Counter[str]:
    """In how many cycles each rule decided something; fates of evictions are counted one by one."""
    counted: Counter[str] = Counter()
    last: dict[int, Recording] = {}
    for recording, judgement in judged:
        counted.update(set(_touched(recording, judgement)))
        last[recording.session] = recording
    for recording in last.values():
        counted.update(f"2.4.{fate}" for fate in _fates_of(recording))
    return counted


def evicts(judgement: Judgement) -> bool:
    return bool(judgement.cycle.evictions)


def _touched(recording: Recording, judgement: Judgement) -> Iterator[str]:
    cycle, snapshot = judgement.cycle, recording.snapshot
    if any(n.ready is False and n.labels.get("pool") == "main" for n in snapshot.nodes):
        yield "R3"
    if cycle.skipped:
        yield "R4"
    policy, view = policy_of(snapshot), SnapshotView(snapshot)
    plugins = [(profile, plugin) for profile in policy.profiles for _, plugin in profile.plugins]
    for run, (profile, plugin) in zip(cycle.runs, plugins, strict=False):
        if run.error is not None:
            yield from ("R5", run.error.rule)
            if run.error.rule == "P4" and run.error.text.count("Inf"):
                yield "P9"
        if run.exit is not None:
            yield run.exit.rule
        if run.figures is not None:
            yield from _usage(recording, plugin)
            yield from _figures(run.figures, plugin, view, cycle.nodes)
            yield from _over_hundred(run)
        yield from _evictions(recording, run, plugin, profile, view)


def _over_hundred(run: PluginRun) -> Iterator[str]:
    """Only around the mean: as a level it is what the policy says."""
    if run.figures is None or run.figures.average is None or run.exit is None:
        return
    if run.exit.rule == "1.5.4" and set(run.figures.high.values()) == {100.0}:
        yield "C5"


def _usage(recording: Recording, plugin: Plugin) -> Iterator[str]:
    if not isinstance(plugin, LowNodeUtilization) or plugin.source is not UsageSource.PROMETHEUS:
        yield "T2"  # every node has less to allocate than it has
        return
    yield "P1"
    query = recording.snapshot.query
    values = [float(sample.value) for sample in query.samples] if query else []
    instances = [s.labels.get("instance") for s in query.samples] if query else []
    if any(np.isnan(value) for value in values):
        yield "P8"
    elif any(value * 100 != int(value * 100) for value in values):
        yield "P5"
    if len(instances) != len(set(instances)):
        yield "P6"


def _figures(
    figures: CycleFigures, plugin: Plugin, view: SnapshotView, nodes: tuple[str, ...]
) -> Iterator[str]:
    yield "C1"
    percents = figures.usage.get("MetricResource")
    if percents is not None and _ODD_PERCENTS & set(percents.tolist()):
        yield "T1"
    if figures.average is None:
        yield "T3"
    else:
        yield "T4"
        if any(low == 0 and figures.average[r] < plugin.low[r] for r, low in figures.low.items()):
            yield "T4.low"
        if any(
            h == 100 and figures.average[r] + plugin.high[r] > 100 for r, h in figures.high.items()
        ):
            yield "T4.high"
    if figures.doubtful:
        yield "T5"
    yield from _classes(figures, view, nodes)
    capacities = {node.name: node.allocatable for node in view.nodes}
    if any(r not in _BASIC and r not in capacities[n] for r in plugin.low for n in nodes):
        yield "C6"


def _classes(figures: CycleFigures, view: SnapshotView, nodes: tuple[str, ...]) -> Iterator[str]:
    cordoned = {node.name for node in view.nodes if node.unschedulable}
    by_node = dict(zip(nodes, figures.classes.tolist(), strict=True))
    if Class.UNDER in by_node.values():
        yield "C2"
    if Class.OVER in by_node.values():
        yield "C3"
    for resource, values in figures.percent.items():
        if resource in figures.low and len(figures.low) == 1:
            if np.any((values == figures.low[resource]) & (figures.classes == Class.UNDER)):
                yield "C2.at"
            if np.any((values == figures.high[resource]) & (figures.classes == 0)):
                yield "C3.at"
            low = values <= figures.low[resource]
            if any(low[at] and node in cordoned for at, node in enumerate(nodes)):
                yield "C4"


def _evictions(
    recording: Recording, run: PluginRun, plugin: Plugin, profile: Profile, view: SnapshotView
) -> Iterator[str]:
    if not run.visits:
        return
    yield "E1"
    if isinstance(plugin, HighNodeUtilization):
        yield "1.7"
    if len(run.sources) > 1:
        yield "E2"
    if any(len(group) > 1 for group in run.sources):
        yield "E2.tie"
    if len(run.destinations) > 1:
        yield "E3"
    unmeasured = isinstance(plugin, LowNodeUtilization) and plugin.source is UsageSource.PROMETHEUS
    if not unmeasured and sum(any(s.outcome.is_eviction for s in v.steps) for v in run.visits) > 1:
        yield "E9"
    for visit in run.visits:
        yield from _visit(recording, visit, unmeasured)
        yield from _filtered(visit, profile, plugin, view)


_STOPS = {
    VisitEnd.NO_CANDIDATES: "E4",
    VisitEnd.NOT_ABOVE_CAP: "E6.usage",
    VisitEnd.NO_HEADROOM: "E6.headroom",
    VisitEnd.PLUGIN_LIMIT: "E7a",
    VisitEnd.NODE_LIMIT: "E7e.node",
    VisitEnd.TOTAL_LIMIT: "E7e.total",
    VisitEnd.ONE_POD: "E7f",
    VisitEnd.LEVELLED: "E7h",
}


def _visit(recording: Recording, visit: Visit, unmeasured: bool) -> Iterator[str]:
    if visit.stop in _STOPS:
        yield _STOPS[visit.stop]
    if len(visit.candidates) > 1:
        yield "E5"
    if any(len(equals) > 1 for equals in visit.candidates):
        yield "E5.tie"
    outcomes = [step.outcome for step in visit.steps]
    if unmeasured and sum(outcome.is_eviction for outcome in outcomes) > 1:
        yield "E7g"
    limits = {PodOutcome.TOTAL_LIMIT, PodOutcome.NODE_LIMIT, PodOutcome.NAMESPACE_LIMIT}
    if limits & set(outcomes) and recording.snapshot.in_flight:
        yield "2.3.inflight"
    yield from (o.value for o in outcomes if o is not PodOutcome.PRE_EVICTION_FILTER)
    for step in visit.steps:
        if step.outcome is PodOutcome.REFUSED:
            yield from _refusal(recording, step.pod.namespace, step.pod.name)


def _refusal(recording: Recording, namespace: str, name: str) -> Iterator[str]:
    reply = recording.replies[f"{namespace}/{name}"]
    if reply is Reply.BUDGET:
        yield "2.4.budget"
    if reply is Reply.FORBID:
        yield "2.4.forbidden"
    if reply is Reply.EVACUATE:
        pods = recording.snapshot.pods
        pod = next(p for p in pods if (p.namespace, p.name) == (namespace, name))
        yield "2.4.gate" if REQUEST_EVICT_ONLY in pod.annotations else "2.4.unasked"


def _filtered(visit: Visit, profile: Profile, plugin: Plugin, view: SnapshotView) -> Iterator[str]:
    passed, fit = Filter(profile.evictor, view), PreEviction(profile.evictor, view)
    candidates = {pod.uid for equals in visit.candidates for pod in equals}
    for pod in view.pods_on(visit.node):
        yield from (reason.rule for reason in passed.refusals(pod))
        if pod.traits.evict and (
            pod.terminating
            or pod.traits.owners == 0
            or pod.traits.mirror
            or (pod.traits.priority or 0) >= 2_000_000_000
        ):
            yield "2.1.1"
        if passed.passes(pod) and pod.uid not in candidates:
            yield "1.7.modes"
    for step in visit.steps:
        if step.outcome is PodOutcome.PRE_EVICTION_FILTER:
            refusal = fit.refusal(step.pod, visit.node)
            yield refusal.rule if refusal else "2.2"
    finished = [p for p in view._snapshot.pods if p.node == visit.node and p.finished]
    if finished and any(EVICT not in p.annotations for p in finished):
        yield "P10"


def _fates_of(recording: Recording) -> Iterator[str]:
    """How evictions in background went on, as the in-flight cache heard of it (2.4).

    One word for each thing that happened to an entry since the process began.
    """
    known, assumed_any = InFlight(), False
    for told in recording.history:
        if told.assumed is not None:
            one = told.assumed
            known = known.assume(one.uid, one.node, one.namespace, one.time)
            assumed_any = True
        if told.event is not None:
            after = known.observe(told.event)
            yield from _fate(known, after, told.event, assumed_any)
            known = after


def _fate(before: InFlight, after: InFlight, event: PodEvent, later: bool) -> Iterator[str]:
    uid, pod = event.pod.uid, event.pod
    if uid in after and uid not in before:
        yield "detected" if event.kind == "updated" or later else "recovered"
    if uid in before and uid in after and not pod.eviction_in_progress:
        yield "kept"
    if uid in before and uid not in after:
        if event.kind == "deleted":
            yield "deleted"
        elif not pod.request_evict_only:
            yield "withdrawn"
        else:
            yield "finished" if pod.finished else "cancelled"
