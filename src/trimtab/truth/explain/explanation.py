"""Why a cycle did what it did, or nothing: the whole story of one snapshot.

Nothing here decides anything: the cycle is decided by `decide`, and this puts its parts into
words. What would have led to an eviction is found by `explain.changes`, by trying.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from trimtab.model.snapshot import Snapshot
from trimtab.policy.cycle import Cycle, PluginRun, PodOutcome, Reason, Visit
from trimtab.policy.file.settings import LowNodeUtilization, Plugin, Policy
from trimtab.truth.explain.changes.change import SnapshotChange
from trimtab.truth.explain.changes.smallest import Found, find_changes
from trimtab.truth.explain.changes.trial import Trial, read_trial
from trimtab.truth.explain.nodes import NodeExplained, explain_nodes
from trimtab.truth.explain.outcome_texts import LIMITS, OUTCOMES, STOPS, listed
from trimtab.truth.explain.pods import PodExplained, explain_pods
from trimtab.truth.explain.remarks import InFlightReport, in_flight_report, remarks
from trimtab.truth.lint import DeschedulerProgram, Facts, LintFinding, lint


class EvictionExplained(Struct, frozen=True, rename="camel"):
    """A pod that goes, and why this one."""

    namespace: str
    name: str
    node: str
    background: bool
    why: str


class RunExplained(Struct, frozen=True, kw_only=True, rename="camel"):
    """One plugin of one profile."""

    profile: str
    plugin: str
    verdict: str
    error: Reason | None = None
    exit: Reason | None = None
    average: dict[str, float] = {}
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    headroom: dict[str, int] = {}
    evictions: tuple[EvictionExplained, ...] = ()
    nodes: tuple[NodeExplained, ...] = ()
    pods: tuple[PodExplained, ...] = ()


class Explanation(Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything about one cycle."""

    taken_at: datetime
    verdict: str
    remarks: tuple[str, ...] = ()
    """What people take for something else most often, the weightiest first."""
    skipped: Reason | None = None
    evictions: int = 0
    runs: tuple[RunExplained, ...] = ()
    in_flight: InFlightReport
    notes: tuple[str, ...] = ()
    changes: tuple[SnapshotChange, ...] = ()
    """Single changes that would have led to an eviction, the smallest first."""
    findings: tuple[LintFinding, ...] = ()
    """What `lint` says of the same snapshot."""


class Explained(Struct, frozen=True):
    """The explanation, and the snapshots that its changes lead to."""

    explanation: Explanation
    found: tuple[Found, ...] = ()


def explain(snapshot: Snapshot, *, search: bool = True) -> Explained:
    """Decide the snapshot's cycle and say why; look for changes if nothing was evicted."""
    trial = read_trial(snapshot)
    policy = trial.policy
    cycle = trial.cycle()
    runs = tuple(_runs(trial, cycle))
    findings = lint(_facts(snapshot))
    found = find_changes(trial) if search and not cycle.evictions else ()
    explanation = Explanation(
        taken_at=snapshot.taken_at,
        verdict=_verdict(policy, cycle, runs),
        remarks=tuple(remarks(trial, cycle, findings)),
        skipped=cycle.skipped,
        evictions=len(cycle.evictions),
        runs=runs,
        in_flight=in_flight_report(snapshot, policy),
        notes=tuple(_notes(policy, runs)),
        changes=tuple(each.change for each in found),
        findings=findings,
    )
    return Explained(explanation, found)


def _facts(snapshot: Snapshot) -> Facts:
    program = DeschedulerProgram(
        version=snapshot.versions.get("descheduler", ""),
        in_background=snapshot.evictions_in_background,
        openshift={"openshift": True, "upstream": False}.get(
            snapshot.versions.get("descheduler-build", "")
        ),
    )
    return Facts(policy=snapshot.policy, query=snapshot.query, cluster=snapshot, program=program)


def _runs(trial: Trial, cycle: Cycle) -> Iterator[RunExplained]:
    plugins = (
        (profile, plugin) for profile in trial.policy.profiles for _, plugin in profile.plugins
    )
    for (profile, plugin), run in zip(plugins, cycle.runs, strict=False):
        figures = run.figures
        pods = explain_pods(trial, cycle, run, profile, plugin)
        yield RunExplained(
            profile=run.profile,
            plugin=run.plugin,
            verdict=_run_verdict(run, pods),
            error=run.error,
            exit=run.exit,
            average=dict((figures and figures.average) or {}),
            low=dict(figures.low) if figures else {},
            high=dict(figures.high) if figures else {},
            headroom=dict(run.headroom),
            evictions=tuple(_evictions(run, plugin)),
            nodes=explain_nodes(trial, cycle, run, plugin),
            pods=pods,
        )


