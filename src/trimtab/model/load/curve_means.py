"""Means of curves over intervals, exact and many at once."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.model.load.curve import (
    Constant,
    Curve,
    Diurnal,
    Spikes,
    Steps,
    Trace,
    chance,
    levels,
    value_at,
)

Times: TypeAlias = NDArray[np.float64]
_ROWS_AT_ONCE = 4096  # of a matrix of traces: 10 MB at a time instead of 1 GB for 100,000 VMs


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
        starts = _every(interval, count + 1)
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


def _every(period: float, count: int) -> Times:
    return np.asarray(np.arange(count) * period, dtype=np.float64)


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
            starts = _every(curve.interval, len(curve.values) + 1)
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
    shares = chance(slots.astype(np.int64).astype(np.uint64), curve.seed)
    return np.asarray(shares * (curve.every - curve.lasts), dtype=np.float64)
