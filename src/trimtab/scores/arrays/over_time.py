"""Prometheus' functions over time and its quantile, to the letter, on arrays.

A range is open on the left: `[1m]` at 60 s holds the samples after 0 s up to 60 s. Samples
are on the axis before the last; the result has that axis removed.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.scores.arrays.window import Floats
from trimtab.scores.expr import Over


def milliseconds(times: Floats) -> NDArray[np.int64]:
    """Prometheus' clock: whole milliseconds, so that a range's edge is never a rounding matter."""
    return np.rint(times * 1000).astype(np.int64)


def first_in_range(clock: NDArray[np.int64], last: int, window_s: float) -> int:
    """The index of the oldest sample in the range that ends with sample `last`."""
    return int(np.searchsorted(clock, clock[last] - round(window_s * 1000), side="right"))


def reduce_over_time(over: Over, series: Floats, times: Floats) -> Floats:
    """`series` (..., samples, nodes) reduced to (..., nodes), as `over` says."""
    match over.how:
        case "avg":
            return average(series)
        case "stddev":
            return np.asarray(series.std(axis=-2))
        case "quantile":
            return quantile(series, over.parameter, axis=-2)
        case "predict":
            return predict_linear(series, times, over.parameter)


def average(series: Floats) -> Floats:
    """`avg_over_time`."""
    return np.asarray(series.mean(axis=-2))


def quantile(values: Floats, q: float, axis: int) -> Floats:
    """Linear between the two nearest ranks, `q * (n - 1)` being the rank."""
    ordered = np.sort(values, axis=axis)
    count = ordered.shape[axis]
    rank = q * (count - 1)
    lower = max(0, int(np.floor(rank)))
    weight = rank - np.floor(rank)
    low = np.take(ordered, lower, axis=axis)
    high = np.take(ordered, min(count - 1, lower + 1), axis=axis)
    return np.asarray(low * (1 - weight) + high * weight)


def predict_linear(series: Floats, times: Floats, ahead_s: float) -> Floats:
    """The least-squares line through the samples, `ahead_s` after the last of them.

    Around the centre of the samples rather than the evaluation time, where Prometheus has its
    origin: the same line, and nothing cancels. One sample has no slope and predicts itself.
    """
    centred = times - times.mean()
    level = average(series)
    spread = float(centred @ centred)
    if spread == 0.0:
        return level
    slope = np.einsum("s,...sn->...n", centred, series - level[..., np.newaxis, :]) / spread
    return np.asarray(level + slope * (centred[-1] + ahead_s))
