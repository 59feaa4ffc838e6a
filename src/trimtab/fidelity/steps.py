"""Step by step: each cycle of a lab predicted from what was recorded just before it. Pure.

What the descheduler leaves to chance is taken from its log: the prediction is decided with
the same choices where the rules allow a choice, so it ends with the same victims if, and
only if, every one of them was allowed. Everything else must be equal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from trimtab.fidelity.recording import LabRun, moment
from trimtab.fidelity.scores import TOLERANCE, Evaluation, Evaluations
from trimtab.fidelity.state import RunState, StateHistory
from trimtab.model.snapshot import QueryResult, Sample, Snapshot
from trimtab.observe.descheduler_log import LoggedCycle
from trimtab.policy.choices import Answer, Answers, Choose, Tie
from trimtab.policy.cycle import Class, Cycle, PodOutcome
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.snapshot_view import SnapshotView, policy_of
from trimtab.policy.view import PodView

# What was left to chance or to others in a cycle, taken from its log: choices and answers.
Item = TypeVar("Item")


def as_told(cycle: LoggedCycle, nodes: Sequence[str]) -> Choose:
    """Choose as the descheduler did, where there is a choice."""
    pods = [note.pod for note in cycle.notes if note.pod]
    sources = [source.node for run in cycle.runs for source in run.sources]

    def choose(tie: Tie, items: Sequence[Item]) -> Iterable[Item]:
        if tie is Tie.CANDIDATES:
            return sorted(items, key=lambda item: _place(pods, _pod_name(item)))
        if tie is Tie.SOURCES:
            return sorted(items, key=lambda item: _place(sources, _node_name(item, nodes)))
        return items

    return choose


def _place(order: Sequence[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _pod_name(item: object) -> str:
    pod: PodView = item  # type: ignore[assignment]
    return f"{pod.namespace}/{pod.name}"


def _node_name(item: object, nodes: Sequence[str]) -> str:
    return nodes[item] if isinstance(item, int) else str(item)


def as_answered(cycle: LoggedCycle) -> Answers:
    """Answer evictions as the API server did."""
    refused = {note.pod for note in cycle.notes if note.outcome is PodOutcome.REFUSED}
    evicted = {note.pod for note in cycle.notes if note.outcome is PodOutcome.EVICTED}

    def answer(pod: PodView) -> Answer:
        name = f"{pod.namespace}/{pod.name}"
        if name in refused:
            return Answer.REFUSED
        return Answer.EVICTED if name in evicted else Answer.BACKGROUND

    return answer


KINDS = {
    Class.UNDER: "underutilized",
    Class.APPROPRIATE: "appropriate",
    Class.OVER: "overutilized",
}
VISIBLE_S = 5.0
"""How long after its timestamp an evaluation may become visible: it takes as long as it takes."""

Decide = Callable[[Snapshot, RunState, Choose, Answers], Cycle]


def by_the_rules(snapshot: Snapshot, state: RunState, choose: Choose, answer: Answers) -> Cycle:
    """The prediction under test."""
    policy = policy_of(snapshot)
    return decide(SnapshotView(snapshot), policy, state.in_flight, choose, answer=answer)


class ComparedCycle(Struct, frozen=True, kw_only=True):
    """One cycle beside its prediction; what is not equal is named."""

    number: int
    at_s: float
    """Lab seconds since the first cycle."""
    evictions: int
    wrong_usage: tuple[str, ...] = ()
    """Nodes whose percent is that of no evaluation that could be seen."""
    wrong_classes: tuple[str, ...] = ()
    wrong_count: bool = False
    wrong_victims: tuple[str, ...] = ()
    """Victims that the rules did not allow, or victims that did not come."""
    unsure: bool = False
    """The state or evaluation at the very start of the cycle does not explain it, one next to it
    does."""

    @property
    def right(self) -> bool:
        return not (
            self.wrong_usage or self.wrong_classes or self.wrong_count or self.wrong_victims
        )


def compare(
    run: LabRun, scored: Evaluations, decide_: Decide = by_the_rules
) -> list[ComparedCycle]:
    """Every cycle that worked, in order."""
    history, steps = StateHistory(run.pods), list[ComparedCycle]()
    for cycle in run.cycles:
        states = list(history.around(cycle))
        if cycle in run.worked:
            steps.append(_step(run, scored, cycle, len(steps), states, decide_))
        history.settle(cycle)
    return steps


def _step(
    run: LabRun,
    scored: Evaluations,
    cycle: LoggedCycle,
    number: int,
    states: Sequence[RunState],
    decide_: Decide,
) -> ComparedCycle:
    at_s = (moment(cycle.began) - run.began) * run.scale
    told = ComparedCycle(number=number, at_s=round(at_s, 1), evictions=len(list(_victims(cycle))))
    if cycle.errors:
        explained = _met_nothing(scored, cycle)
        return replace(told, unsure=explained, wrong_usage=() if explained else scored.nodes)
    best: ComparedCycle | None = None
    for first_evaluation, evaluation in _seen(scored, cycle):
        for first_state, state in zip([True] + [False] * len(states), states, strict=False):
            found = _judged(run, scored.nodes, cycle, evaluation, state, decide_, told)
            if found.right:
                return replace(found, unsure=not (first_evaluation and first_state))
            best = found if best is None or _faults(found) < _faults(best) else best
    return best or replace(told, wrong_usage=tuple(scored.nodes))


def _faults(step: ComparedCycle) -> tuple[int, int, bool, int]:
    return (
        len(step.wrong_usage),
        len(step.wrong_classes),
        step.wrong_count,
        len(step.wrong_victims),
    )


def _seen(scored: Evaluations, cycle: LoggedCycle) -> Iterator[tuple[bool, Evaluation]]:
    """The evaluations that the cycle's query may have met, the likeliest first."""
    began, ended = moment(cycle.began), moment(cycle.ended)
    before = [each for each in scored.each if each.at <= began]
    after = [each for each in scored.each if began < each.at <= ended]
    for away, each in enumerate(reversed(before)):
        if away and before[-away].at < began - VISIBLE_S:
            break  # the newer one must have been visible
        yield away == 0, each
    yield from ((False, each) for each in after)


