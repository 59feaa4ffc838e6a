"""Load curves: means are exact, values stay within limits, jumps are where they are announced."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.errors import ConfigError
from trimtab.model.load.curve import (
    Constant,
    Curve,
    Diurnal,
    Spikes,
    Steps,
    Trace,
    chance,
    check_curve,
    levels,
    overall_mean,
    value_at,
)
from trimtab.model.load.curve_means import mean, mean_matrix, means

shares = st.floats(0, 2).map(lambda x: round(x, 3))
moments = st.integers(0, 2000).map(float)
delays = st.integers(-3000, 3000).map(float)
END = 4000.0


@st.composite
def steps(draw: st.DrawFn) -> Steps:
    times = sorted(draw(st.sets(moments, min_size=1, max_size=5)))
    points = tuple((at, draw(shares)) for at in times)
    repeat = draw(st.none() | st.integers(50, 900).map(lambda more: times[-1] + more))
    return Steps(points, repeat, draw(delays))


@st.composite
def spikes(draw: st.DrawFn) -> Spikes:
    every = draw(st.integers(100, 900).map(float))
    lasts = draw(st.floats(0.01, 1)) * every
    return Spikes(
        draw(shares), draw(shares), every, lasts, draw(st.integers(-(2**70), 2**70)), draw(delays)
    )


constants = st.builds(Constant, shares)
diurnals = st.builds(
    lambda a, b, peak, period: Diurnal(min(a, b), max(a, b), peak, period),
    shares,
    shares,
    delays,
    st.integers(600, 90_000).map(float),
)
traces = st.builds(
    Trace,
    st.lists(shares, min_size=1, max_size=8).map(tuple),
    st.integers(50, 700).map(float),
    st.booleans(),
)
curves: st.SearchStrategy[Curve] = st.one_of(constants, steps(), diurnals, spikes(), traces)


def breakpoints(curve: Curve, end: float) -> Any:
    """Moments in (0, end) at which the curve may jump, rising; a smooth curve has none."""
    match curve:
        case Steps():
            turns = _turns(curve.delay, end, curve.repeat)
            inner = np.array([0.0, *(at for at, _ in curve.points[1:])])
            moments = (turns[:, None] + inner[curve.repeat is None :]).ravel()
        case Trace() if curve.repeat:
            moments = _turns(0.0, end, curve.interval)
        case Trace():
            moments = np.arange(1, len(curve.values)) * curve.interval
        case Spikes():
            turns = _turns(curve.delay, end, curve.every)
            slots = np.round((turns - curve.delay) / curve.every)
            shares = chance(slots.astype(np.int64).astype(np.uint64), curve.seed)
            begins = turns + shares * (curve.every - curve.lasts)
            moments = np.sort(np.concatenate([begins, begins + curve.lasts]))
        case _:
            moments = np.zeros(0)
    return moments[(moments > 0) & (moments < end)]


def _turns(delay: float, end: float, period: float | None) -> Any:
    """When each repetition that touches (0, end) begins; without a period there is one."""
    if period is None:
        return np.array([delay])
    first, last = math.floor(-delay / period), math.ceil((end - delay) / period)
    return delay + np.arange(first, last) * period


@settings(deadline=None, max_examples=examples(25))
@given(curves, moments, st.floats(0.5, 2000))
def test_a_mean_is_the_integral_of_the_values(curve: Curve, start: float, length: float) -> None:
    end = start + length
    edges = np.unique(np.concatenate([[start, end], _within(breakpoints(curve, end), start, end)]))
    area = sum(_quadrature(curve, low, high) for low, high in pairwise(edges))
    assert mean(curve, start, end) == pytest.approx(area / length, abs=1e-6)


def _within(times: Any, start: float, end: float) -> Any:
    return times[(times > start) & (times < end)]


def _quadrature(curve: Curve, low: float, high: float) -> float:
    """Gauss-Legendre between two neighbouring jumps, where every curve is smooth."""
    at, weights = np.polynomial.legendre.leggauss(8)
    pieces = max(1, math.ceil((high - low) / 300))
    edges = np.linspace(low, high, pieces + 1)
    total = 0.0
    for a, b in pairwise(edges):
        values = [value_at(curve, float(t)) for t in (b - a) / 2 * at + (a + b) / 2]
        total += float(weights @ np.array(values)) * (b - a) / 2
    return total


@settings(deadline=None, max_examples=examples(25))
@given(curves, st.floats(0, 1e6))
def test_values_stay_within_the_limits(curve: Curve, time: float) -> None:
    low, high = min(levels(curve)), max(levels(curve))
    assert low - 1e-9 <= value_at(curve, time) <= high + 1e-9


@settings(deadline=None, max_examples=examples(25))
@given(curves, st.lists(st.floats(0, 1e5), min_size=2, max_size=6, unique=True))
def test_means_stay_within_the_limits(curve: Curve, times: list[float]) -> None:
    edges = np.array(sorted(times))
    assume(np.diff(edges).min() > 1)
    low, high = min(levels(curve)), max(levels(curve))
    got = means(curve, edges)
    assert (got >= low - 1e-6).all()
    assert (got <= high + 1e-6).all()


@settings(deadline=None, max_examples=examples(25))
@given(st.one_of(constants, steps(), spikes(), traces))
def test_between_two_announced_jumps_nothing_changes(curve: Curve) -> None:
    edges = np.concatenate([[0.0], breakpoints(curve, END), [END]])
    for low, high in pairwise(edges):
        if high - low > 1e-3:
            inside = np.linspace(low + 1e-6 * (high - low), high - 1e-6 * (high - low), 5)
            assert len({value_at(curve, float(t)) for t in inside}) == 1


@pytest.mark.parametrize(
    ("curve", "jumps"),
    [
        pytest.param(Steps(((0, 0.1), (10, 0.2))), [10], id="steps"),
        pytest.param(
            Steps(((5, 0.1), (10, 0.2)), 20),
            [10, 20, 30, 40],
            id="a first point later than 0 jumps where the pattern repeats, not at the point",
        ),
        pytest.param(Steps(((0, 0.1), (10, 0.2)), 20, 3), [3, 13, 23, 33, 43], id="delayed"),
        pytest.param(Trace((0.1, 0.2, 0.3), 15), [15, 30, 45], id="a repeating trace"),
        pytest.param(Trace((0.1, 0.2), 15, False), [15], id="a trace that ends"),
        pytest.param(Diurnal(0, 1), [], id="a smooth curve"),
        pytest.param(Spikes(0, 1, 10, 10), [10, 20, 30, 40], id="spikes without a pause"),
    ],
)
def test_jumps_are_where_they_are_announced(curve: Curve, jumps: list[float]) -> None:
    announced = breakpoints(curve, 50)
    assert sorted(set(announced.tolist())) == jumps
    for at in announced if not isinstance(curve, Spikes) else []:
        assert value_at(curve, float(at) - 1e-6) != value_at(curve, float(at))


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        pytest.param(Constant(0.3), 0.3, id="constant"),
        pytest.param(Diurnal(0.2, 0.6), 0.4, id="diurnal"),
        pytest.param(Spikes(0.2, 0.7, 100, 20), 0.3, id="spikes"),
        pytest.param(Trace((0.1, 0.2, 0.6)), 0.3, id="trace"),
        pytest.param(Steps(((0, 0.2), (30, 0.6)), 40), 0.3, id="repeating steps"),
        pytest.param(Steps(((0, 0.2), (30, 0.6)), 40, 7), 0.3, id="shifted steps"),
        pytest.param(Steps(((0, 0.2), (30, 0.6))), 0.4, id="the last step counts like the others"),
        pytest.param(Steps(((0, 0.2),)), 0.2, id="one step"),
    ],
)
def test_the_overall_mean_is_over_a_period(curve: Curve, expected: float) -> None:
    assert overall_mean(curve) == pytest.approx(expected)


@settings(deadline=None, max_examples=examples(25))
@given(st.one_of(diurnals, traces, steps()))
def test_the_mean_over_many_periods_is_the_overall_mean(curve: Curve) -> None:
    match curve:
        case Diurnal(period=period):
            pass
        case Trace(repeat=True):
            period = len(curve.values) * curve.interval
        case Steps(repeat=float(period)):
            pass
        case _:
            return
    assert mean(curve, 0, 5 * period) == pytest.approx(overall_mean(curve), abs=1e-9)


@settings(deadline=None, max_examples=examples(25))
@given(st.lists(curves, min_size=1, max_size=12))
def test_a_matrix_of_means_has_the_same_bits(several: list[Curve]) -> None:
    edges = np.array([0.0, 60.0, 61.0, 900.0, 5000.0])
    together = mean_matrix(several, edges)
    for row, curve in zip(together, several, strict=True):
        np.testing.assert_array_equal(row, means(curve, edges))


@settings(deadline=None, max_examples=examples(25))
@given(spikes())
def test_every_span_has_one_spike_of_the_right_length(curve: Spikes) -> None:
    edges = np.array([curve.delay % curve.every + turn * curve.every for turn in range(6)])
    spiking = means(Spikes(0, 1, curve.every, curve.lasts, curve.seed, curve.delay), edges)
    np.testing.assert_allclose(spiking, curve.lasts / curve.every, rtol=1e-9)


def test_moments_of_a_seed_never_change() -> None:
    """Results of published runs depend on them."""
    moments = breakpoints(Spikes(0, 1, 600, 60, seed=7), 1800)
    expected = [93.888647618, 153.888647618, 1073.768290853, 1133.768290853, 1592.230951839]
    np.testing.assert_allclose(moments[:5], expected, rtol=0, atol=1e-9)


def test_seeds_give_different_moments() -> None:
    first = {tuple(breakpoints(Spikes(0, 1, 600, 60, seed), 600)) for seed in range(-50, 50)}
    assert len(first) == 100


def test_before_the_start_it_is_as_at_the_start() -> None:
    curve = Steps(((0, 0.1), (10, 0.2)), 20, delay=5)
    assert value_at(curve, -7) == value_at(curve, 0) == 0.2


def test_at_one_instant_the_mean_is_the_value() -> None:
    assert mean(Trace((0.1, 0.2), 10), 10, 10) == 0.2


@pytest.mark.parametrize(
    ("curve", "problem"),
    [
        (Constant(-0.1), "values must be within 0.."),
        (Constant(math.nan), "values must be within 0.."),
        (Steps(()), "steps need at least one point"),
        (Steps(((0, 0.1), (0, 0.2))), "must rise, within 0.."),
        (Steps(((5, 0.1), (4, 0.2))), "must rise, within 0.."),
        (Steps(((-1, 0.1),)), "must rise, within 0.."),
        (Steps(((0, 0.1), (9, 0.2)), 9), "repeat must be later than the last point"),
        (Steps(((0, 0.1),), math.nan), "repeat must be later than the last point"),
        (Steps(((0, 0.1),), delay=math.inf), "delay must be within"),
        (Diurnal(0.5, 0.4), "low is above high"),
        (Diurnal(0.1, 0.4, period=0), "period must be above 0"),
        (Diurnal(0.1, 0.4, peak_at=math.nan), "peakAt must be within"),
        (Spikes(0.1, 0.9, 10, 11), "lasts is longer than every"),
        (Spikes(0.1, 0.9, 10, 0), "lasts must be above 0"),
        (Spikes(0.1, 0.9, math.inf, 1), "every must be above 0"),
        (Trace(()), "a trace needs at least one value"),
        (Trace((0.1,), 0), "interval must be above 0"),
    ],
)
def test_a_curve_without_meaning_is_refused(curve: Curve, problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"^vms\[0\]\.load\.cpu: .*{problem}"):
        check_curve(curve, "vms[0].load.cpu")


@settings(deadline=None, max_examples=examples(25))
@given(curves)
def test_every_drawn_curve_has_a_meaning(curve: Curve) -> None:
    check_curve(curve, "curve")
