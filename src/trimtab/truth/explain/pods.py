"""Each pod of an explanation: the rule that made it a victim, a candidate, or none."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from trimtab.model.snapshot import Snapshot
from trimtab.policy.cycle import Cycle, PluginRun, PodOutcome, Reason, Visit
from trimtab.policy.file.settings import Plugin, Profile
from trimtab.policy.view import ClusterView, PodView
from trimtab.truth.explain.eviction_answers import refusal_of
from trimtab.truth.explain.outcome_texts import OUTCOMES, STOPS
from trimtab.truth.explain.pod_rules import Judge

Verdict = Literal["evicted", "candidate", "kept", "not looked at"]


class PodExplained(Struct, frozen=True, rename="camel"):
    """One pod in one run; `reasons` holds every rule that keeps it, not only the first."""

    namespace: str
    name: str
    node: str
    verdict: Verdict
    rule: str
    text: str
    reasons: tuple[Reason, ...] = ()


def explain_pods(
    snapshot: Snapshot,
    view: ClusterView,
    cycle: Cycle,
    run: PluginRun,
    profile: Profile,
    plugin: Plugin,
) -> tuple[PodExplained, ...]:
    """Every pod of the selected nodes, those of visited sources first."""
    return tuple(_Pods(snapshot, view, cycle, run, profile, plugin).explained())


class _Pods:
    def __init__(
        self,
        snapshot: Snapshot,
        view: ClusterView,
        cycle: Cycle,
        run: PluginRun,
        profile: Profile,
        plugin: Plugin,
    ) -> None:
        by_name = {node.name: node for node in view.nodes}
        self._snapshot, self._view, self._cycle, self._run = snapshot, view, cycle, run
        self._destinations = [by_name[cycle.nodes[at]] for at in run.destinations]
        self._judge = Judge(view, profile, plugin, self._destinations)

    def explained(self) -> Iterator[PodExplained]:
        visits = {visit.node: visit for visit in self._run.visits}
        for name in visits:
            yield from (self._of_source(pod, visits[name]) for pod in self._view.pods_on(name))
        for name in self._cycle.nodes:
            if name not in visits:
                yield from (self._elsewhere(pod, name) for pod in self._view.pods_on(name))

    def _reasons(self, pod: PodView, node: str) -> tuple[Reason, ...]:
        found = self._judge.reasons(pod, node)
        if self._destinations:
            return found
        # Nobody takes anything: that says nothing about the pod's tolerations.
        return tuple(reason for reason in found if reason.rule != "E7b")

    def _of_source(self, pod: PodView, visit: Visit) -> PodExplained:
        reasons = self._reasons(pod, visit.node)
        outcomes = [step.outcome for step in visit.steps if step.pod.uid == pod.uid]
        if outcomes:
            return self._stepped(pod, visit.node, outcomes[-1], reasons)
        if reasons:
            first = reasons[0]
            return _pod(pod, visit.node, "kept", first.rule, first.text, reasons)
        text = f"it was not reached: {STOPS[visit.stop]}"
        return _pod(pod, visit.node, "candidate", visit.stop.value, text)

    def _stepped(
        self, pod: PodView, node: str, outcome: PodOutcome, reasons: tuple[Reason, ...]
    ) -> PodExplained:
        if outcome.is_eviction:
            return _pod(pod, node, "evicted", outcome.value, OUTCOMES[outcome])
        text = OUTCOMES[outcome]
        if outcome is PodOutcome.REFUSED and (why := refusal_of(self._snapshot, pod.uid)):
            text += f": {why}"
        exact = next((reason for reason in reasons if reason.rule.startswith(outcome.value)), None)
        if exact is not None:
            return _pod(pod, node, "kept", exact.rule, exact.text, reasons)
        return _pod(pod, node, "kept", outcome.value, text, reasons)

    def _elsewhere(self, pod: PodView, node: str) -> PodExplained:
        run, reasons = self._run, self._reasons(pod, node)
        if run.error is not None:
            return _pod(pod, node, "not looked at", run.error.rule, "the plugin failed", reasons)
        if run.exit is not None:
            return _pod(pod, node, "not looked at", run.exit.rule, run.exit.text, reasons)
        at = self._cycle.nodes.index(node)
        if any(at in group for group in run.sources):
            text = "an earlier node used up the total limit"
            return _pod(pod, node, "not looked at", "E7e total", text, reasons)
        text = "on a node that gives up no pods"
        return _pod(pod, node, "not looked at", "C3", text, reasons)


def _pod(
    pod: PodView,
    node: str,
    verdict: Verdict,
    rule: str,
    text: str,
    reasons: tuple[Reason, ...] = (),
) -> PodExplained:
    return PodExplained(pod.namespace, pod.name, node, verdict, rule, text, reasons)
