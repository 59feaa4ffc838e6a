"""What the NumPy back end evaluates: the samples of a cluster's inputs up to now.

A window stands for the base records in Prometheus: `values[r, s, n, k]` is input `k` of node
`n` at `times[s]`, in replica `r` of a simulation. Nodes come in the order of their names;
where two nodes tie, the Pareto front takes them in this order.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.errors import ConfigError
from trimtab.scores.expr import COLUMNS, Over

Floats = NDArray[np.float64]


class Window(Struct, frozen=True, eq=False):
    """Samples of all nodes, oldest first; the last one is now.

    values: (replicas, samples, nodes, columns); columns in the order of `expr.COLUMNS`:
        CPU usage, CPU pressure, memory usage, memory pressure and, optionally, CPU in flight
        and memory in flight (arriving minus leaving, taken as 0 if left out).
    times: (samples,), seconds, increasing.
    averaged: the values already are means over the minute before each time; whoever has the
        load in closed form can integrate it better than samples would.
    """

    values: Floats
    times: Floats
    averaged: bool = False

    def __post_init__(self) -> None:
        _check(self.values, self.times)


def window(
    values: NDArray[np.floating] | Sequence[object],
    times: NDArray[np.floating] | Sequence[float] | None = None,
) -> Window:
    """A window from anything array-like, with the axes that are missing added in front.

    (nodes, columns) is one sample of one replica; (samples, nodes, columns) is one replica.
    Without `times` there must be one sample.
    """
    array = np.asarray(values, dtype=np.float64)
    while array.ndim < 4:
        array = array[np.newaxis]
    return Window(array, np.asarray([0.0] if times is None else times, dtype=np.float64))


def _check(values: Floats, times: Floats) -> None:
    check_values(values)
    if times.shape != (values.shape[1],) or not len(times):
        raise ConfigError(
            f"window: {values.shape[1]} samples but {times.size} times; give one each"
        )
    if np.any(np.diff(times) <= 0):
        raise ConfigError("window: the times do not increase; sort the samples")


def check_values(values: Floats) -> None:
    """(replicas, samples, nodes, columns), some nodes, and a number everywhere."""
    if values.ndim != 4 or values.shape[3] not in (4, len(COLUMNS)):
        raise ConfigError(
            f"window: the values have the shape {values.shape}; "
            "give (replicas, samples, nodes, 4 or 6 columns)"
        )
    if not values.shape[2]:
        raise ConfigError("window: it has no nodes; a score compares nodes")
    if not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(values))[0]
        raise ConfigError(
            f"window: {COLUMNS[where[3]]} of node {where[2]} at sample {where[1]} is not a number; "
            "leave out nodes that lack an input, as the base rules do"
        )


# Prometheus' functions over time and its quantile, to the letter, on arrays.
#
# A range is open on the left: `[1m]` at 60 s holds the samples after 0 s up to 60 s. Samples
# are on the axis before the last; the result has that axis removed.


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
