"""What a mean over scenarios hides: each candidate on each scenario, and its moves over time."""

from msgspec.structs import replace

from builders.values.studies import a_plan, finished
from trimtab.study.report.data import STRONGEST, matrix, moved_so_far, page_data
from trimtab.study.results.result import Comparison, Estimate

PLAN = a_plan(candidates=4, seeds=20)
CELLS, RUNS, RESULT = finished(PLAN)


def test_every_candidate_has_a_cell_for_every_scenario() -> None:
    rows = matrix(RESULT)
    assert [row.label for row in rows] == ["max_metric", "cpu_focused", "memory_focused"]
    assert [row.rank for row in rows] == [1, 2, 3]
    assert all(len(row.cells) == 2 for row in rows)
    assert [cell.is_best for cell in rows[0].cells] == [True, True]
    expected = RESULT.tables[0].rows[0].versus_nothing
    assert expected
    assert expected.percent.value is not None
    assert rows[0].cells[0].change.text == f"−{-expected.percent.value:.0f} %"
    assert rows[0].cells[0].colour == "good"


def test_a_candidate_that_makes_one_scenario_worse_is_seen() -> None:
    worse = Comparison(*(Estimate(336.0, 330.0, 340.0),) * 2, better_in=0, p=0, verdict="worse")
    first, second = RESULT.tables
    rows = tuple(replace(row, versus_nothing=worse) for row in second.rows)
    found = matrix(replace(RESULT, tables=(first, replace(second, rows=rows))))[0].cells
    assert (found[0].colour, found[1].colour) == ("good", "bad")
    assert (found[1].change.text, found[1].strength) == ("+336 %", STRONGEST)


def test_where_doing_nothing_is_best_it_has_a_row() -> None:
    first, second = RESULT.tables
    rows = matrix(replace(RESULT, tables=(first, replace(second, best=0))))
    assert rows[-1].label == "do-nothing"
    assert [cell.is_best for cell in rows[-1].cells] == [False, True]


def test_a_single_scenario_needs_no_matrix() -> None:
    assert matrix(replace(RESULT, tables=RESULT.tables[:1])) == []


def test_migrations_add_up_over_time() -> None:
    pictures = [RUNS.pictures[cell] for cell in CELLS[0]]
    found = moved_so_far(pictures, most=100)
    assert found["times"] == pictures[0].times
    assert [counts[-1] for counts in found["moved"]] == [sum(p.migrations) for p in pictures]
    assert all(counts == sorted(counts) for counts in found["moved"])
    assert found["moved"][0] == [0] * 10


def test_few_moments_are_enough_and_the_last_is_among_them() -> None:
    pictures = [RUNS.pictures[cell] for cell in CELLS[0]]
    found = moved_so_far(pictures, most=4)
    assert len(found["times"]) == 4
    assert found["times"][-1] == pictures[0].times[-1]
    assert found["moved"][2][-1] == sum(pictures[2].migrations)


def test_the_page_has_the_counts_of_every_scenario_and_candidate() -> None:
    counts = page_data(PLAN, CELLS, RUNS, RESULT)["counts"]
    assert [len(each["moved"]) for each in counts] == [4, 4]
