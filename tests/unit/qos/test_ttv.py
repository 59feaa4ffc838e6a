"""Time to violation: the formula, its edges, and when the promise will be broken."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import few
from trimtab.qos.ledger.time_to_violation import (
    SECOND,
    AccountGrowth,
    availability,
    deadline,
    faded,
    faded_span,
    time_to_violation,
    urgent_at,
)

S = SECOND
slos = st.floats(0.01, 1.0)
times = st.integers(0, 10**7 * S)


@pytest.mark.parametrize(
    ("running", "waiting", "slo", "ttv"),
    [
        pytest.param(100, 0, 0.8, 25, id="a quarter of the running time is earned at 0.8"),
        pytest.param(100, 30, 0.8, -5, id="waiting longer than earned is below the promise"),
        pytest.param(100, 30, 1.0, -30, id="1.0 earns nothing: all waiting is a debt"),
        pytest.param(0, 7, 0.5, -7, id="who never ran owes all its waiting, whatever the SLO"),
        pytest.param(0, 7, 0.99, -7, id="so a cold start ignores the SLO"),
        pytest.param(100, 30, 0.0, None, id="0 promises nothing"),
        pytest.param(0, 0, 0.8, 0, id="at the very beginning there is nothing left"),
    ],
)
def test_ttv_is_what_was_earned_less_what_was_waited(
    running: int, waiting: int, slo: float, ttv: int | None
) -> None:
    wanted = None if ttv is None else ttv * S
    assert time_to_violation(running * S, waiting * S, slo) == wanted


@pytest.mark.parametrize(
    ("running", "waiting", "slo", "qos"),
    [
        (3, 1, 0.5, 0.75),
        pytest.param(0, 0, 0.8, 0.0, id="no time at all is no availability"),
        pytest.param(0, 0, 0.0, 1.0, id="unless nothing was promised"),
    ],
)
def test_availability(running: int, waiting: int, slo: float, qos: float) -> None:
    assert availability(running, waiting, slo) == qos


@few
@given(running=times, waiting=times, slo=slos)
def test_the_ttv_is_negative_exactly_below_the_promise(
    running: int, waiting: int, slo: float
) -> None:
    ttv = time_to_violation(running, waiting, slo)
    shortfall = slo - availability(running, waiting, slo)
    assert ttv is not None
    if abs(shortfall) > 1e-9 and running + waiting > 1000:
        assert (ttv < 0) == (shortfall > 0)


@few
@given(running=times, waiting=times, slo=slos, later=st.integers(0, 10**6 * S))
def test_the_deadline_of_a_waiting_singleton_does_not_move(
    running: int, waiting: int, slo: float, later: int
) -> None:
    alone = AccountGrowth(0, 1)
    now = deadline(0, time_to_violation(running, waiting, slo), alone, slo)
    then = deadline(later, time_to_violation(running, waiting + later, slo), alone, slo)
    assert now == then


@few
@given(
    credited=st.integers(0, 10**5 * S),
    charged=st.integers(0, 10**5 * S),
    later=st.integers(0, 10**5 * S),
)
def test_nor_does_it_with_a_half_life(credited: int, charged: int, later: int) -> None:
    half_life, slo = 86_400 * S, 0.5
    alone = AccountGrowth(0, 1)
    first = deadline(0, time_to_violation(credited, charged, slo), alone, slo, half_life)
    faded_credit = faded(credited, later, half_life)
    more = faded(charged, later, half_life) + faded_span(0, later, later, half_life)
    ttv = time_to_violation(round(faded_credit), round(more), slo)
    second = deadline(later, ttv, alone, slo, half_life)
    assert first is not None
    assert second is not None
    assert abs(first - second) < S // 100


def test_at_the_deadline_the_faded_availability_is_the_promise() -> None:
    half_life, slo, credited = 7 * 86_400 * S, 0.95, 30 * 86_400 * S
    ttv = time_to_violation(credited, 0, slo)
    due = deadline(0, ttv, AccountGrowth(0, 1), slo, half_life)
    assert due is not None
    running = faded(credited, due, half_life)
    waiting = faded_span(0, due, due, half_life)
    assert running / (running + waiting) == pytest.approx(slo, abs=1e-6)


def test_a_half_life_caps_what_can_be_saved_up() -> None:
    week = 7 * 86_400 * S
    most = faded_span(0, 100 * week, 100 * week, week)
    ttv = time_to_violation(round(most), 0, 0.95)
    assert ttv is not None
    assert ttv / (3600 * S) == pytest.approx(12.8, abs=0.1)


@pytest.mark.parametrize(
    ("ttv", "pace", "due"),
    [
        pytest.param(60, AccountGrowth(0, 1), 60, id="one waits: it falls by a second a second"),
        pytest.param(60, AccountGrowth(0, 3), 20, id="three wait: three times as fast"),
        pytest.param(
            60, AccountGrowth(1, 1), None, id="what runs earns as much as the other loses"
        ),
        pytest.param(60, AccountGrowth(1, 3), 30, id="the rest drains"),
        pytest.param(-60, AccountGrowth(0, 3), -20, id="below the promise a debt is shared out"),
        pytest.param(-60, AccountGrowth(2, 1), -20, id="also among those who run"),
        pytest.param(None, AccountGrowth(0, 1), None, id="nothing was promised"),
    ],
)
def test_the_deadline_follows_the_drain(
    ttv: int | None, pace: AccountGrowth, due: int | None
) -> None:
    found = deadline(1000 * S, None if ttv is None else ttv * S, pace, 0.5)
    assert found == (None if due is None else (1000 + due) * S)


@few
@given(ttv=st.integers(31 * S, 10**6 * S), waiting=st.integers(1, 9), faint=st.booleans())
def test_it_becomes_urgent_a_margin_before_the_deadline(
    ttv: int, waiting: int, faint: bool
) -> None:
    pace, margin, half_life = AccountGrowth(0, waiting), 30 * S, 10**6 * S if faint else 0
    soon = urgent_at(0, ttv, margin, pace, 0.5, half_life)
    due = deadline(0, ttv, pace, 0.5, half_life)
    assert soon is not None
    assert due is not None
    assert 0 <= soon < due
    if not faint:
        assert due - soon == pytest.approx(margin / waiting, abs=2)


def test_an_urgent_account_does_not_become_urgent() -> None:
    assert urgent_at(0, 5 * S, 30 * S, AccountGrowth(0, 1), 0.5) is None


def test_no_edge_yields_a_number_that_is_none() -> None:
    for slo in (0.0, 1e-9, 0.5, 1.0):
        for running in (0, 1, 10**18):
            for waiting in (0, 1, 10**18):
                qos = availability(running, waiting, slo)
                ttv = time_to_violation(running, waiting, slo)
                assert math.isfinite(qos)
                assert ttv is None or isinstance(ttv, int)
