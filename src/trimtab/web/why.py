"""The answers to a click: the rules of `explain` for a node, the planner's for a VM, all scores.

Nothing is decided here: a click shows what `trimtab explain` and `trimtab balance plan
--explain` would say of the same snapshot.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from trimtab.balance.document import AlternativeDocument, alternative_of
from trimtab.balance.explain import explain_vm
from trimtab.balance.from_snapshot import problem_from
from trimtab.balance.plan import Plan
from trimtab.balance.planner import make_plan
from trimtab.balance.problem import Problem
from trimtab.errors import ConfigError
from trimtab.model.snapshot import QueryResult, Snapshot
from trimtab.policy.cycle import Class
from trimtab.prom.client import Sample
from trimtab.scores import CATALOG, Score
from trimtab.truth.explain.changes.trial import Trial, read_trial
from trimtab.truth.explain.explanation import EvictionExplained, Explanation, explain
from trimtab.truth.explain.nodes import NodeExplained
from trimtab.truth.explain.pods import PodExplained
from trimtab.web.compare import (
    PolicyCandidate,
    TriedCandidate,
    by_record,
    recorded_result,
    records_of,
    try_candidate,
)


class _Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class NodeRun(_Answer, frozen=True):
    """What one plugin makes of a node."""

    profile: str
    plugin: str
    verdict: str
    average: dict[str, float]
    node: NodeExplained
    pods: tuple[PodExplained, ...]
    evictions: tuple[EvictionExplained, ...]


class NodeAnswer(_Answer, frozen=True):
    """Why a node is over, under or neither."""

    name: str
    at: float
    verdict: str
    runs: tuple[NodeRun, ...]


class VmAnswer(_Answer, frozen=True):
    """Why a VM goes or stays: the planner's answer, and the descheduler's."""

    name: str
    at: float
    node: str = ""
    why: str = ""
    targets: tuple[AlternativeDocument, ...] = ()
    pods: tuple[PodExplained, ...] = ()
    evictions: tuple[EvictionExplained, ...] = ()


class ScoreAnswer(_Answer, frozen=True):
    """One score: its value for each node, and what a cycle with it would do now."""

    name: str
    choose: str
    chosen: bool
    """Whether the policy's query asks for it."""
    values: dict[str, float] = {}
    over: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    evictions: int = 0
    problem: str = ""
    query: str = ""
    """What Prometheus is asked for it."""


class CompareAnswer(_Answer, frozen=True):
    """Two candidates on the same look."""

    at: float
    a: TriedCandidate
    b: TriedCandidate


class Answers:
    """Everything that can be asked of one snapshot; what is dear is computed once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._at = snapshot.taken_at.timestamp()

    def node(self, name: str) -> NodeAnswer:
        """The node's part of `trimtab explain --all`."""
        runs = tuple(
            NodeRun(
                profile=run.profile,
                plugin=run.plugin,
                verdict=run.verdict,
                average=run.average,
                node=node,
                pods=tuple(pod for pod in run.pods if pod.node == name),
                evictions=tuple(each for each in run.evictions if each.node == name),
            )
            for run in self._explanation.runs
            for node in run.nodes
            if node.name == name
        )
        if not runs and name not in {node.name for node in self._snapshot.nodes}:
            raise ConfigError(f"there is no node {name} in the newest look")
        return NodeAnswer(name=name, at=self._at, verdict=self._explanation.verdict, runs=runs)

    def vm(self, name: str) -> VmAnswer:
        """What `trimtab balance plan --explain` says, and what the descheduler makes of its pod."""
        problem, plan = self._planned
        if name not in problem.vms:
            raise ConfigError(f"there is no VM {name} in the newest look")
        told = explain_vm(problem, plan, problem.vms.index(name))
        uid = next(vm.pod_uid for vm in self._snapshot.vms if f"{vm.namespace}/{vm.name}" == name)
        pod = next((pod for pod in self._snapshot.pods if pod.uid == uid), None)
        runs = self._explanation.runs if self._snapshot.policy and pod else ()
        mine = (pod.namespace, pod.name) if pod else ("", "")
        return VmAnswer(
            name=name,
            at=self._at,
            node=problem.nodes[told.node] if told.node >= 0 else "",
            why=told.text,
            targets=tuple(alternative_of(problem, each) for each in told.targets),
            pods=tuple(p for run in runs for p in run.pods if (p.namespace, p.name) == mine),
            evictions=tuple(
                e for run in runs for e in run.evictions if (e.namespace, e.name) == mine
            ),
        )

    def scores(self, samples: Sequence[Sample]) -> tuple[ScoreAnswer, ...]:
        """Every score of the catalogue that is recorded, tried on this very cycle."""
        recorded = by_record(samples)
        return tuple(self._score(score, recorded) for score in CATALOG.values())

    def compare(
        self, a: PolicyCandidate, b: PolicyCandidate, samples: Sequence[Sample]
    ) -> CompareAnswer:
        """What this very cycle would have decided with either of them."""
        one, other = (try_candidate(self._trial, each, samples) for each in (a, b))
        return CompareAnswer(at=self._at, a=one, b=other)

    def _score(self, score: Score, recorded: Mapping[str, Sequence[Sample]]) -> ScoreAnswer:
        records = records_of(score)
        query = self._snapshot.query.query if self._snapshot.query else ""
        found = recorded_result(self._snapshot, score, recorded)
        answer = ScoreAnswer(
            name=score.name, choose=score.choose, chosen=query in records, query=records[0]
        )
        if found is None:
            return replace(answer, problem="it is not recorded")
        values = {
            each.labels.get("instance", ""): value
            for each in found.samples
            if math.isfinite(value := float(each.value))
        }
        return self._tried(replace(answer, values=values), found)

    def _tried(self, answer: ScoreAnswer, found: QueryResult) -> ScoreAnswer:
        cycle = self._trial.with_query(found).cycle()
        if cycle.skipped or not cycle.runs:
            return replace(answer, problem=cycle.skipped.text if cycle.skipped else "no plugin")
        run = cycle.runs[0]
        if run.error or run.figures is None:
            return replace(answer, problem=run.error.text if run.error else "no figures")
        classes = run.figures.classes
        return replace(
            answer,
            over=tuple(n for n, c in zip(cycle.nodes, classes, strict=True) if c == Class.OVER),
            under=tuple(n for n, c in zip(cycle.nodes, classes, strict=True) if c == Class.UNDER),
            evictions=len(cycle.evictions),
        )

    @cached_property
    def _trial(self) -> Trial:
        return read_trial(self._snapshot)

    @cached_property
    def _explanation(self) -> Explanation:
        # without the search for changes: a click must not cost minutes in a big cluster
        return explain(self._snapshot, search=False).explanation

    @cached_property
    def _planned(self) -> tuple[Problem, Plan]:
        problem = problem_from(self._snapshot)
        return problem, make_plan(problem)
