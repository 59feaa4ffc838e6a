"""Evaluates scores on a window with NumPy, for all replicas at once.

Inside, every value is an array (..., nodes); what belongs to the cluster keeps a last axis of
one, so operators broadcast. Each distinct part is computed once per instant, however many
scores use it.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import ConfigError
from trimtab.scores.arrays.compiled import Value, compiled
from trimtab.scores.arrays.window import (
    Floats,
    Window,
    check_values,
    first_in_range,
    milliseconds,
    reduce_over_time,
)
from trimtab.scores.expr import COLUMNS, Dominant, Expr, Over, ParetoFront, Record, walk
from trimtab.scores.inputs import DIMENSIONS
from trimtab.scores.score import MEAN_WINDOW_S, Mode, Score


def evaluate(score: Score, window: Window, *, mode: Mode = "avg1m") -> Floats:
    """The score of every node at the end of the window: (replicas, nodes), in [0, 1]."""
    return evaluate_many([score], window, mode=mode)[score.name]


def evaluate_many(
    scores: Iterable[Score], window: Window, *, mode: Mode = "avg1m"
) -> dict[str, Floats]:
    """Several scores by name; what they have in common is computed once."""
    return _evaluate(scores, _History(window, mode).instant(len(window.times) - 1))


def evaluate_means(score: Score, values: Floats) -> Floats:
    """The `avg1m` score from 1-minute means (replicas, nodes, 4 or 6): (replicas, nodes).

    For callers that integrate the load themselves; a score that looks further back needs a
    `Window` of such means with `averaged=True`.
    """
    return evaluate_means_many([score], values)[score.name]


def evaluate_means_many(scores: Iterable[Score], values: Floats) -> dict[str, Floats]:
    """`evaluate_means` for several scores; what they have in common is computed once."""
    chosen = list(scores)
    for score in chosen:
        if score.lookback_s > MEAN_WINDOW_S:
            raise ConfigError(
                f'score "{score.name}": it looks back {score.lookback_s:g} s; '
                "give a window of samples instead of the means of one minute"
            )
    check_values(values[:, np.newaxis])
    return _evaluate(chosen, _Instant(_split(_as_recorded(values)), None, 0))


def _evaluate(scores: Iterable[Score], now: "_Instant") -> dict[str, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):  # as in PromQL; `_result` looks at it
        return {score.name: _result(score, now) for score in scores}


def _result(score: Score, now: "_Instant") -> Floats:
    found = now.value(score.value)
    result = np.broadcast_to(found, now.shape).copy() if np.shape(found) != now.shape else found
    assert isinstance(result, np.ndarray)
    if np.isnan(result).any():
        raise ConfigError(
            f'score "{score.name}": the result of node {np.argwhere(np.isnan(result))[0][-1]} '
            "is not a number; keep divisors and roots away from zero and below with clamp()"
        )
    return result


class _History:
    """The columns of the mode at every sample: as they are, or the mean of the last minute."""

    def __init__(self, window: Window, mode: Mode) -> None:
        self._values = _as_recorded(window.values)
        self._averages = mode == "avg1m" and not window.averaged
        self._clock = milliseconds(window.times)
        self._instants: dict[int, _Instant] = {}
        self._runs: dict[range, _Instant] = {}
        self.times = window.times

    def since(self, last: int, window_s: float) -> range:
        """The samples of a range selector at sample `last`."""
        return range(first_in_range(self._clock, last, window_s), last + 1)

    def instant(self, sample: int) -> "_Instant":
        """Values (replicas, nodes) at one sample."""
        if sample not in self._instants:
            self._instants[sample] = _Instant(_split(self._at(sample)), self, sample)
        return self._instants[sample]

    def run(self, samples: range) -> "_Instant":
        """Values (replicas, samples, nodes) at each of the samples."""
        if samples not in self._runs:
            self._runs[samples] = _Instant(_split(self._during(samples)), self, samples[-1])
        return self._runs[samples]

    def _during(self, samples: range) -> Floats:
        if not self._averages:
            return self._values[:, samples.start : samples.stop]
        return np.stack([self._at(sample) for sample in samples], axis=1)

    def _at(self, sample: int) -> Floats:
        if not self._averages:
            return self._values[:, sample]
        first = first_in_range(self._clock, sample, MEAN_WINDOW_S)
        return np.asarray(self._values[:, first : sample + 1].mean(axis=1))


def _split(values: Floats) -> list[Floats]:
    """One contiguous array a column: sums over nodes then never depend on the replicas."""
    columns = [np.ascontiguousarray(values[..., k]) for k in range(values.shape[-1])]
    missing = len(COLUMNS) - len(columns)
    return columns + [np.zeros_like(columns[0])] * missing


def _as_recorded(values: Floats) -> Floats:
    """The base rules take a negative input for 0, sample by sample."""
    inputs = values[..., : len(DIMENSIONS)]
    if inputs.min() >= 0:
        return values
    return np.concatenate([np.maximum(inputs, 0), values[..., len(DIMENSIONS) :]], axis=-1)


class _Instant:
    """Values at one instant, or at a run of instants if the columns have an axis for them.

    Without a history nothing can look back: fine for scores that do not.
    """

    def __init__(self, columns: list[Floats], history: _History | None, sample: int) -> None:
        self.columns: dict[str, Floats] = dict(zip(COLUMNS, columns, strict=True))
        self.known: dict[Record, Value] = {}
        self.shape = columns[0].shape
        self._history, self._sample = history, sample

    def value(self, expr: Expr) -> Value:
        return compiled(expr)(self)

    def dominant(self, expr: Dominant) -> Floats:
        means = np.concatenate([np.asarray(self.value(m)) for m in expr.means], axis=-1)
        near = means >= means.max(axis=-1, keepdims=True) - expr.tolerance
        chosen = np.argmax(near, axis=-1)[..., np.newaxis]
        result = np.zeros(self.shape)
        for position, candidate in enumerate(expr.candidates):
            np.copyto(result, self.value(candidate), where=chosen == position)
        return result

    def pareto(self, expr: ParetoFront) -> Floats:
        values = np.stack([np.asarray(self.value(x)) for x in expr.inputs], axis=-1)
        flat = values.reshape(-1, *values.shape[-2:])
        return np.stack([pareto_score(cluster) for cluster in flat]).reshape(self.shape)

    def over(self, expr: Over) -> Floats:
        assert self._history is not None
        samples = self._history.since(self._sample, expr.window_s)
        times = self._history.times[samples.start : samples.stop]
        return reduce_over_time(expr, _series(self._history, expr.argument, samples), times)


def _series(history: _History, expr: Expr, samples: range) -> Floats:
    """`expr` at each of the samples: (replicas, samples, nodes)."""
    if any(isinstance(part, Over) for part in walk(expr)):
        values = [np.asarray(history.instant(s).value(expr)) for s in samples]
        return np.stack(values, axis=1)
    return np.asarray(history.run(samples).value(expr))


# The Pareto score of every node: its non-dominated front, and how crowded it is there.
#
# A node dominates another when it is no more loaded in any input and less in one. The front of
# a node is the length of the longest chain of dominators below it (NSGA-II's front index).
# 5,000 nodes take about 12.5 million comparisons, done in rows of small integers: ranks say
# the same as values and are four times as dense.
CROWDING = 0.1  # the share of a score that crowding can add


def pareto_score(values: Floats) -> Floats:
    """Scores (nodes,) from `values` (nodes, 4), nodes in name order."""
    front = front_index(values)
    distance = crowding(values, front)
    base = front / max(1, front.max())
    return np.asarray(np.clip(base + _contribution(distance, front), 0.0, 1.0))


def front_index(values: Floats) -> NDArray[np.int64]:
    """The front (0 is the best) of every row of `values`, by dominance; equal rows share one."""
    rows, inverse = np.unique(values, axis=0, return_inverse=True)
    # Sorted rows: only an earlier row can dominate, and its first input is never larger.
    ranks = [_ranks(column) for column in rows.T[1:]]
    depth = np.zeros(len(rows), dtype=ranks[0].dtype)  # front + 1, so that 0 means "no dominator"
    mask, scratch = np.empty(len(rows), dtype=bool), np.empty(len(rows), dtype=bool)
    for i in range(len(rows)):
        below = mask[:i]
        np.less_equal(ranks[0][:i], ranks[0][i], out=below)
        for column in ranks[1:]:
            np.less_equal(column[:i], column[i], out=scratch[:i])
            np.logical_and(below, scratch[:i], out=below)
        depth[i] = 1 + (depth[:i] * below).max(initial=0)
    return np.asarray(depth[inverse.reshape(-1)].astype(np.int64) - 1)


def _ranks(column: Floats) -> NDArray[np.signedinteger]:
    """Small integers in the order of the values, equal for equal values."""
    ranks = np.unique(column, return_inverse=True)[1].reshape(-1)
    return ranks.astype(np.int16 if len(ranks) < 2**15 - 1 else np.int32)


def crowding(values: Floats, front: NDArray[np.int64]) -> Floats:
    """The sum over inputs of (next - previous) / range inside the front; infinite at its ends.

    Neighbours are found by (value, position), so equal nodes have one definite order.
    """
    distance = np.zeros(len(values))
    for column in values.T:
        order = np.lexsort((np.arange(len(values)), column, front))
        ordered, label = column[order], front[order]
        starts = np.flatnonzero(np.diff(label, prepend=-1))
        ends = np.append(starts[1:], len(label)) - 1
        extent = np.repeat(ordered[ends] - ordered[starts], ends - starts + 1)
        gap = np.zeros(len(values))
        gap[1:-1] = ordered[2:] - ordered[:-2]
        share = np.divide(gap, extent, out=np.zeros(len(values)), where=extent > 0)
        share[starts] = share[ends] = np.inf
        distance[order] += share
    return distance


def _contribution(distance: Floats, front: NDArray[np.int64]) -> Floats:
    """At most `CROWDING`, most for the most crowded node of a front; half if all are alike."""
    finite = np.isfinite(distance)
    widest = np.zeros(front.max() + 1)
    np.maximum.at(widest, front[finite], distance[finite])
    share = np.full(len(distance), 0.5)
    reference = widest[front]
    np.divide(distance, reference, out=share, where=finite & (reference > 0))
    return np.asarray(np.where(finite, CROWDING * (1 - share), 0.0))
