"""Time in one state: what an account's sums are made of."""

from typing import Literal

from msgspec import Struct

from trimtab.qos.incarnation import Incarnation

State = Literal["running", "binding", "waiting", "gated"]


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


def pod_spans(pod: Incarnation) -> list[Span]:
    """The states of a pod that counts by itself, one after the other; the last may be open."""
    begun = pod.bind_start if pod.exact and pod.bind_start is not None else pod.bound
    if pod.is_gated:
        return [Span("gated", pod.created, None)]
    queued, spans = pod.waits_since, []
    if queued > pod.created:
        spans.append(Span("gated", pod.created, queued))
    spans.append(Span("waiting", queued, pod.ended if begun is None else begun))
    if pod.bound is not None:
        if begun is not None and begun < pod.bound:
            spans.append(Span("binding", begun, pod.bound))
        spans.append(Span("running", pod.bound, pod.ended))
    return spans
