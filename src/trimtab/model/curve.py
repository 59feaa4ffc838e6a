"""Load over time: how much of its allocation a VM uses at each moment.

A curve is a value, so the simulator, the exporter and a pod's annotation share it. Time is
in seconds from the scenario's start. Every curve has a value at an instant and a mean over
an interval in closed form; nothing is sampled. All are piecewise smooth and never negative.
"""

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.errors import ConfigError

Times: TypeAlias = NDArray[np.float64]
DAY_S = 86_400.0


class Constant(Struct, frozen=True, tag="constant", tag_field="type", forbid_unknown_fields=True):
    """The same value at all times."""

    value: float


class Steps(Struct, frozen=True, tag="steps", tag_field="type", forbid_unknown_fields=True):
    """A value from each time on; the first value also holds before it.

    With `repeat` the pattern starts again every so many seconds.
    """

    points: tuple[tuple[float, float], ...]
    repeat: float | None = None


class Diurnal(
    Struct, frozen=True, tag="diurnal", tag_field="type", rename="camel", forbid_unknown_fields=True
):
    """A cosine between `low` and `high` with its top at `peak_at`, once per `period`."""

    low: float
    high: float
    peak_at: float = 50_400.0
    period: float = DAY_S


class Spikes(Struct, frozen=True, tag="spikes", tag_field="type", forbid_unknown_fields=True):
    """`base`; in each span of `every` seconds `peak` for `lasts`, at a moment `seed` decides."""

    base: float
    peak: float
    every: float
    lasts: float
    seed: int = 0


class Trace(Struct, frozen=True, tag="trace", tag_field="type", forbid_unknown_fields=True):
    """Recorded values, each held for `interval` seconds; then again, or the last one for ever."""

    values: tuple[float, ...]
    interval: float = 300.0
    repeat: bool = True


Curve: TypeAlias = Constant | Steps | Diurnal | Spikes | Trace


def check_curve(curve: Curve, field: str) -> None:
    """Refuse a curve that has no meaning, naming the field."""
    problem = _problem(curve)
    if problem:
        raise ConfigError(f"{field}: {problem}")


def _problem(curve: Curve) -> str | None:
    positive: dict[str, float] = {}
    match curve:
        case Constant():
            levels = [curve.value]
        case Steps():
            if not curve.points:
                return "steps need at least one point, e.g. points: [[0, 0.5]]"
            times = [at for at, _ in curve.points]
            if times != sorted(set(times)) or times[0] < 0:
                return "the times of the points must be 0 or later and rise"
            if curve.repeat is not None and curve.repeat <= times[-1]:
                return "repeat must be later than the last point"
            levels = [value for _, value in curve.points]
        case Diurnal():
            levels, positive = [curve.low, curve.high], {"period": curve.period}
            if curve.low > curve.high:
                return "low is above high"
        case Spikes():
            levels = [curve.base, curve.peak]
            positive = {"every": curve.every, "lasts": curve.lasts}
            if curve.lasts > curve.every:
                return "lasts is longer than every"
        case Trace():
            if not curve.values:
                return "a trace needs at least one value"
            levels, positive = list(curve.values), {"interval": curve.interval}
    if not all(math.isfinite(level) and level >= 0 for level in levels):
        return "values must be finite and not negative"
    wrong = [name for name, number in positive.items() if not number > 0]
    return f"{wrong[0]} must be above 0" if wrong else None


