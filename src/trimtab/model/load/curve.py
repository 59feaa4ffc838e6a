"""Load over time: how much of its allocation a VM uses at each moment.

A curve is a value, so the simulator, the exporter and a pod's annotation share it. Time is
in seconds from the scenario's start. Every curve has a value at an instant and a mean over
an interval in closed form; nothing is sampled. All are piecewise smooth and never negative.
"""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.model.load.curve_kinds import (
    DAY_S,
    Constant,
    Curve,
    Diurnal,
    Spikes,
    Steps,
    Trace,
    check_curve,
    levels,
)

__all__ = [
    "DAY_S",
    "Constant",
    "Curve",
    "Diurnal",
    "Spikes",
    "Steps",
    "Times",
    "Trace",
    "breakpoints",
    "check_curve",
    "levels",
    "mean",
    "mean_matrix",
    "means",
    "overall_mean",
    "value_at",
]

Times: TypeAlias = NDArray[np.float64]
_64_BITS = 2**64 - 1
_ROWS_AT_ONCE = 4096  # of a matrix of traces: 10 MB at a time instead of 1 GB for 100,000 VMs


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
            slot = math.floor((time - curve.delay) / curve.every)
            offset = _chance(slot % 2**64, curve.seed) * (curve.every - curve.lasts)
            start = slot * curve.every + offset
            spiking = start <= time - curve.delay < start + curve.lasts
            return curve.peak if spiking else curve.base
        case Steps():
            within = time - curve.delay
            if curve.repeat is not None:
                within %= curve.repeat
            index = bisect_right(curve.points, within, key=itemgetter(0)) - 1
            return curve.points[max(index, 0)][1]
        case Trace():
            index, count = int(time // curve.interval), len(curve.values)
            return curve.values[index % count if curve.repeat else min(index, count - 1)]


def means(curve: Curve, edges: Times) -> Times:
    """The exact mean between each pair of neighbouring `edges` (rising, in seconds from 0)."""
    if isinstance(curve, Constant):
        return np.full(len(edges) - 1, curve.value)
    return _slopes(_integral(curve, np.asarray(edges, dtype=np.float64)), edges)


def mean_matrix(curves: Sequence[Curve], edges: Times) -> NDArray[np.float64]:
    """`means` of each curve as (curves, intervals); traces alike in shape are done at once."""
    result = np.empty((len(curves), len(edges) - 1))
    alike: defaultdict[tuple[int, float, bool], list[int]] = defaultdict(list)
    for row, curve in enumerate(curves):
        if isinstance(curve, Constant):
            result[row] = curve.value
        elif isinstance(curve, Trace):
            alike[len(curve.values), curve.interval, curve.repeat].append(row)
        else:
            result[row] = means(curve, edges)
    for (count, interval, repeat), rows in alike.items():
        starts = _every(interval, 0, count + 1)
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            each = chain.from_iterable(levels(curves[row]) for row in some)
            values = np.fromiter(each, np.float64, len(some) * count).reshape(-1, count)
            area = _held(starts, values, np.asarray(edges), repeat=repeat)
            result[some] = _slopes(area, edges)
    return result


def mean(curve: Curve, start: float, end: float) -> float:
    """The exact mean over [start, end]; at a single instant the value there."""
    if start == end:
        return value_at(curve, start)
    return float(means(curve, np.array([start, end]))[0])


def overall_mean(curve: Curve) -> float:
    """The mean over one period; without one, over the points or values as they are given.

    The last of several points is then held as long as the others are on average.
    """
    match curve:
        case Constant():
            return curve.value
        case Diurnal():
            return (curve.low + curve.high) / 2
        case Spikes():
            return curve.base + (curve.peak - curve.base) * curve.lasts / curve.every
        case Trace():
            return float(np.mean(curve.values))
        case Steps():
            last, count = curve.points[-1][0], len(curve.points)
            span = curve.repeat or (last * count / (count - 1) if count > 1 else 1.0)
            return mean(curve, curve.delay, curve.delay + span)


def breakpoints(curve: Curve, end: float) -> Times:
    """Moments in (0, end) at which the curve may jump, rising; a smooth curve has none."""
    match curve:
        case Steps():
            turns = _turns(curve.delay, end, curve.repeat)
            inner = _starts(curve) if curve.repeat is not None else _starts(curve)[1:]
            moments = (turns[:, None] + inner[None, :]).ravel()
        case Trace() if curve.repeat:
            moments = _turns(0.0, end, curve.interval)
        case Trace():
            moments = _every(curve.interval, 1, len(curve.values))
        case Spikes():
            turns = _turns(curve.delay, end, curve.every)
            slots = np.round((turns - curve.delay) / curve.every)
            begins = turns + _offsets(curve, slots)
            moments = np.sort(np.concatenate([begins, begins + curve.lasts]))
        case _:
            moments = np.zeros(0)
    return moments[(moments > 0) & (moments < end)]


def _turns(delay: float, end: float, period: float | None) -> Times:
    """When each repetition that touches (0, end) begins; without a period there is one."""
    if period is None:
        return np.array([delay])
    first, last = math.floor(-delay / period), math.ceil((end - delay) / period)
    return delay + _every(period, first, last)


def _every(period: float, first: int, last: int) -> Times:
    return np.asarray(np.arange(first, last) * period, dtype=np.float64)


def _slopes(area: Times, edges: Times) -> Times:
    return np.asarray(np.maximum(np.diff(area) / np.diff(edges), 0.0), dtype=np.float64)


def _integral(curve: Curve, times: Times) -> Times:
    """The area under the curve up to each of `times`, from a moment that is always the same."""
    match curve:
        case Constant():
            return curve.value * times
        case Diurnal():
            turn = 2 * math.pi / curve.period
            swing = np.sin(turn * (times - curve.peak_at)) / turn
            return (curve.high + curve.low) / 2 * times + (curve.high - curve.low) / 2 * swing
        case Spikes():
            slots = np.floor((times - curve.delay) / curve.every)
            into = times - curve.delay - slots * curve.every - _offsets(curve, slots)
            peak_time = slots * curve.lasts + np.clip(into, 0.0, curve.lasts)
            return curve.base * times + (curve.peak - curve.base) * peak_time
        case Trace():
            starts = _every(curve.interval, 0, len(curve.values) + 1)
            values = np.array(curve.values, dtype=np.float64)
            return _held(starts, values, times, repeat=curve.repeat)
        case Steps():
            starts = _starts(curve)
            ends = np.append(starts, starts[-1] + 1 if curve.repeat is None else curve.repeat)
            values = np.array(levels(curve), dtype=np.float64)
            return _held(ends, values, times - curve.delay, repeat=curve.repeat is not None)


def _held(edges: Times, values: Times, times: Times, *, repeat: bool) -> Times:
    """The area from 0 to `times` under `values` (…, n) held between `edges` (n + 1, from 0 on).

    Outside of the edges the pattern repeats, or the first and last value go on.
    """
    area = np.zeros((*values.shape[:-1], len(edges)))
    np.cumsum(values * np.diff(edges), axis=-1, out=area[..., 1:])
    rounds = np.floor(times / edges[-1]) if repeat else np.zeros(len(times))
    within = times - rounds * edges[-1]
    index = np.clip(np.searchsorted(edges, within, side="right") - 1, 0, values.shape[-1] - 1)
    partial = area[..., index] + values[..., index] * (within - edges[index])
    return np.asarray(rounds * area[..., -1:] + partial, dtype=np.float64)


def _starts(curve: Steps) -> Times:
    """When each value begins within the pattern: the first one at 0, whatever its point says."""
    return np.array([0.0, *(at for at, _ in curve.points[1:])])


def _offsets(curve: Spikes, slots: Times) -> Times:
    """When in each slot its spike starts."""
    shares = _chance(slots.astype(np.int64).astype(np.uint64), curve.seed)
    return np.asarray(shares * (curve.every - curve.lasts), dtype=np.float64)


def _chance(slot: Any, seed: int) -> Any:
    """A number in [0, 1) for a slot: a hash (splitmix64), so any moment costs the same.

    For a whole number or an array of uint64 alike: the exporter asks for one moment at a
    time, where an array of one costs more than twice as much.
    """
    mixed = (slot + seed * 0x9E3779B97F4A7C15 % 2**64) & _64_BITS
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & _64_BITS
    return ((mixed ^ (mixed >> 31)) >> 11) / 2**53
