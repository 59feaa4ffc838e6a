"""Prometheus' functions over time, on values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders.examples import examples
from trimtab.scores import CATALOG, Window, define, evaluate, evaluate_means, window
from trimtab.scores.arrays.window import (
    Floats,
    first_in_range,
    milliseconds,
    predict_linear,
    quantile,
)
from trimtab.scores.expr import Expr
from trimtab.scores.inputs import cpu_usage
from trimtab.scores.language import average_over, predict, quantile_over, record, stddev_over


def value(expr: Expr, cpu: list[float], times: list[float]) -> float:
    """The score of one node whose CPU usage was `cpu`, instant mode."""
    values = [[[c, 0, 0, 0]] for c in cpu]
    return float(evaluate(define("x", expr, formula=""), window(values, times), mode="score")[0, 0])


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        pytest.param(0.25, 0.175, id="a quarter of the way between two"),
        pytest.param(0.5, 0.25, id="the middle of an even number"),
        pytest.param(0.66, 0.298, id="rank 1.98"),
        pytest.param(0.0, 0.1, id="the smallest"),
        pytest.param(1.0, 0.4, id="the largest"),
    ],
)
def test_quantiles_lie_between_the_nearest_ranks(q: float, expected: float) -> None:
    samples = np.array([[0.4], [0.1], [0.3], [0.2]])
    assert quantile(samples, q, axis=0)[0] == pytest.approx(expected, abs=1e-15)


@settings(max_examples=examples(50), deadline=None)
@given(arrays(np.float64, (7, 3), elements=st.floats(0, 1)), st.floats(0, 1))
def test_quantiles_are_those_of_numpys_linear_method(samples: Floats, q: float) -> None:
    np.testing.assert_allclose(
        quantile(samples, q, axis=0), np.quantile(samples, q, axis=0), atol=1e-12
    )


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param([0, 15, 30, 45, 60], 1, id="the sample on the left edge is outside"),
        pytest.param([0.001, 15, 30, 45, 60], 0, id="one millisecond later it is inside"),
        pytest.param([0, 60.0001], 1, id="times are rounded to milliseconds first"),
        pytest.param([60], 0, id="a sample alone"),
    ],
)
def test_a_range_is_open_on_the_left(times: list[float], expected: int) -> None:
    clock = milliseconds(np.array(times))
    assert first_in_range(clock, len(times) - 1, 60.0) == expected


def test_the_minute_of_the_mean_holds_the_last_four_quarters() -> None:
    values = [[[c, 0, 0, 0]] for c in (0.9, 0.1, 0.2, 0.3, 0.4)]
    result = evaluate(CATALOG["weighted_average"], window(values, np.arange(5) * 15.0))
    assert result[0, 0] == pytest.approx(0.25 / 4)


def test_deviation_is_that_of_the_population() -> None:
    assert value(stddev_over(cpu_usage, 300), [0.2, 0.4], [0, 15]) == pytest.approx(0.1)
    assert value(stddev_over(cpu_usage, 300), [0.7], [0]) == 0


def test_a_line_is_prolonged_from_the_last_sample() -> None:
    assert value(predict(cpu_usage, 600, 30), [0.1, 0.2, 0.3], [0, 15, 30]) == pytest.approx(0.5)


def test_one_sample_predicts_itself() -> None:
    assert value(predict(cpu_usage, 600, 120), [0.3], [0]) == 0.3


@settings(max_examples=examples(50), deadline=None)
@given(arrays(np.float64, (6, 2), elements=st.floats(0, 1)), st.floats(0, 600))
def test_predictions_are_those_of_a_least_squares_fit(series: Floats, ahead: float) -> None:
    times = np.array([0.0, 15, 30, 45, 75, 90]) + 1e9  # far from the origin, as real clocks are
    fit = np.polynomial.polynomial.polyfit(times - times[-1], series, 1)
    expected = fit[0] + fit[1] * ahead
    np.testing.assert_allclose(predict_linear(series, times, ahead), expected, atol=1e-9)


def test_reducers_look_at_what_was_recorded_at_each_sample() -> None:
    """The mean of squares, not the square of the mean."""
    squared = record("squared", cpu_usage**2)
    assert value(average_over(squared, 300), [0.2, 0.6], [0, 15]) == pytest.approx(0.2)


def test_windows_over_windows_look_back_over_both() -> None:
    smooth = record("smooth", average_over(cpu_usage, 30))
    score = define("x", quantile_over(0.0, smooth, 45), formula="")
    assert score.lookback("score") == 75
    assert score.lookback_s == 135
    values = [[[c, 0, 0, 0]] for c in (0.0, 0.8, 0.4, 0.6, 0.2)]
    result = evaluate(score, window(values, np.arange(5) * 15.0), mode="score")
    assert result[0, 0] == pytest.approx(0.4)  # of 0.6, 0.5, 0.4; the first pair is too old


def test_means_given_as_means_are_not_averaged_again() -> None:
    means = np.array([[[[0.2, 0, 0, 0]], [[0.4, 0, 0, 0]]]])
    result = evaluate(CATALOG["cpu_focused"], Window(means, np.array([0.0, 15.0]), averaged=True))
    assert result[0, 0] == evaluate_means(CATALOG["cpu_focused"], means[:, 1])[0, 0]
