"""Evaluates scores on a window with NumPy, for all replicas at once.

Inside, every value is an array (..., nodes); what belongs to the cluster keeps a last axis of
one, so operators broadcast. Each distinct part is computed once per instant, however many
scores use it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from trimtab.errors import ConfigError
from trimtab.scores.expr import (
    COLUMNS,
    Across,
    Binary,
    Clamp,
    Dominant,
    Expr,
    Extreme,
    Function,
    Input,
    Number,
    Over,
    ParetoFront,
    Pick,
    Record,
    walk,
)
from trimtab.scores.inputs import DIMENSIONS
from trimtab.scores.over_time import first_in_range, milliseconds, quantile, reduce_over_time
from trimtab.scores.pareto import pareto_score
from trimtab.scores.score import MEAN_WINDOW_S, Mode, Score
from trimtab.scores.window import Floats, Window, window

Value: TypeAlias = Floats | float


def evaluate(score: Score, window: Window, *, mode: Mode = "avg1m") -> Floats:
    """The score of every node at the end of the window: (replicas, nodes), in [0, 1]."""
    return evaluate_many([score], window, mode=mode)[score.name]


def evaluate_many(
    scores: Iterable[Score], window: Window, *, mode: Mode = "avg1m"
) -> dict[str, Floats]:
    """Several scores by name; what they have in common is computed once."""
    now = _History(window, mode).instant(len(window.times) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # as in PromQL; `_result` looks at it
        return {score.name: _result(score, now) for score in scores}


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
    return evaluate_many(chosen, window(values[:, np.newaxis], averaged=True))


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
            self._instants[sample] = _Instant(self._split(self._at(sample)), self, sample)
        return self._instants[sample]

    def run(self, samples: range) -> "_Instant":
        """Values (replicas, samples, nodes) at each of the samples."""
        if samples not in self._runs:
            self._runs[samples] = _Instant(self._split(self._during(samples)), self, samples[-1])
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

    def _split(self, values: Floats) -> list[Floats]:
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
    """Values at one instant, or at a run of instants if the columns have an axis for them."""

    def __init__(self, columns: list[Floats], history: _History, sample: int) -> None:
        self._columns: Mapping[str, Floats] = dict(zip(COLUMNS, columns, strict=True))
        self._history, self._sample = history, sample
        self._known: dict[Record, Value] = {}
        self.shape = columns[0].shape

    def value(self, expr: Expr) -> Value:
        """The value of `expr`; what has a name is kept for the next score that uses it."""
        if not isinstance(expr, Record):
            return self._compute(expr)
        if (known := self._known.get(expr)) is None:
            known = self._known[expr] = self.value(expr.argument)
        return known

    def _compute(self, expr: Expr) -> Value:
        match expr:
            case Number():
                return expr.value
            case Input():
                return self._columns[expr.column]
            case Binary() | Function() | Clamp() | Extreme():
                return self._elementwise(expr)
            case Pick():
                above = np.greater(self.value(expr.left), self.value(expr.right))
                return np.where(above, self.value(expr.then), self.value(expr.otherwise))
            case Across():
                return _across(expr, self._everywhere(self.value(expr.argument)))
            case Dominant():
                return self._dominant(expr)
            case ParetoFront():
                return self._pareto(expr)
            case Over():
                return self._over(expr)
        raise TypeError(f"{type(expr).__name__} is not an expression of this language")

    def _elementwise(self, expr: Binary | Function | Clamp | Extreme) -> Value:
        """Into the array of an operand that nobody else holds, if there is one.

        Fresh memory is what costs here: 5,000 nodes, 18 scores, 1.0 ms instead of 2.3.
        """
        values = [self.value(part) for part in expr.parts]
        for part, value in zip(expr.parts, values, strict=True):
            if isinstance(part, _ELEMENTWISE) and np.shape(value) == self.shape:
                return _apply(expr, values, value)
        return _apply(expr, values, None)

    def _dominant(self, expr: Dominant) -> Floats:
        means = np.concatenate([np.asarray(self.value(m)) for m in expr.means], axis=-1)
        near = means >= means.max(axis=-1, keepdims=True) - expr.tolerance
        chosen = np.argmax(near, axis=-1)[..., np.newaxis]
        result = np.zeros(self.shape)
        for position, candidate in enumerate(expr.candidates):
            np.copyto(result, self.value(candidate), where=chosen == position)
        return result

    def _everywhere(self, value: Value) -> Floats:
        """The same value for every node, if it belongs to the cluster or is a number."""
        if isinstance(value, np.ndarray) and value.shape == self.shape:
            return value
        return np.broadcast_to(value, self.shape)

    def _pareto(self, expr: ParetoFront) -> Floats:
        values = np.stack([np.asarray(self.value(x)) for x in expr.inputs], axis=-1)
        flat = values.reshape(-1, *values.shape[-2:])
        return np.stack([pareto_score(cluster) for cluster in flat]).reshape(self.shape)

    def _over(self, expr: Over) -> Floats:
        samples = self._history.since(self._sample, expr.window_s)
        times = self._history.times[samples.start : samples.stop]
        return reduce_over_time(expr, self._series(expr.argument, samples), times)

    def _series(self, expr: Expr, samples: range) -> Floats:
        """`expr` at each of the samples: (replicas, samples, nodes)."""
        if any(isinstance(part, Over) for part in walk(expr)):
            values = [np.asarray(self._history.instant(s).value(expr)) for s in samples]
            return np.stack(values, axis=1)
        return np.asarray(self._history.run(samples).value(expr))


_ELEMENTWISE = (Binary, Function, Clamp, Extreme)
_OPERATIONS: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
    "larger": np.maximum,
    "smaller": np.minimum,
    "sqrt": np.sqrt,
    "abs": np.abs,
}


def _apply(
    expr: Binary | Function | Clamp | Extreme, values: list[Value], out: Value | None
) -> Value:
    result: Value
    match expr:
        case Binary():
            result = _binary(expr, values[0], values[1], out)
        case Clamp():
            result = _clamp(expr, values[0], out)
        case Function():
            result = _OPERATIONS[expr.name](values[0], out=out)
        case Extreme():
            result = _OPERATIONS[expr.which](*values, out=out)
    return result


def _binary(expr: Binary, left: Value, right: Value, out: Any) -> Value:
    if expr.operator == "^" and isinstance(right, float) and right == 2.0:
        return np.square(left, out=out)
    result: Value = _OPERATIONS[expr.operator](left, right, out=out)
    return result


def _clamp(expr: Clamp, value: Any, out: Any) -> Value:
    if expr.low is not None:
        value = out = np.maximum(value, expr.low, out=out)
    result: Value = value if expr.high is None else np.minimum(value, expr.high, out=out)
    return result


def _across(expr: Across, values: Floats) -> Floats:
    match expr.how:
        case "avg":
            return np.asarray(values.mean(axis=-1, keepdims=True))
        case "max":
            return np.asarray(values.max(axis=-1, keepdims=True))
        case "quantile":
            return quantile(values, expr.quantile, axis=-1)[..., np.newaxis]
