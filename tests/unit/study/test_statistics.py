"""Intervals cover what they claim, corrections match a table made by hand, pairs beat strangers."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from trimtab.study.results.statistics import (
    average_ranks,
    expanded_tail,
    holm,
    intervals,
    paired_p_values,
    pareto_front,
    ratio_intervals,
    resampling,
    student_quantile,
)

Floats = NDArray[np.float64]


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        pytest.param(lambda rng, size: rng.normal(2.0, 1.0, size), 2.0, id="normal differences"),
        pytest.param(lambda rng, size: rng.uniform(-1, 3, size), 1.0, id="flat differences"),
        pytest.param(lambda rng, size: rng.poisson(3.0, size), 3.0, id="counts"),
    ],
)
def test_a_95_percent_interval_holds_the_truth_about_19_times_in_20(
    draw: Callable[[np.random.Generator, tuple[int, int]], Floats], truth: float
) -> None:
    experiments, seeds = 1000, 20
    values = np.asarray(draw(np.random.default_rng(7), (experiments, seeds)), dtype=np.float64)
    found = intervals(values, resampling(seeds, 2000))
    covered = np.mean((found[:, 1] <= truth) & (truth <= found[:, 2]))
    assert 0.93 <= covered <= 0.975


def test_without_the_expansion_the_interval_would_be_too_short() -> None:
    values = np.random.default_rng(7).normal(0, 1, (1000, 10))
    plain = np.quantile(values @ resampling(10, 2000).T, [0.025, 0.975], axis=1)
    assert np.mean((plain[0] <= 0) & (plain[1] >= 0)) < 0.925
    assert expanded_tail(10) < 0.025 / 2
    assert expanded_tail(10_000) == pytest.approx(0.025, abs=1e-4)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (4, 2.7764), (19, 2.0930), (99, 1.9842)]
)
def test_students_quantiles_are_those_of_the_printed_table(freedom: int, quantile: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(quantile, rel=1e-3)


def test_pairs_tell_apart_what_strangers_cannot() -> None:
    rng = np.random.default_rng(3)
    luck_of_the_seed = rng.normal(0, 10, 20)
    one, other = (
        luck_of_the_seed + rng.normal(0, 1, 20),
        luck_of_the_seed + 3 + rng.normal(0, 1, 20),
    )
    weights = resampling(20, 5000)
    paired = intervals((other - one)[None], weights)[0]
    strangers = intervals((other - rng.permutation(one))[None], weights)[0]
    assert paired[1] > 0
    assert strangers[1] < 0 < strangers[2]


def test_all_candidates_are_resampled_by_the_same_draws() -> None:
    values = np.random.default_rng(1).normal(size=(2, 20))
    weights = resampling(20, 1000)
    shifted = intervals(np.stack([values[0], values[0] + 5]), weights)
    np.testing.assert_allclose(shifted[1] - shifted[0], 5.0)
    np.testing.assert_array_equal(weights, resampling(20, 1000))


def test_the_mean_of_equal_differences_is_certain() -> None:
    np.testing.assert_allclose(intervals(np.full((1, 20), 4.0), resampling(20, 200)), [[4, 4, 4]])


def test_a_ratio_keeps_the_pairs_together() -> None:
    reference = np.linspace(1, 5, 20)
    found = ratio_intervals((reference * 0.5)[None], reference, resampling(20, 200))
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.5]])


def test_a_ratio_to_nothing_has_no_value() -> None:
    found = ratio_intervals(np.ones((1, 20)), np.zeros(20), resampling(20, 200))
    assert not np.isfinite(found).any()


def test_holm_gives_the_table_worked_out_by_hand() -> None:
    # sorted: .005*4=.02, .01*3=.03, .03*2=.06, .04*1=.04 -> raised to .06
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


def test_holm_never_exceeds_one() -> None:
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1.0, 1.0])


def test_the_smallest_p_value_is_one_draw_of_all() -> None:
    sure = paired_p_values(np.full((1, 40), 1.0), resamples=999)
    assert sure[0] == pytest.approx(1 / 1000)


def test_no_difference_at_all_has_a_p_value_of_one() -> None:
    assert paired_p_values(np.zeros((1, 20)), resamples=999)[0] == 1.0


def test_p_values_of_pure_chance_are_evenly_spread() -> None:
    chance = np.random.default_rng(11).normal(size=(2000, 20))
    p_values = paired_p_values(chance, resamples=999)
    assert np.mean(p_values < 0.05) == pytest.approx(0.05, abs=0.015)
    assert np.mean(p_values < 0.5) == pytest.approx(0.5, abs=0.04)


def test_four_seeds_cannot_be_significant_however_large_the_effect() -> None:
    assert paired_p_values(np.full((1, 4), 1e6))[0] > 0.1


def test_ranks_break_ties_by_the_second_measure_and_share_what_is_left() -> None:
    first = np.array([[1.0], [1.0], [1.0], [0.5]])
    second = np.array([[7.0], [3.0], [7.0], [9.0]])
    np.testing.assert_array_equal(average_ranks(first, second), [[3.5], [2], [3.5], [1]])


def test_the_front_holds_those_that_nobody_beats_in_both() -> None:
    balance, moves = np.array([3.0, 1.0, 2.0, 2.5, 3.0]), np.array([0.0, 9.0, 4.0, 5.0, 0.0])
    np.testing.assert_array_equal(pareto_front(balance, moves), [True, True, True, False, True])


grids = arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(0, 3)
)


@given(grids)
def test_ranks_of_a_block_always_add_up_to_the_same(first: Floats) -> None:
    count = first.shape[0]
    sums = average_ranks(first, np.zeros_like(first)).sum(axis=0)
    np.testing.assert_allclose(sums, count * (count + 1) / 2)


@given(arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1)))
def test_holm_keeps_the_order_and_only_raises(p_values: Floats) -> None:
    corrected = holm(p_values)
    assert (corrected >= np.minimum(p_values, 1.0)).all()
    assert (np.diff(corrected[np.argsort(p_values, kind="stable")]) >= 0).all()