def value_at(curve: Curve, time: float) -> float:
    """The curve's value at `time` seconds (before 0: as at 0)."""
    time = max(time, 0.0)
    match curve:
        case Constant():
            return curve.value
        case Diurnal():
            swing = math.cos(2 * math.pi * (time - curve.peak_at) / curve.period)
            return (curve.high + curve.low) / 2 + (curve.high - curve.low) / 2 * swing
        case Spikes():
            slot = math.floor(time / curve.every)
            start = slot * curve.every + _offset(curve, slot)
            return curve.peak if start <= time < start + curve.lasts else curve.base
        case Steps():
            within = time if curve.repeat is None else time % curve.repeat
            index = int(np.searchsorted(_step_times(curve), within, side="right")) - 1
            return curve.points[max(index, 0)][1]
        case Trace():
            index = int(time // curve.interval)
            count = len(curve.values)
            return curve.values[index % count if curve.repeat else min(index, count - 1)]


def means(curve: Curve, edges: Times) -> Times:
    """The exact mean between each pair of neighbouring `edges` (rising, in seconds from 0)."""
    if isinstance(curve, Constant):
        return np.full(len(edges) - 1, curve.value)
    area = np.diff(_integral(curve, np.asarray(edges, dtype=np.float64)))
    return np.asarray(np.maximum(area / np.diff(edges), 0.0), dtype=np.float64)


def mean(curve: Curve, start: float, end: float) -> float:
    """The exact mean over [start, end]; at a single instant the value there."""
    if start == end:
        return value_at(curve, start)
    return float(means(curve, np.array([start, end]))[0])


def overall_mean(curve: Curve) -> float:
    """The mean over one period, or over all that was given for a curve that has none."""
    match curve:
        case Diurnal():
            return (curve.low + curve.high) / 2
        case Spikes():
            return curve.base + (curve.peak - curve.base) * curve.lasts / curve.every
        case Trace():
            return float(np.mean(curve.values))
        case Steps():
            return mean(curve, 0.0, curve.repeat or max(curve.points[-1][0], 1.0))
        case Constant():
            return curve.value


def breakpoints(curve: Curve, end: float) -> Times:
    """Moments in (0, end) at which the curve jumps; a smooth curve has none."""
    match curve:
        case Steps():
            period = curve.repeat
            starts = np.arange(0.0, end, period) if period else np.zeros(1)
            moments = (starts[:, None] + _step_times(curve)[None, :]).ravel()
        case Trace():
            last = end if curve.repeat else min(end, curve.interval * len(curve.values))
            moments = np.arange(curve.interval, last, curve.interval)
        case Spikes():
            slots = np.arange(math.ceil(end / curve.every))
            starts = slots * curve.every + _offsets(curve, slots)
            moments = np.sort(np.concatenate([starts, starts + curve.lasts]))
        case _:
            moments = np.zeros(0)
    return moments[(moments > 0) & (moments < end)]


def _integral(curve: Curve, times: Times) -> Times:
    """The area under the curve from 0 to each of `times`."""
    match curve:
        case Constant():
            return curve.value * times
        case Diurnal():
            turn = 2 * math.pi / curve.period
            swing = np.sin(turn * (times - curve.peak_at)) - math.sin(turn * -curve.peak_at)
            return (curve.high + curve.low) / 2 * times + (
                curve.high - curve.low
            ) / 2 * swing / turn
        case Spikes():
            slots = np.floor(times / curve.every)
            into = times - slots * curve.every - _offsets(curve, slots)
            peak_time = slots * curve.lasts + np.clip(into, 0.0, curve.lasts)
            return curve.base * times + (curve.peak - curve.base) * peak_time
        case Trace():
            edges = np.arange(len(curve.values) + 1, dtype=np.float64) * curve.interval
            return _held(edges, _levels(curve), times, repeat=curve.repeat)
        case Steps():
            starts = np.concatenate([[0.0], _step_times(curve)[1:]])
            end = curve.repeat if curve.repeat is not None else starts[-1] + 1.0
            return _held(
                np.append(starts, end), _levels(curve), times, repeat=curve.repeat is not None
            )


def _held(edges: Times, levels: Times, times: Times, *, repeat: bool) -> Times:
    """The area under `levels` held between `edges`, then repeated or going on at the last level."""
    area = np.concatenate([[0.0], np.cumsum(levels * np.diff(edges))])
    period = edges[-1]
    if repeat:
        rounds = np.floor(times / period)
        return np.asarray(rounds * area[-1] + np.interp(times - rounds * period, edges, area))
    beyond = np.maximum(times - period, 0.0) * levels[-1]
    return np.asarray(np.interp(np.minimum(times, period), edges, area) + beyond)


@lru_cache(maxsize=65_536)
def _levels(curve: Steps | Trace) -> Times:
    values = curve.values if isinstance(curve, Trace) else [value for _, value in curve.points]
    return np.array(values, dtype=np.float64)


def _step_times(curve: Steps) -> Times:
    return np.array([at for at, _ in curve.points], dtype=np.float64)


def _offset(curve: Spikes, slot: int) -> float:
    return float(_offsets(curve, np.array([slot]))[0])


def _offsets(curve: Spikes, slots: NDArray[np.generic]) -> Times:
    """When in each slot its spike starts: a hash of seed and slot, so any moment costs the same."""
    with np.errstate(over="ignore"):
        mixed = slots.astype(np.uint64) + np.uint64(curve.seed % 2**64) * np.uint64(
            0x9E3779B97F4A7C15
        )
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    share = (mixed >> np.uint64(11)).astype(np.float64) / 2**53
    return np.asarray(share * (curve.every - curve.lasts))
