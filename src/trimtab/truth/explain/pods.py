"""Each pod of an explanation: the rule that made it a victim, a candidate, or none."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from trimtab.policy.cycle import Cycle, PluginRun, PodOutcome, Reason, Visit
from trimtab.policy.evict import Destinations
from trimtab.policy.file.settings import HighNodeUtilization, Plugin, Profile
from trimtab.policy.pods.filters import Filter
from trimtab.policy.pods.fit import PreEviction
from trimtab.policy.view import ClusterView, NodeView, PodView
from trimtab.truth.explain.changes.trial import Trial
from trimtab.truth.explain.outcome_texts import OUTCOMES, STOPS, refusal_of

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
    trial: Trial, cycle: Cycle, run: PluginRun, profile: Profile, plugin: Plugin
) -> tuple[PodExplained, ...]:
    """Every pod of the selected nodes, those of visited sources first."""
    return tuple(_Pods(trial, cycle, run, profile, plugin).explained())


class _Pods:
    def __init__(
        self, trial: Trial, cycle: Cycle, run: PluginRun, profile: Profile, plugin: Plugin
    ) -> None:
        by_name = {node.name: node for node in trial.view.nodes}
        self._snapshot, self._view, self._cycle, self._run = trial.snapshot, trial.view, cycle, run
        self._destinations = [by_name[cycle.nodes[at]] for at in run.destinations]
        self._judge = Judge(trial.view, profile, plugin, self._destinations)

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
        # No node takes any pod: that says nothing about the pod's tolerations.
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
        text = OUTCOMES[outcome]
        if outcome.is_eviction:
            return _pod(pod, node, "evicted", outcome.value, text)
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


# Why a pod may or may not be evicted, rule by rule: what `explain` shows.
#
# `decide` stops at the first reason; here all of them are collected, for any pod on any
# node, whether the cycle came to it or not.


class Judge:
    """Judges the pods of one view for one plugin of one profile."""

    def __init__(
        self,
        view: ClusterView,
        profile: Profile,
        plugin: Plugin,
        destinations: Sequence[NodeView],
    ) -> None:
        self._plugin = plugin
        self._filter = Filter(profile.evictor, view)
        self._pre_eviction = PreEviction(profile.evictor, view)
        self._destinations = Destinations(destinations)

    def reasons(self, pod: PodView, node: str) -> tuple[Reason, ...]:
        """Everything that keeps the pod on `node`, in the order of the rules; empty: it may go."""
        return tuple(self._reasons(pod, node))

    def _reasons(self, pod: PodView, node: str) -> Iterator[Reason]:
        yield from self._filter.refusals(pod)
        yield from self._not_requesting(pod)
        if untolerated := self._destinations.refusal(pod.traits):
            yield Reason("E7b", untolerated)
        if pod.namespace in self._plugin.excluded:
            yield Reason("E7c", f"namespace {pod.namespace} is excluded")
        if refusal := self._pre_eviction.refusal(pod, node):
            yield refusal

    def _not_requesting(self, pod: PodView) -> Iterator[Reason]:
        plugin = self._plugin
        if (
            isinstance(plugin, HighNodeUtilization)
            and plugin.only_thresholding_resources
            and not pod.traits.requested & plugin.low.keys()
        ):
            text = f"its containers request none of {', '.join(plugin.low)}"
            yield Reason("1.7.evictionModes", text)
