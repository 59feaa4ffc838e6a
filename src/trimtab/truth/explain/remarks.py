"""The sentences right under a verdict: what users take for something else most often.

Each answers a complaint that the descheduler's maintainers met again and again: that usage is
the sum of requests, that the query gives nothing, that the scheduler and not the descheduler
chooses where a pod goes next, and that some pods are evicted wherever they land.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from trimtab.model.snapshot import REQUEST_EVICT_ONLY, Snapshot
from trimtab.policy.cycle import Cycle, Eviction, PluginRun
from trimtab.policy.file.settings import LowNodeUtilization, Policy, UsageSource
from trimtab.policy.pods.fit import misfit
from trimtab.policy.snapshot_view import inflight_of
from trimtab.policy.usage import capacity_of, shown
from trimtab.policy.view import NodeView, PodView
from trimtab.truth.explain.changes.trial import Trial
from trimtab.truth.explain.outcome_texts import EVACUATING, listed
from trimtab.truth.lint.catalogue import CATALOGUE
from trimtab.truth.lint.catalogue_vms import ABOUT_VMS, MIGRATIONS_WAIT, VM_MOVED_BY_OTHERS
from trimtab.truth.lint.finding import LintFinding

# Evictions in flight that a look from outside can and cannot see (2.4).
#
# A pod that carries `eviction-in-progress` is known to be in flight. The descheduler also counts
# pods whose eviction it has only just asked for, or whose mark went away without the pod: those
# live in its memory for up to 20 minutes. How many they may be is bounded by its limits.


class InFlightReport(Struct, frozen=True, rename="camel"):
    """What is known, what is likely, and how much more there may be."""

    known: int
    marked: int
    """VMs that are marked to leave, but whose pod does not say so yet."""
    further_at_most: int
    """Unseen entries, no matter who asked for the known ones."""
    further_at_most_alone: int
    """The same if only the descheduler evicts."""


def in_flight_report(snapshot: Snapshot, policy: Policy) -> InFlightReport:
    """Count and bound. Without the feature gate nothing is ever in flight."""
    if not snapshot.evictions_in_background:
        return InFlightReport(0, 0, 0, 0)
    known = inflight_of(snapshot)
    unseen = [
        pod
        for pod in snapshot.pods
        if pod.node
        and not pod.finished
        and pod.uid not in known
        and REQUEST_EVICT_ONLY in pod.annotations
    ]
    nodes, namespaces = Counter(p.node for p in unseen), Counter(p.namespace for p in unseen)
    return InFlightReport(
        known=known.total,
        marked=sum(EVACUATING in pod.annotations for pod in unseen),
        further_at_most=min(
            _within(nodes, policy.max_per_node),
            _within(namespaces, policy.max_per_namespace),
            _left(policy.max_total, 0, len(unseen)),
        ),
        further_at_most_alone=min(
            _within(nodes, policy.max_per_node, known.per_node),
            _within(namespaces, policy.max_per_namespace, known.per_namespace),
            _left(policy.max_total, known.total, len(unseen)),
        ),
    )


def _within(
    counts: Mapping[str, int], limit: int | None, known: Mapping[str, int] | None = None
) -> int:
    taken = known or {}
    return sum(_left(limit, taken.get(key, 0), count) for key, count in counts.items())


def _left(limit: int | None, taken: int, count: int) -> int:
    return count if limit is None else min(count, max(0, limit - taken))


ABOUT_SAMPLES = {
    "query-failed",
    "query-no-samples",
    "query-no-instance",
    "query-out-of-range",
    "query-nan",
    "query-unknown-record",
    "instance-not-node",
    "node-no-sample",
}
"""Findings of lint that are the cause where a plugin failed for want of usage."""
EVEN_AS_NOTE = {MIGRATIONS_WAIT.id, VM_MOVED_BY_OTHERS.id}
"""No faults, and yet the reason why evictions lead nowhere for the moment."""


def remarks(trial: Trial, cycle: Cycle, findings: Sequence[LintFinding]) -> Iterator[str]:
    """In the order of weight: the first two stand under the verdict, before all tables."""
    if any(run.error for run in cycle.runs):
        titles = {rule.id: rule.title for rule in CATALOGUE}
        for found in findings:
            if found.id in ABOUT_SAMPLES:
                yield f"{titles[found.id]}: {found.message}. {found.fix}"
    yield from _about_requests(trial)
    yield from _about_vms(findings)
    yield from _about_places(trial, cycle)
    yield from _about_chance(cycle)


def _about_requests(trial: Trial) -> Iterator[str]:
    plugins = [plugin for profile in trial.policy.profiles for _, plugin in profile.plugins]
    if any(isinstance(p, LowNodeUtilization) and p.source is UsageSource.REQUESTS for p in plugins):
        yield (
            "Usage is the sum of the pods' requests, not what they really use: the policy has no "
            "metricsUtilization, so `kubectl top` shows other numbers."
        )


def _about_vms(findings: Sequence[LintFinding]) -> Iterator[str]:
    """What KubeVirt does with an eviction, or instead of it; plain notes stay with lint."""
    titles = {rule.id: rule.title for rule in ABOUT_VMS}
    for found in findings:
        if found.id in titles and (found.severity != "note" or found.id in EVEN_AS_NOTE):
            yield f"{titles[found.id]}: {found.message}. {found.fix}"


def _about_places(trial: Trial, cycle: Cycle) -> Iterator[str]:
    """Evictions that come back. A VM that migrates never lands where it was."""
    nodes = {node.name: node for node in trial.view.nodes}
    recreated = [(run, e) for run in cycle.runs for e in run.evictions if not e.background]
    stuck = [e.pod.name for _, e in recreated if not _fits_elsewhere(e, nodes, trial)]
    large = [
        e.pod.name
        for run, e in recreated
        if e.pod.name not in stuck and _overloads_all(run, e.pod, cycle, nodes)
    ]
    if stuck:
        yield (
            f"No other node can take {listed(stuck)}: the scheduler puts it back where it was, and "
            "it is evicted again. nodeFit would keep it."
        )
    if large:
        yield (
            f"{listed(large)} brings every destination above its high threshold: it is evicted "
            "again wherever it lands. Protect it, or raise targetThresholds."
        )
    if recreated and not stuck and not large:
        yield (
            "The descheduler does not choose where an evicted pod goes: the scheduler does, and "
            "may take the same node again."
        )


def _fits_elsewhere(eviction: Eviction, nodes: dict[str, NodeView], trial: Trial) -> bool:
    return any(
        node.name != eviction.node and misfit(eviction.pod, node, trial.view) is None
        for node in nodes.values()
        if node.ready is not False
    )


def _overloads_all(run: PluginRun, pod: PodView, cycle: Cycle, nodes: dict[str, NodeView]) -> bool:
    """Only with a usage that pods have: a query does not say what a pod adds."""
    figures = run.figures
    if figures is None or not run.destinations:
        return False
    return all(
        any(
            resource in figures.usage
            and int(figures.usage[resource][at]) + shown(resource, pod.traits.requests[resource])
            > figures.high[resource] / 100 * shown(resource, capacity)
            for resource, capacity in capacity_of(nodes[cycle.nodes[at]]).items()
            if resource in figures.high and resource in pod.traits.requests
        )
        for at in run.destinations
    )


def _about_chance(cycle: Cycle) -> Iterator[str]:
    for run in cycle.runs:
        for visit in run.visits:
            gone = {step.pod.uid for step in visit.steps if step.outcome.is_eviction}
            for equals in visit.candidates:
                taken = sum(pod.uid in gone for pod in equals)
                if 0 < taken < len(equals):
                    yield (
                        f"Which {taken} of {len(equals)} equal pods of {visit.node} go is chance: "
                        "the names below are one draw."
                    )
                    return
