"""Who is best, who cannot be told apart from it, and who of them moves the least."""

import numpy as np
import pytest
from numpy.typing import NDArray

from trimtab.study.results.measures import IMBALANCE, MIGRATIONS, MINIMUM
from trimtab.study.results.ranking import MeasuredRuns, make_table, ranks_of, together
from trimtab.study.results.result import CandidateTable, Row
from trimtab.study.results.summary import summarise

SEEDS = 20
RNG = np.random.default_rng(5)
LUCK = RNG.normal(0, 1.0, SEEDS)
"""What a seed does to every candidate alike."""


def around(mean: float, noise: float = 0.02) -> NDArray[np.float64]:
    return np.asarray(mean + LUCK + RNG.normal(0, noise, SEEDS))


def observed(
    imbalance: list[NDArray[np.float64]], migrations: list[float], minimum: float = 4.0
) -> MeasuredRuns:
    measures = {
        IMBALANCE: np.stack(imbalance),
        MIGRATIONS: np.repeat(np.array(migrations)[:, None], SEEDS, axis=1),
        MINIMUM: np.full((len(imbalance), SEEDS), minimum),
    }
    return MeasuredRuns("shop", measures, ranks_of(measures), vms=40.0)


def row_of(table: CandidateTable, candidate: int) -> Row:
    return next(row for row in table.rows if row.candidate == candidate)


EQUAL = around(5.0)
ALTERNATING = np.where(np.arange(SEEDS) % 2, 0.01, -0.009)  # better as often as worse
FOUR = observed([around(20), around(8), EQUAL, EQUAL + ALTERNATING], [0, 6, 30, 10])


def test_the_order_is_by_imbalance() -> None:
    table = make_table(FOUR, default=1)
    assert [row.candidate for row in table.rows] == [2, 3, 1, 0]
    assert [row.rank for row in table.rows] == [1, 2, 3, 4]


def test_who_cannot_be_told_apart_from_the_best_is_marked() -> None:
    table = make_table(FOUR, default=1)
    assert [row_of(table, c).among_best for c in range(4)] == [False, False, True, True]


def test_the_pick_is_the_best_compromise_with_migrations() -> None:
    table = make_table(FOUR, default=1)
    pick = row_of(table, 3)  # a quarter of the imbalance is left, a quarter of the VMs moved
    assert table.pick == 3
    assert pick.distance == pytest.approx(0.25 * 2**0.5, rel=0.05)
    assert pick.picked_in > 0.99
    assert sum(row.picked_in for row in table.rows) == pytest.approx(1)


def test_the_pick_does_not_depend_on_who_else_takes_part() -> None:
    without_the_best = observed([FOUR.measures[IMBALANCE][c] for c in (0, 1, 3)], [0, 6, 10])
    whole, part = make_table(FOUR, default=1), make_table(without_the_best, default=1)
    assert row_of(whole, 3).distance == row_of(part, 2).distance


def test_what_cannot_be_had_today_does_not_keep_the_rest_from_being_picked() -> None:
    table = make_table(FOUR, default=1, what_if=[2, 3])
    assert (table.pick, table.stock_pick) == (3, 1)
    assert "Of what the stock descheduler can do, the best compromise is a" in summarise(
        table, ["nothing", "a", "b", "c"], scenarios=2
    )


def test_where_nothing_can_be_gained_nothing_is_picked() -> None:
    level = observed([np.zeros(SEEDS), np.zeros(SEEDS), around(5)], [0, 0, 3])
    assert make_table(level, default=1).pick == 0


def test_each_candidate_is_compared_with_nothing_default_and_best() -> None:
    table = make_table(FOUR, default=1)
    row = row_of(table, 2)
    assert row.versus_default is not None
    assert row.versus_default.verdict == "better"
    assert row.versus_default.difference.value == pytest.approx(-3, abs=0.05)
    assert row.versus_default.better_in == 1.0
    assert row.versus_nothing is not None
    assert row.versus_nothing.percent.value == pytest.approx(-75, abs=2)
    assert row_of(table, 1).versus_default is None
    assert row_of(table, 0).versus_nothing is None
    worst = row_of(table, 0).versus_best
    assert worst is not None
    assert worst.verdict == "worse"


def test_the_front_leaves_out_who_is_beaten_in_both() -> None:
    table = make_table(observed([around(20), around(8), around(5), around(9)], [0, 6, 30, 7]), 1)
    assert [row_of(table, c).on_front for c in range(4)] == [True, True, True, False]


def test_the_gap_is_migrations_over_the_minimum() -> None:
    assert row_of(make_table(FOUR, 1), 3).gap.value == 2.5


def test_without_a_minimum_there_is_no_gap() -> None:
    table = make_table(observed([around(20), around(8)], [0, 6], minimum=0.0), 1)
    assert row_of(table, 1).gap.value is None


def test_all_scenarios_together_are_the_mean_seed_by_seed() -> None:
    parts = [observed([around(20), around(8)], [0, 6]), observed([around(4), around(6)], [0, 2])]
    table = make_table(together(parts), default=1)
    assert row_of(table, 1).measures[IMBALANCE].value == pytest.approx(7 + LUCK.mean(), abs=0.05)
    assert row_of(table, 1).measures[MIGRATIONS].value == 4
    assert row_of(table, 1).mean_rank == 1.5


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        pytest.param(
            FOUR,
            "1 other cannot be told apart from it. "
            "The best compromise is c: 100 % of that gain with 10.0 migrations per run.",
            id="another pick",
        ),
        pytest.param(
            observed([around(2), around(8)], [0, 6]),
            "nothing that was tried is better than leaving every VM where it is",
            id="do nothing",
        ),
        pytest.param(
            observed([around(20), around(19)], [0, 90]),
            "The best compromise is to leave every VM where it is.",
            id="too dear",
        ),
        pytest.param(
            observed([around(20), around(8), around(5)], [0, 6, 9]),
            "It is also the best compromise with the number of migrations.",
            id="a clear winner",
        ),
    ],
)
def test_the_summary_says_no_more_than_the_table(seen: MeasuredRuns, text: str) -> None:
    table = make_table(seen, default=1)
    summary = summarise(table, ["nothing", "a", "b", "c"], scenarios=1)
    assert text in summary
    assert "On this scenario" in summary


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        pytest.param((), "", id="none reads pressure"),
        pytest.param((3,), "c reads pressure: every node needs PSI", id="the pick does"),
        pytest.param((1, 3), "c and a read pressure", id="the pick and what can be had today"),
    ],
)
def test_a_recommendation_that_needs_psi_says_so(reading: tuple[int, ...], said: str) -> None:
    table = make_table(FOUR, default=1, what_if=(2, 3))
    summary = summarise(table, ["nothing", "a", "b", "c"], 1, reading)
    assert (said in summary) if said else ("PSI" not in summary)
