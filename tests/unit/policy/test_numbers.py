"""The arithmetic, bit by bit: where Go on amd64 gives what one would not expect, so do we."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.policy.numbers import (
    NO_NUMBER,
    NotANumberError,
    around,
    cap,
    caps_of,
    classify_nodes,
    mean_of,
    percent_of,
    thresholds_around,
    usage_of,
)

PERCENTS = st.lists(st.integers(0, 100), min_size=1, max_size=30)


def test_usage_drops_one_percent_at_three_two_decimal_values_only() -> None:
    """P5: 0.29 * 100 is 28.999999999999996."""
    hundredths = np.arange(101) / 100
    dropped = [p for p, used in enumerate(usage_of(hundredths).tolist()) if used != p]
    assert dropped == [29, 57, 58]


def test_usage_is_truncated_and_never_rounded() -> None:
    assert usage_of(np.array([0.009, 0.129, 0.999])).tolist() == [0, 12, 99]


def test_nan_is_refused_by_default() -> None:
    with pytest.raises(NotANumberError):
        usage_of(np.array([0.5, math.nan]))


def test_nan_becomes_the_smallest_integer_on_amd64() -> None:
    """P8."""
    assert usage_of(np.array([0.5, math.nan]), "amd64").tolist() == [50, NO_NUMBER]


def test_percent_of_a_hundred_is_not_the_identity() -> None:
    """T1: division comes before multiplication."""
    percents = np.arange(101)
    changed = [p for p, q in enumerate(percent_of(percents, 100).tolist()) if p != q]
    assert changed == [7, 14, 28, 29, 55, 56, 57, 58]
    assert percent_of(np.array([28, 29]), 100).tolist() == [28.000000000000004, 28.999999999999996]


def test_percent_without_capacity_is_zero() -> None:
    assert percent_of(np.array([5, 5]), np.array([0, 10])).tolist() == [0.0, 50.0]


def test_the_mean_is_added_from_left_to_right() -> None:
    """T5: NumPy's own sum would add in pairs and give another last bit."""
    percent = percent_of(np.array([28, 55, 24, 5] * 40), 100)
    total = 0.0
    for value in percent.tolist():
        total += value
    assert float(mean_of(percent)) == total / len(percent)


@pytest.mark.parametrize(
    ("mean", "low", "high", "expected"),
    [
        pytest.param(18.0, 10, 10, (8.0, 28.0), id="around the mean"),
        pytest.param(95.75, 0, 10, (95.75, 100.0), id="high is clamped, so nothing can be over"),
        pytest.param(1.0, 10, 10, (0.0, 11.0), id="low is clamped, so idle nodes are still under"),
        pytest.param(-9.2e18, 0, 10, (0.0, 0.0), id="a NaN among the samples clamps both to zero"),
    ],
)
def test_thresholds_follow_the_mean(
    mean: float, low: float, high: float, expected: tuple[float, float]
) -> None:
    assert around(mean, low, high) == expected


@pytest.mark.parametrize(
    ("high", "expected"), [(29.0, 28), (58.0, 57), (28.0, 28), (44.33, 44), (100.0, 100), (0.0, 0)]
)
def test_a_cap_is_truncated(high: float, expected: int) -> None:
    """E1: 29 % of 100 is 28."""
    assert cap(high, 100) == expected


def test_only_two_whole_thresholds_lose_a_unit_to_truncation() -> None:
    assert [p for p in range(101) if cap(float(p), 100) != p] == [29, 58]


@pytest.mark.parametrize(
    ("percent", "schedulable", "expected"),
    [
        pytest.param(10.0, True, -1, id="the low threshold itself is under"),
        pytest.param(10.000000000000002, True, 0, id="one bit above low is not"),
        pytest.param(30.0, True, 0, id="the high threshold itself is not over"),
        pytest.param(30.000000000000004, True, 1, id="one bit above high is"),
        pytest.param(5.0, False, 0, id="a cordoned node is never under"),
        pytest.param(50.0, False, 1, id="a cordoned node may be over"),
    ],
)
def test_classes_at_the_thresholds(percent: float, schedulable: bool, expected: int) -> None:
    """C1 to C4."""
    classes = classify_nodes(np.array([percent]), 10, 30, np.array([schedulable]))
    assert classes.tolist() == [expected]


def test_under_is_tested_before_over() -> None:
    """C1; no policy puts low above high, so this is the function's promise, not the cluster's."""
    classes = classify_nodes(np.array([50.0]), 60, 40, np.array([True]))
    assert classes.tolist() == [-1]


@given(
    replicas=st.integers(1, 4).flatmap(
        lambda n: st.lists(
            st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=1, max_size=5
        )
    ),
    low=st.floats(0, 100),
    high=st.floats(0, 100),
)
def test_replicas_at_once_give_the_same_as_one_node_at_a_time(
    replicas: list[list[float]], low: float, high: float
) -> None:
    """The whole numeric part, against plain Python floats."""
    values = np.array(replicas)
    schedulable = np.ones(values.shape[1], dtype=np.bool_)
    used = usage_of(values)
    percent = percent_of(used, 100)
    mean = mean_of(percent)
    lows, highs = thresholds_around(mean, low, high)
    classes = classify_nodes(percent, lows, highs, schedulable)
    caps = caps_of(highs, 100)
    for at, row in enumerate(replicas):
        one_used = [int(v * 100) for v in row]
        one_percent = [float(u) / 100.0 * 100 for u in one_used]
        total = 0.0
        for value in one_percent:
            total += value
        one_low, one_high = around(total / len(row), low, high)
        one_class = [-1 if p <= one_low else int(p > one_high) for p in one_percent]
        one_cap = cap(one_high, 100)
        assert (used[at].tolist(), percent[at].tolist()) == (one_used, one_percent)
        assert (float(lows[at]), float(highs[at])) == (one_low, one_high)
        assert (classes[at].tolist(), int(caps[at])) == (one_class, one_cap)


@given(percents=PERCENTS, low=st.integers(0, 40), high=st.integers(0, 40))
def test_no_node_is_over_once_high_is_clamped(percents: list[int], low: int, high: int) -> None:
    """C5, and its reverse: percents of a query never exceed 100."""
    percent = percent_of(np.array(percents), 100)
    lows, highs = thresholds_around(mean_of(percent), low, high)
    classes = classify_nodes(percent, lows, highs, np.ones(len(percents), dtype=np.bool_))
    if float(highs) == 100.0:
        assert 1 not in classes.tolist()
