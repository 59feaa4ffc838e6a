"""Sums of time: over a whole life in whole nanoseconds, and with a half-life.

A `Base` is an account at its last change; a `Reading` is what it has become since.
"""

from msgspec import Struct

from trimtab.qos.spans import Span
from trimtab.qos.ttv import Pace, faded, faded_span

COUNTED = ("running", "waiting")
"""What a promise is about; binding and time behind gates are shown, and count as neither."""


class Sums(Struct, omit_defaults=True):
    """Nanoseconds; `about` is binding that only the API's seconds tell of, inside running."""

    running: int = 0
    waiting: int = 0
    binding: int = 0
    about: int = 0
    gated: int = 0

    def add(self, kind: str, length: int) -> None:
        setattr(self, kind, getattr(self, kind) + length)


class Window(Struct, omit_defaults=True, rename="camel"):
    """The same with a half-life, as of a moment."""

    half_life: int = 0
    as_of: int = 0
    running: float = 0.0
    waiting: float = 0.0

    def advance(self, to: int) -> None:
        age = max(0, to - self.as_of)
        self.running = faded(self.running, age, self.half_life)
        self.waiting = faded(self.waiting, age, self.half_life)
        self.as_of = max(self.as_of, to)

    def take(self, span: Span) -> None:
        if span.kind not in COUNTED or span.end is None:
            return
        self.advance(span.end)
        weight = faded_span(span.start, span.end, self.as_of, self.half_life)
        setattr(self, span.kind, getattr(self, span.kind) + weight)


class Reading(Struct, frozen=True, gc=False):
    """An account at a moment. `credited` and `charged` are what counts for the promise:
    running and waiting, faded if there is a half-life."""

    running: int
    waiting: int
    binding: int
    credited: int
    charged: int
    about: bool
    pace: Pace
    gated: int
    gated_now: int


class Base(Struct, frozen=True):
    """The account at its last change, of which `Reading`s are made; flat, for it is read often."""

    at: int
    running: int
    waiting: int
    binding: int
    running_now: int
    waiting_now: int
    about: bool
    pace: Pace
    window: Window
    gated: int
    gated_now: int
