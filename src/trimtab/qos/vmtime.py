"""A VM's time: it runs while any of its pods runs, and it waits for whatever else it is wanted.

So the pending target of a live migration adds no waiting, and `recreate` adds exactly the gap
between the old pod's end and the new one's binding. While its user has stopped the VM, its
clock stands still.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from trimtab.qos.incarnation import Incarnation
from trimtab.qos.spans import Span, State


class Stop(Struct, omit_defaults=True):
    """The VM was not wanted from `start` on, until `end` if it is wanted again."""

    start: int
    end: int | None = None


class Life(Struct, omit_defaults=True):
    """What is known of a VM beside its pods."""

    since: int | None = None
    settled: int = 0
    """Everything before is in the account's sums."""
    stops: list[Stop] = field(default_factory=list)

    @property
    def wanted(self) -> bool:
        return not self.stops or self.stops[-1].end is not None

    def want(self, wanted: bool, at: int) -> bool:
        """Note that it is wanted or not; true if that is a change."""
        if wanted == self.wanted:
            return False
        if wanted:
            self.stops[-1].end = max(at, self.stops[-1].start)
        else:
            self.stops.append(Stop(at))
        return True

    def settle(self, until: int) -> None:
        self.settled = until
        self.stops = [stop for stop in self.stops if stop.end is None or stop.end > until]


def vm_spans(pods: Iterable[Incarnation], life: Life) -> list[Span]:
    """The spans of a VM after `life.settled`, one after the other; the last one is open."""
    alive = list(pods)
    beginnings = [pod.created for pod in alive]
    if life.since is not None:
        beginnings.append(life.since)
    if not beginnings and not life.settled:
        return []
    start = life.settled or min(beginnings)
    cuts = sorted({start, *(c for c in _cuts(alive, life) if c > start)})
    spans: list[Span] = []
    for begin, end in zip(cuts, [*cuts[1:], None], strict=True):
        kind = _state(alive, life.stops, begin)
        if kind is None:
            continue
        if spans and spans[-1].kind == kind and spans[-1].end == begin:
            spans[-1] = Span(kind, spans[-1].start, end)
        else:
            spans.append(Span(kind, begin, end))
    return spans


def fold_until(pods: Iterable[Incarnation], over: Sequence[Incarnation]) -> int:
    """Up to when nothing can change any more: whoever lives may still be told of differently."""
    ended = {pod.uid for pod in over}
    living = [pod.created for pod in pods if pod.uid not in ended]
    return min(living, default=max(pod.ended or 0 for pod in over))


def _cuts(pods: Sequence[Incarnation], life: Life) -> Iterable[int]:
    for pod in pods:
        yield from (at for at in _moments(pod) if at)
    for stop in life.stops:
        yield from (at for at in (stop.start, stop.end) if at)


def _moments(pod: Incarnation) -> tuple[int | None, ...]:
    return pod.created, pod.ungated, pod.bind_start, pod.bound, pod.ended


def _state(pods: Sequence[Incarnation], stops: Sequence[Stop], at: int) -> State | None:
    """The VM's state from `at` on; None while it is stopped."""
    states = {_pod_state(pod, at) for pod in pods if at >= pod.created and not _is_over(pod, at)}
    if "running" in states:
        return "running"
    if "binding" in states:
        return "binding"
    if any(stop.start <= at and (stop.end is None or at < stop.end) for stop in stops):
        return None
    return "gated" if states == {"gated"} else "waiting"


def _is_over(pod: Incarnation, at: int) -> bool:
    return pod.ended is not None and at >= pod.ended


def _pod_state(pod: Incarnation, at: int) -> State:
    if pod.bound is not None and at >= pod.bound:
        return "running"
    if pod.bind_start is not None and at >= pod.bind_start:
        return "binding"
    return "gated" if pod.is_gated or at < pod.waits_since else "waiting"
