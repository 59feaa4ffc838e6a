"""Time in one state: what an account's sums are made of.

A pod's life is a row of states, each from a moment on, until it ends. What counts as running is
the operator's choice: time since the binding, or only time in which the pod was ready.
"""

from typing import Literal

from msgspec import Struct

from trimtab.qos.ledger.pod_life import Incarnation

State = Literal["running", "unready", "binding", "waiting", "gated"]
Phase = tuple[int, State]


class Counting(Struct, frozen=True):
    """How time is counted."""

    half_life: int = 0
    charge_binding: bool = False
    """Binding counts as waiting, and where the scheduler did not measure it, it lasts until the
    kubelet took the pod."""
    by_ready: bool = False
    """Only a pod that is ready runs; bound and not ready, it waits."""


AS_USUAL = Counting()


class Span(Struct, frozen=True):
    """Time in one state; without an end it goes on."""

    kind: State
    start: int
    end: int | None

    @property
    def length(self) -> int:
        return 0 if self.end is None else max(0, self.end - self.start)

    def before(self, moment: int) -> "Span":
        """The part of it before `moment`."""
        return Span(self.kind, self.start, moment if self.end is None else min(self.end, moment))


def phases(pod: Incarnation, counting: Counting = AS_USUAL) -> list[Phase]:
    """The states of a pod and when each began; its end is not one."""
    if pod.is_gated:
        return [(pod.created, "gated")]
    found: list[Phase] = [(pod.created, "gated")] if pod.gated else []
    found.append((pod.waits_since, "waiting"))
    if pod.bound is None:
        return found
    begun = pod.bind_start if pod.exact and pod.bind_start is not None else pod.bound
    runs: int | None = pod.bound
    if counting.charge_binding and not pod.exact:
        runs = None if pod.started is None else max(pod.bound, pod.started)
    if runs is None or begun < runs:
        found.append((begun, "binding"))
    if runs is not None:
        found += _running(pod, runs) if counting.by_ready else [(runs, "running")]
    return found


def _running(pod: Incarnation, since: int) -> list[Phase]:
    """Ready and not, by turns."""
    found: list[Phase] = [(since, "unready")]
    for number, moment in enumerate(pod.turns):
        found.append((max(since, moment), "unready" if number % 2 else "running"))
    return found


def pod_spans(pod: Incarnation, counting: Counting = AS_USUAL) -> list[Span]:
    """The states of a pod that counts by itself, one after the other; the last may be open."""
    found = phases(pod, counting)
    ends = [*(start for start, _ in found[1:]), pod.ended]
    if pod.ended is not None:
        found = [(min(start, pod.ended), kind) for start, kind in found]
        ends = [pod.ended if end is None else min(end, pod.ended) for end in ends]
    return [Span(kind, start, end) for (start, kind), end in zip(found, ends, strict=True)]
