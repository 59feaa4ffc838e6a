"""Shards never overlap and never miss a run, however the grid is cut."""

from hypothesis import given
from hypothesis import strategies as st

from builders.values.studies import a_plan
from trimtab.study.execution.tasks import Shard, cells_of, make_tasks
from trimtab.study.inputs.identity import run_id
from trimtab.study.inputs.plan import StudyPlan


def runs_in(plan: StudyPlan, shard: Shard, known: set[str], workers: int = 2) -> list[str]:
    tasks = make_tasks(plan, cells_of(plan), known, workers=workers, shard=shard)
    return [run_id(task.cell, seed) for task in tasks for seed in task.seeds]


@given(st.integers(1, 5), st.integers(1, 9), st.integers(1, 7), st.integers(1, 16), st.data())
def test_shards_together_are_the_whole_plan_once(
    candidates: int, seeds: int, count: int, workers: int, data: st.DataObject
) -> None:
    plan = a_plan(candidates, seeds)
    everything = runs_in(plan, Shard(), set())
    known = data.draw(st.sets(st.sampled_from(everything)))
    parts = [
        run for i in range(count) for run in runs_in(plan, Shard(i + 1, count), known, workers)
    ]
    assert len(everything) == plan.runs == len(set(everything))
    assert sorted([*parts, *known]) == sorted(everything)


def test_seeds_of_a_cell_stay_together_when_there_are_cells_enough() -> None:
    tasks = make_tasks(a_plan(5, 20), cells_of(a_plan(5, 20)), set(), workers=1)
    assert {len(task.seeds) for task in tasks} == {20}


def test_few_cells_are_cut_so_that_all_workers_have_something_to_do() -> None:
    plan = a_plan(2, 20)
    assert len(make_tasks(plan, cells_of(plan), set(), workers=4)) >= 16


def test_every_task_has_a_file_of_its_own() -> None:
    plan = a_plan(5, 20)
    names = [task.name for task in make_tasks(plan, cells_of(plan), set(), workers=8)]
    assert len(set(names)) == len(names)
