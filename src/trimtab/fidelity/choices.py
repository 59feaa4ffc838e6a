"""What was left to chance or to others in a cycle, taken from its log: choices and answers."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from trimtab.observe.descheduler_log import LoggedCycle
from trimtab.policy import Answer, Choose, PodOutcome, PodView, Tie
from trimtab.policy.choices import Answers

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
