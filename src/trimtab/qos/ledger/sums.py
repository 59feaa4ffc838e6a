"""Sums of time: over a whole life in whole nanoseconds, and with a half-life.

A `Base` is an account at its last change; an `AccountReading` is what it has become since.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from trimtab.qos.ledger.pod_life import Incarnation
from trimtab.qos.ledger.spans import AS_USUAL, Counting, Span
from trimtab.qos.ledger.time_to_violation import AccountGrowth, faded, faded_span


class TimeSums(Struct, omit_defaults=True):
    """Nanoseconds; `about` is binding that only the API's seconds tell of, inside running."""

    running: int = 0
    waiting: int = 0
    binding: int = 0
    about: int = 0
    gated: int = 0
    unready: int = 0

    def add(self, kind: str, length: int) -> None:
        setattr(self, kind, getattr(self, kind) + length)


def counts_as(kind: str, counting: Counting) -> str:
    """What time in a state is for the promise: running, waiting or nothing."""
    if kind == "unready" or (kind == "binding" and counting.charge_binding):
        return "waiting"
    return kind if kind in ("running", "waiting") else ""


class FadingWindow(Struct, omit_defaults=True, rename="camel"):
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

    def take(self, span: Span, counting: Counting = AS_USUAL) -> None:
        """Add a span that is over."""
        kind = counts_as(span.kind, counting)
        if not kind or span.end is None:
            return
        self.advance(span.end)
        weight = faded_span(span.start, span.end, self.as_of, self.half_life)
        setattr(self, kind, getattr(self, kind) + weight)


class AccountReading(Struct, frozen=True, gc=False):
    """An account at a moment. `credited` and `charged` are what counts for the promise:
    running and waiting, with binding if that is charged, faded if there is a half-life."""

    running: int
    waiting: int
    binding: int
    credited: int
    charged: int
    about: bool
    pace: AccountGrowth
    gated: int
    gated_now: int
    unready: int
    """Of the waiting: bound, but not ready."""


def added_up(readings: Sequence[AccountReading]) -> AccountReading:
    """Several accounts as one."""
    times = [name for name in AccountReading.__struct_fields__ if name not in ("about", "pace")]
    paces = [each.pace for each in readings]
    return structs.replace(
        readings[0],
        **{name: sum(getattr(each, name) for each in readings) for name in times},
        about=any(each.about for each in readings),
        pace=AccountGrowth(
            sum(pace.running for pace in paces), sum(pace.waiting for pace in paces)
        ),
    )


class Base(Struct, frozen=True):
    """The account at its last change, of which readings are made; flat, for it is read often."""

    at: int
    running: int
    waiting: int
    binding: int
    waiting_now: int
    binding_now: int
    about: bool
    pace: AccountGrowth
    window: FadingWindow
    gated: int
    gated_now: int
    unready: int
    unready_now: int
    charge_binding: bool

    def reading(self, now: int) -> AccountReading:
        """What it has become; a clock that went backwards finds it as it was."""
        passed = max(0, now - self.at)
        running = self.running + self.pace.running * passed
        waiting = self.waiting + self.waiting_now * passed
        binding = self.binding + self.binding_now * passed
        credited, charged = running, waiting
        if self.window.half_life:
            credited, charged = self._faded(passed)
        elif self.charge_binding:
            charged = waiting + binding
        return AccountReading(
            running,
            waiting,
            binding,
            credited,
            charged,
            self.about,
            self.pace,
            self.gated + self.gated_now * passed,
            self.gated_now,
            self.unready + self.unready_now * passed,
        )

    def _faded(self, passed: int) -> tuple[int, int]:
        window, pace = self.window, self.pace
        weight = faded_span(0, passed, passed, window.half_life)
        return (
            round(faded(window.running, passed, window.half_life) + pace.running * weight),
            round(faded(window.waiting, passed, window.half_life) + pace.waiting * weight),
        )


def base_of(
    closed: TimeSums,
    window: FadingWindow,
    spans: Sequence[Span],
    pods: Iterable[Incarnation],
    counting: Counting,
    approximate: int,
) -> Base:
    """An account at the latest moment that its spans tell of."""
    sums, window = structs.replace(closed), structs.replace(window)
    moments = [span.start for span in spans] + [span.end or 0 for span in spans]
    latest = max([*moments, window.as_of])
    window.advance(latest)
    now = dict.fromkeys(("running", "unready", "binding", "waiting", "gated"), 0)
    for span in spans:
        now[span.kind] += span.end is None
        done = Span(span.kind, span.start, latest if span.end is None else span.end)
        sums.add(span.kind, done.length)
        if window.half_life:
            window.take(done, counting)
    if not counting.charge_binding:
        sums.about += sum(pod.about_binding for pod in pods)
    approximate += sum(pod.bound is not None and not pod.exact for pod in pods)
    waiting_now = now["waiting"] + now["unready"]
    drains = waiting_now + (now["binding"] if counting.charge_binding else 0)
    return Base(
        latest,
        sums.running,
        sums.waiting + sums.unready,
        sums.binding + sums.about,
        waiting_now,
        now["binding"] if counting.charge_binding else 0,
        approximate > 0,
        AccountGrowth(now["running"], drains),
        window,
        sums.gated,
        now["gated"],
        sums.unready,
        now["unready"],
        counting.charge_binding,
    )
