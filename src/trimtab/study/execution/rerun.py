"""Repeat a study and compare: every run must come out the same, bit for bit."""

from collections.abc import Callable

from msgspec import Struct, structs

from trimtab.errors import NotReady
from trimtab.study.execution.engines import Engine, execute
from trimtab.study.execution.tasks import Task, cells_of, make_tasks
from trimtab.study.inputs.identity import Versions, run_id, versions
from trimtab.study.inputs.plan import StudyPlan
from trimtab.study.results.collect import gather
from trimtab.study.results.record import Chunk, RunRecord, decode
from trimtab.study.results.store import StudyStore


class Difference(Struct, frozen=True):
    """A run that came out differently, and the first number that shows it."""

    scenario: str
    candidate: int
    seed: int
    what: str


class RerunVerdict(Struct, frozen=True):
    """What a repetition showed."""

    compared: int
    differences: tuple[Difference, ...]
    then: Versions
    now: Versions


def rerun(store: StudyStore, engine: Engine, advanced: Callable[[int], None]) -> RerunVerdict:
    """Run the whole plan again, in memory, and compare with what the directory holds."""
    plan = store.load_plan()
    kept = _by_place(plan, store)
    cells = cells_of(plan)
    place = {cell: (s, c) for s, row in enumerate(cells) for c, cell in enumerate(row)}
    differences: list[Difference] = []

    def done(task: Task, data: bytes) -> None:
        scenario, candidate = place[task.cell]
        for run in decode(data, Chunk).runs:
            what = _difference(kept[scenario, candidate, run.seed], run)
            if what:
                name = plan.scenarios[scenario].name
                differences.append(Difference(name, candidate, run.seed, what))
        advanced(len(task.seeds))

    execute(make_tasks(plan, cells, (), workers=engine.workers), engine, done)
    found = tuple(sorted(differences, key=lambda d: (d.scenario, d.candidate, d.seed)))
    return RerunVerdict(plan.runs, found, store.load_versions(), versions())


def _by_place(plan: StudyPlan, store: StudyStore) -> dict[tuple[int, int, int], RunRecord]:
    """What the directory holds, under the ids of the code that made it."""
    runs = gather(store.chunks())
    try:
        return {
            (s, c, seed): runs.records[run_id(cell, seed)]
            for s, row in enumerate(store.load_cells())
            for c, cell in enumerate(row)
            for seed in plan.seeds
        }
    except KeyError as error:
        raise NotReady(
            f"{store.path}: the study is not complete; finish it before you repeat it"
        ) from error


def _difference(then: RunRecord, now: RunRecord) -> str:
    if then.digest == now.digest:
        return ""
    for field in structs.fields(then.card):
        before, after = getattr(then.card, field.name), getattr(now.card, field.name)
        if before != after and not (before != before and after != after):
            return f"{field.name} was {before!r}, is {after!r}"
    return "the migrations or the course over time differ"
