"""Repairs of recorded loads: nothing made up, everything counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trimtab.model.recorded.cleaning import (
    Gaps,
    came_and_went,
    fill_gaps,
    hold_places,
    placement_from,
    recorded_moves,
)
from trimtab.model.recorded.recording import Loads

NAN = float("nan")


def column(*values: float) -> Loads:
    return np.array(values, dtype=np.float32)[:, None]


@pytest.mark.parametrize(
    ("given_", "expected", "gaps"),
    [
        pytest.param([1, NAN, 3], [1, 1, 3], Gaps(1, 0), id="a short gap is held"),
        pytest.param([1, NAN, NAN, NAN, 5], [1, 1, 1, 1, 5], Gaps(3, 0), id="up to three moments"),
        pytest.param(
            [1, NAN, NAN, NAN, NAN, 6],
            [1, NAN, NAN, NAN, NAN, 6],
            Gaps(0, 4),
            id="a longer one stays unknown",
        ),
        pytest.param([NAN, 2, NAN], [NAN, 2, NAN], Gaps(), id="nothing beyond its life"),
        pytest.param([NAN, NAN], [NAN, NAN], Gaps(), id="a series without any value"),
    ],
)
def test_gaps(given_: list[float], expected: list[float], gaps: Gaps) -> None:
    filled, counted = fill_gaps(column(*given_))
    np.testing.assert_array_equal(filled[:, 0], expected)
    assert counted == gaps


@given(arrays(np.float32, (12, 3), elements=st.sampled_from([np.float32("nan"), 1.0, 2.0])))
def test_filling_gaps_keeps_every_measurement_and_counts_every_change(values: Loads) -> None:
    filled, counted = fill_gaps(values)
    known = np.isfinite(values)
    np.testing.assert_array_equal(filled[known], values[known])
    assert int(np.isfinite(filled).sum() - known.sum()) == counted.held


def test_a_vm_that_two_nodes_report_stays_where_it_was() -> None:
    source = np.array([True, True, True, False, False])
    target = np.array([False, False, True, True, True])
    placement, twice = placement_from([(0, 4, source), (0, 2, target)], 5, 1)
    assert placement[:, 0].tolist() == [4, 4, 4, 2, 2]
    assert twice == 1
    assert recorded_moves(placement) == [(3, 0, 4, 2)]


def test_vms_come_and_go() -> None:
    placement = np.array([[-1, 0, 0], [1, 0, 0], [1, 0, -1]], dtype=np.int32)
    assert came_and_went(placement) == (1, 1)
    assert recorded_moves(placement) == []


def test_a_place_is_held_over_a_short_silence() -> None:
    placement = np.array([[3], [-1], [3], [-1]], dtype=np.int32)
    assert hold_places(placement)[:, 0].tolist() == [3, 3, 3, -1]
