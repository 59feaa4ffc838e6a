"""A directory never holds half a file, and never someone else's."""

from pathlib import Path

import pytest

from builders.values.outcomes import a_scenario, an_outcome
from builders.values.studies import a_plan
from trimtab.errors import ConfigError
from trimtab.study.execution.tasks import cells_of
from trimtab.study.results.record import encode, make_chunk
from trimtab.study.results.store import StudyStore


def saved(path: Path) -> StudyStore:
    store, plan = StudyStore(path), a_plan()
    store.save_inputs(plan, cells_of(plan), "name: small\n")
    return store


def test_a_plan_reads_back_as_it_was(tmp_path: Path) -> None:
    store = saved(tmp_path / "study")
    assert store.load_plan() == a_plan()
    assert store.load_cells() == cells_of(a_plan())
    assert store.load_text() == "name: small\n"


def test_a_directory_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match="something else in this directory"):
        saved(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_directory_without_a_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a study's directory"):
        StudyStore(tmp_path).load_plan()


def test_inputs_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    store = saved(tmp_path / "study")
    (store.inputs / "plan.json").write_text("{}")
    with pytest.raises(ConfigError, match="the inputs cannot be read"):
        store.load_plan()


def test_a_damaged_chunk_is_set_aside(tmp_path: Path) -> None:
    store, scenario = saved(tmp_path / "study"), a_scenario()
    whole = encode(make_chunk("cell", scenario, [0], [an_outcome(scenario)]))
    store.save_chunk("good", whole)
    store.save_chunk("bad", whole[: len(whole) // 2])
    assert [chunk.cell for chunk in store.chunks()] == ["cell"]
    assert (store.runs / "bad.damaged").exists()
