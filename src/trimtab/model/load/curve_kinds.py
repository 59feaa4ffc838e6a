"""The kinds of load curves as values, and what makes one meaningless.

`trimtab.model.load.curve` is where their values and means are; import the kinds from there.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.limits import MAX_SECONDS, MAX_USE, MIN_SECONDS

DAY_S = 86_400.0


class Constant(Struct, frozen=True, tag="constant", tag_field="type", forbid_unknown_fields=True):
    """The same value at all times."""

    value: float
    """The share of the allocation that is used."""


class Steps(Struct, frozen=True, tag="steps", tag_field="type", forbid_unknown_fields=True):
    """A value from each time on; the first value also holds before it."""

    points: tuple[tuple[float, float], ...]
    """Pairs of seconds and the value from then on; the seconds rise."""
    repeat: float | None = None
    """The pattern starts again every so many seconds; without it the last value stays."""
    delay: float = 0.0
    """Everything happens this many seconds later; with `repeat` the pattern is shifted."""


class Diurnal(
    Struct, frozen=True, tag="diurnal", tag_field="type", rename="camel", forbid_unknown_fields=True
):
    """A cosine between two values, once per period."""

    low: float
    """The smallest value, half a period from the top."""
    high: float
    """The largest value."""
    peak_at: float = 50_400.0
    """Seconds at which the top is reached; the default is 14:00 of a run that starts at 0:00."""
    period: float = DAY_S
    """Seconds from one top to the next."""


class Spikes(Struct, frozen=True, tag="spikes", tag_field="type", forbid_unknown_fields=True):
    """Short spikes: one in each span of `every` seconds, at a moment that the seed decides."""

    base: float
    """The value outside of the spikes."""
    peak: float
    """The value during a spike."""
    every: float
    """Seconds; each span this long has exactly one spike."""
    lasts: float
    """Seconds that a spike lasts, at most `every`."""
    seed: int = 0
    """Another seed gives other moments; each VM of a group has its own unless staggered."""
    delay: float = 0.0
    """Everything happens this many seconds later."""


class Trace(Struct, frozen=True, tag="trace", tag_field="type", forbid_unknown_fields=True):
    """Recorded values, each held for `interval` seconds."""

    values: tuple[float, ...]
    """The recorded shares of the allocation."""
    interval: float = 300.0
    """Seconds that each value holds."""
    repeat: bool = True
    """Whether it starts again at its end; otherwise the last value stays."""


Curve: TypeAlias = Constant | Steps | Diurnal | Spikes | Trace


def check_curve(curve: Curve, field: str, most: float = MAX_USE) -> None:
    """Refuse a curve that has no meaning or values above `most`, naming the field."""
    for problem in _problems(curve, most):
        raise ConfigError(f"{field}: {problem}")


def _problems(curve: Curve, most: float) -> Iterator[str]:
    positive: dict[str, float] = {}
    match curve:
        case Constant():
            pass
        case Steps():
            yield from _step_problems(curve)
        case Diurnal():
            positive = {"period": curve.period}
            if curve.low > curve.high:
                yield "low is above high"
            if not abs(curve.peak_at) <= MAX_SECONDS:
                yield f"peakAt must be within {MAX_SECONDS:g} s"
        case Spikes():
            positive = {"every": curve.every, "lasts": curve.lasts}
            if curve.lasts > curve.every:
                yield "lasts is longer than every"
        case Trace():
            positive = {"interval": curve.interval}
            if not curve.values:
                yield "a trace needs at least one value"
    if not all(0 <= level <= most for level in levels(curve)):
        yield f"values must be within 0..{most}"
    for name, number in positive.items():
        if not MIN_SECONDS <= number <= MAX_SECONDS:
            yield f"{name} must be above 0: {MIN_SECONDS:g} to {MAX_SECONDS:g} s"
    if isinstance(curve, Steps | Spikes) and not abs(curve.delay) <= MAX_SECONDS:
        yield f"delay must be within {MAX_SECONDS:g} s"


def _step_problems(curve: Steps) -> Iterator[str]:
    times = [at for at, _ in curve.points]
    if not times:
        yield "steps need at least one point, e.g. points: [[0, 0.5]]"
    elif times != sorted(set(times)) or times[0] < 0 or not times[-1] <= MAX_SECONDS:
        yield f"the times of the points must rise, within 0..{MAX_SECONDS:g} s"
    elif curve.repeat is not None and not (
        max(times[-1], MIN_SECONDS) < curve.repeat <= MAX_SECONDS
    ):
        yield f"repeat must be later than the last point, and at most {MAX_SECONDS:g} s"


def levels(curve: Curve) -> Sequence[float]:
    """The values between which the curve moves: its limits are their least and greatest."""
    match curve:
        case Constant():
            return (curve.value,)
        case Steps():
            return [value for _, value in curve.points]
        case Diurnal():
            return (curve.low, curve.high)
        case Spikes():
            return (curve.base, curve.peak)
        case Trace():
            return curve.values