def _verdict(policy: Policy, cycle: Cycle, runs: tuple[RunExplained, ...]) -> str:
    if policy.unversioned:
        return (
            "Nothing would be evicted: the policy has no apiVersion, so the descheduler reads it "
            "as an empty one. Start it with apiVersion: descheduler/v1alpha2."
        )
    if cycle.skipped is not None:
        return f"Nothing would be evicted ({cycle.skipped.rule}): {cycle.skipped.text}."
    if not runs:
        return "Nothing would be evicted: the policy enables no plugin that balances nodes."
    if cycle.evictions:
        count = len(cycle.evictions)
        return f"{count} {'pod' if count == 1 else 'pods'} would be evicted."
    return (
        "Nothing would be evicted: " + "; ".join(dict.fromkeys(run.verdict for run in runs)) + "."
    )


def _run_verdict(run: PluginRun, pods: tuple[PodExplained, ...]) -> str:
    if run.error is not None:
        return f"{run.plugin} failed ({run.error.rule}): {run.error.text}"
    if run.exit is not None:
        return f"{run.plugin} had nothing to do ({run.exit.rule}): {run.exit.text}"
    evicted = sum(1 for _ in run.evictions)
    stops = dict.fromkeys(visit.stop for visit in run.visits)
    if evicted:
        limits = [stop for stop in stops if stop in LIMITS]
        why = f"; {STOPS[limits[0]]} ({limits[0].value})" if limits else ""
        return f"{run.plugin} would evict {evicted}{why}"
    return f"{run.plugin} found no pod to evict: " + "; ".join(_dead_ends(run, pods))


def _dead_ends(run: PluginRun, pods: tuple[PodExplained, ...]) -> Iterator[str]:
    """Why each source gave nothing, sources alike together."""
    explained = {(pod.namespace, pod.name): pod for pod in pods}
    by_end: dict[str, list[str]] = {}
    for visit in run.visits:
        by_end.setdefault(_dead_end(visit, explained), []).append(visit.node)
    for end, nodes in by_end.items():
        yield f"on {listed(nodes)}, {end}"


def _dead_end(visit: Visit, explained: Mapping[tuple[str, str], PodExplained]) -> str:
    if not visit.steps:
        return f"{STOPS[visit.stop]} ({visit.stop.value})"
    # One text for each outcome: that of the first pod which met it.
    texts = {
        step.outcome: explained[step.pod.namespace, step.pod.name].text
        if step.outcome is PodOutcome.NOT_TOLERATED
        else OUTCOMES[step.outcome]
        for step in reversed(visit.steps)
    }
    outcomes = dict.fromkeys(step.outcome for step in visit.steps)
    tried = ", ".join(f"{texts[outcome]} ({outcome.value})" for outcome in outcomes)
    pods = len(visit.steps)
    return f"{pods} {'pod was' if pods == 1 else 'pods were'} looked at: {tried}"


def _evictions(run: PluginRun, plugin: Plugin) -> Iterator[EvictionExplained]:
    for place, visit in enumerate(run.visits, 1):
        for step in visit.steps:
            if step.outcome.is_eviction:
                node = _node_words(run, visit.node, place, plugin)
                yield EvictionExplained(
                    step.pod.namespace,
                    step.pod.name,
                    visit.node,
                    step.outcome is PodOutcome.BACKGROUND,
                    f"{node}; {_pod_words(visit, step.pod.uid)}",
                )


def _node_words(run: PluginRun, node: str, place: int, plugin: Plugin) -> str:
    kind = "over-utilised" if isinstance(plugin, LowNodeUtilization) else "under-utilised"
    count = sum(map(len, run.sources))
    if count == 1:
        return f"{node} is the only {kind} node"
    return f"{node} is number {place} of {count} {kind} nodes"


def _pod_words(visit: Visit, uid: str) -> str:
    for rank, equals in enumerate(visit.candidates, 1):
        if any(pod.uid == uid for pod in equals):
            pod = equals[0].traits
            what = f"priority {pod.priority if pod.priority is not None else 'none'}"
            what += f", {pod.qos.name.replace('_', ' ').lower()}"
            if len(equals) == 1:
                return f"alone in class {rank} of {len(visit.candidates)} ({what})"
            return f"any of {len(equals)} equal pods ({what}): chance decides"
    return "a candidate"


def _notes(policy: Policy, runs: tuple[RunExplained, ...]) -> Iterator[str]:
    for field in policy.ignored:
        yield f"the descheduler drops {field} without a word: it knows no such field there"
    for name in policy.openshift_only:
        yield f"{name} is decided as its source says; OpenShift's program was not run beside ours"
    for name in dict.fromkeys(policy.unmodelled):
        yield f"{name} is enabled too; its evictions are not predicted, and use up the same limits"
    for run in runs:
        for node in run.nodes:
            if node.possible:
                classes = " or ".join(node.possible)
                yield f"{node.name} may be {classes}: the last bit of the mean decides (T5)"
