"""Parquet files hold every run and every migration of the plan, each once."""

import io
import re
from pathlib import Path

import polars
import pytest

from builders.values.outcomes import an_outcome
from builders.values.studies import a_plan, finished
from trimtab.study.execution.tasks import cells_of
from trimtab.study.results.frames import events_parquet, runs_parquet
from trimtab.study.results.record import make_chunk

PLAN = a_plan(candidates=2, seeds=3)


def test_a_row_per_run_says_what_was_run() -> None:
    cells, runs, _ = finished(PLAN)
    frame = polars.read_parquet(io.BytesIO(runs_parquet(PLAN, cells, runs)))
    assert frame.height == PLAN.runs
    assert frame["runId"].n_unique() == PLAN.runs
    assert frame["score"].unique().sort().to_list() == ["do-nothing", "max_metric"]
    assert {"thresholds", "seed", "migrations", "loadStdMean", "digest"} <= set(frame.columns)


def test_the_measure_that_ranks_is_a_column() -> None:
    cells, runs, _ = finished(PLAN)
    frame = polars.read_parquet(io.BytesIO(runs_parquet(PLAN, cells, runs)))
    expected = 100 * (frame["loadStdMean"] ** 2 + frame["memoryStdMean"] ** 2).sqrt()
    assert frame["imbalance"].to_list() == pytest.approx(expected.to_list())


def test_every_column_is_in_the_data_dictionary() -> None:
    """In its order, so that the page reads like the file."""
    page = (Path(__file__).parents[3] / "docs/reference/study-data.md").read_text()
    described = [re.findall(r"^\| `(\w+)` \|", part, re.M) for part in page.split("\n## ")[1:]]
    cells, runs, _ = finished(PLAN)
    files = (runs_parquet(PLAN, cells, runs), events_parquet(PLAN, cells, []))
    assert [polars.read_parquet(io.BytesIO(file)).columns for file in files] == described


def test_a_run_that_is_there_twice_counts_once_and_others_not_at_all() -> None:
    cells, scenario = cells_of(PLAN), PLAN.scenarios[0]
    ours = make_chunk(cells[0][1], scenario, [0, 1], [an_outcome(scenario, moved=3)] * 2)
    others = make_chunk("another study", scenario, [0], [an_outcome(scenario)])
    beyond = make_chunk(cells[0][1], scenario, [99], [an_outcome(scenario)])
    data = events_parquet(PLAN, cells, [ours, ours, others, beyond])
    frame = polars.read_parquet(io.BytesIO(data))
    assert frame.height == 2 * 3
    assert frame["seed"].to_list() == [0, 0, 0, 1, 1, 1]


def test_without_migrations_the_columns_are_there_all_the_same() -> None:
    frame = polars.read_parquet(io.BytesIO(events_parquet(PLAN, cells_of(PLAN), [])))
    assert frame.height == 0
    assert frame.schema["requested_s"] == polars.Float64
