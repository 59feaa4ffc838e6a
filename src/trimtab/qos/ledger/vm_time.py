"""A VM's time: it runs while any of its pods runs, and it waits for whatever else it is wanted.

So the pending target of a live migration adds no waiting, and `recreate` adds exactly the gap
between the old pod's end and the new one's binding. While its user has stopped the VM, its
clock stands still.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from trimtab.qos.ledger.pod_life import Incarnation
from trimtab.qos.ledger.spans import AS_USUAL, Counting, Phase, Span, State, phases

_Lived = tuple[list[Phase], int | None]


class VmStop(Struct, omit_defaults=True):
    """The VM was not wanted from `start` on, until `end` if it is wanted again."""

    start: int
    end: int | None = None


class Life(Struct, omit_defaults=True):
    """What is known of a VM beside its pods."""

    since: int | None = None
    settled: int = 0
    """Everything before is in the account's sums."""
    stops: list[VmStop] = field(default_factory=list)

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
            self.stops.append(VmStop(at))
        return True

    def settle(self, until: int) -> None:
        self.settled = until
        self.stops = [stop for stop in self.stops if stop.end is None or stop.end > until]


def vm_spans(pods: Iterable[Incarnation], life: Life, counting: Counting = AS_USUAL) -> list[Span]:
    """The spans of a VM after `life.settled`, one after the other; the last one is open."""
    alive = list(pods)
    beginnings = [pod.created for pod in alive]
    if life.since is not None:
        beginnings.append(life.since)
    if not beginnings and not life.settled:
        return []
    start = life.settled or min(beginnings)
    lives = [(phases(pod, counting), pod.ended) for pod in alive]
    cuts = sorted({start, *(c for c in _cuts(lives, life) if c > start)})
    spans: list[Span] = []
    for begin, end in zip(cuts, [*cuts[1:], None], strict=True):
        kind = _state(lives, life.stops, begin)
        if kind is None:
            continue
        if spans and spans[-1].kind == kind and spans[-1].end == begin:
            spans[-1] = Span(kind, spans[-1].start, end)
        else:
            spans.append(Span(kind, begin, end))
    return spans


def fold_until(pods: Iterable[Incarnation], over: Sequence[Incarnation]) -> int:
    """Up to when nothing can change any more; reports about running pods may still change."""
    ended = {pod.uid for pod in over}
    living = [pod.created for pod in pods if pod.uid not in ended]
    return min(living, default=max(pod.ended or 0 for pod in over))


def _cuts(lives: Sequence[_Lived], life: Life) -> Iterable[int]:
    for states, ended in lives:
        yield from (start for start, _ in states)
        if ended is not None:
            yield ended
    for stop in life.stops:
        yield from (at for at in (stop.start, stop.end) if at)


def _state(lives: Sequence[_Lived], stops: Sequence[VmStop], at: int) -> State | None:
    """The VM's state from `at` on: the best of its pods'; None while it is stopped."""
    states = {_pod_state(each, at) for each in lives} - {None}
    for best in ("running", "unready", "binding"):
        if best in states:
            return best
    if any(stop.start <= at and (stop.end is None or at < stop.end) for stop in stops):
        return None
    return "gated" if states == {"gated"} else "waiting"


def _pod_state(life: _Lived, at: int) -> State | None:
    states, ended = life
    if ended is not None and at >= ended:
        return None
    begun = [state for start, state in states if start <= at]
    return begun[-1] if begun else None