def _met_nothing(scored: Evaluations, cycle: LoggedCycle) -> bool:
    """Whether the rules had no result for its query: a scrape failed, and its series ended."""
    times = np.array([each.at for each in scored.each])
    before = times[times <= moment(cycle.began)]
    return not before.size or moment(cycle.began) - before[-1] > 1.5 * np.median(np.diff(times))


def _judged(
    run: LabRun,
    nodes: Sequence[str],
    cycle: LoggedCycle,
    evaluation: Evaluation,
    state: RunState,
    decide_: Decide,
    told: ComparedCycle,
) -> ComparedCycle:
    """The cycle beside the prediction from one evaluation and one state."""
    snapshot = _snapshot(run, nodes, evaluation, state, moment(cycle.began))
    actual = list(_victims(cycle))
    choose = as_told(cycle, [node.name for node in run.nodes])
    predicted = decide_(snapshot, state, choose, as_answered(cycle))
    if not cycle.runs:
        return replace(told, wrong_usage=tuple(nodes))
    usage, classes = _differences(predicted, cycle)
    evicted = [f"{e.pod.namespace}/{e.pod.name}" for e in predicted.evictions]
    odd = () if evicted == actual else tuple(sorted({*evicted} ^ {*actual})) or tuple(actual)
    return replace(
        told,
        wrong_usage=usage,
        wrong_classes=classes,
        wrong_count=len(evicted) != len(actual),
        wrong_victims=odd,
    )


def _victims(cycle: LoggedCycle) -> Iterator[str]:
    """Pods that were evicted or will be, in order."""
    for note in cycle.notes:
        if note.outcome in (PodOutcome.BACKGROUND, PodOutcome.EVICTED):
            yield note.pod


def _differences(predicted: Cycle, cycle: LoggedCycle) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Nodes whose whole percent, and nodes whose class, is not what the log says."""
    figures, readings = predicted.runs[0].figures, cycle.runs[0].readings
    if figures is None or set(predicted.nodes) != set(readings):
        return tuple(readings), tuple(readings)
    usage = figures.usage[METRIC_RESOURCE]
    wrong_usage, wrong_classes = [], []
    for at, node in enumerate(predicted.nodes):
        reading = readings[node]
        if str(int(usage[at])) != reading.usage[METRIC_RESOURCE]:
            wrong_usage.append(node)
        allowed = figures.doubtful.get(at) or {Class(int(figures.classes[at]))}
        if reading.category not in {KINDS[each] for each in allowed}:
            wrong_classes.append(node)
    return tuple(wrong_usage), tuple(wrong_classes)


def _snapshot(
    run: LabRun, nodes: Sequence[str], evaluation: Evaluation, state: RunState, at: float
) -> Snapshot:
    """Our own scores count only where they differ: one bit decides between 28 % and 29 %."""
    same = np.abs(evaluation.recorded - evaluation.computed) <= TOLERANCE
    values = np.where(same, evaluation.recorded, evaluation.computed)
    taken = datetime.fromtimestamp(at, UTC)
    samples = tuple(
        Sample({"instance": node}, repr(float(value)))
        for node, value in zip(nodes, values, strict=True)
    )
    return Snapshot(
        taken_at=taken,
        policy=run.policy,
        query=QueryResult(time=taken, samples=samples),
        nodes=run.nodes,
        pods=tuple(state.pods.values()),
    )
