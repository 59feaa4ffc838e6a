"""A study from start to end: run what is missing, then write what came of it.

What was run before is never run again: chunks are found by their runs' ids, which stand for
everything that decides an outcome. So the same command continues a study that was killed,
grows one whose file got more seeds, and does nothing for one that is complete.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import MsgspecError, json

from trimtab.errors import ConfigError, NotReady
from trimtab.files.writing import write_whole
from trimtab.study.execution.engines import Engine, execute
from trimtab.study.execution.tasks import ALL, Shard, Task, cells_of, make_tasks
from trimtab.study.figures import FORMATS, draw_all, save_all
from trimtab.study.inputs.file import warnings_about
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.report.report import render
from trimtab.study.results.collect import KnownRuns, gather, missing, study_result
from trimtab.study.results.frames import events_parquet, runs_parquet
from trimtab.study.results.result import StudyResult
from trimtab.study.results.store import StudyStore


def run_missing(
    plan: StudyPlan,
    text: str,
    store: StudyStore,
    engine: Engine,
    *,
    shard: Shard = ALL,
    fresh: bool = False,
    begun: Callable[[int, int], None],
    advanced: Callable[[int], None],
) -> int:
    """Run what this shard lacks; how many runs of the whole plan are still missing then.

    `text` is the study file as it was written. `begun` hears once how many runs there are to
    do and how many are known from before, `advanced` each time how many more are done.
    """
    cells = cells_of(plan)
    store.save_inputs(plan, cells, text)
    known = KnownRuns({}, {}) if fresh else gather(store.chunks())
    tasks = make_tasks(plan, cells, known.records.keys(), workers=engine.workers, shard=shard)
    to_do = sum(len(task.seeds) for task in tasks)
    begun(to_do, plan.runs - missing(plan, cells, known))

    def done(task: Task, chunk: bytes) -> None:
        store.save_chunk(task.name, chunk)
        advanced(len(task.seeds))

    execute(tasks, engine, done)
    return missing(plan, cells, gather(store.chunks()))


def write_results(store: StudyStore) -> StudyResult:
    """Rank, and write result.json, the Parquet files and the report from what is on disk."""
    plan, cells, runs = read_runs(store)
    warnings = [*plan.notes, *warnings_about(plan.seeds)]
    result = study_result(plan, cells, runs, store.load_versions(), warnings)
    page = render(plan, cells, runs, result, store.load_text())
    write_whole(store.path / "runs.parquet", runs_parquet(plan, cells, runs))
    write_whole(store.path / "events.parquet", events_parquet(plan, cells, store.full_chunks()))
    write_whole(store.path / "report.html", page.encode())
    write_whole(store.path / "result.json", json.format(json.encode(result), indent=2) + b"\n")
    return result


def save_figures(
    store: StudyStore, result: StudyResult, directory: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """The charts of the report as vector figures in `directory`; the paths."""
    plan, cells, runs = read_runs(store)
    return save_all(draw_all(plan, cells, runs, result), directory, formats)


def read_runs(store: StudyStore) -> tuple[StudyPlan, Cells, KnownRuns]:
    """The plan of a directory, the ids of its cells, and the runs that are there."""
    return store.load_plan(), store.load_cells(), gather(store.chunks())


def load_result(store: StudyStore) -> StudyResult:
    """The result of a finished study."""
    store.load_plan()
    try:
        return json.decode((store.path / "result.json").read_bytes(), type=StudyResult)
    except FileNotFoundError as error:
        raise NotReady(
            f"{store.path}: the study has no result yet; finish it with the command that began it"
        ) from error
    except MsgspecError as error:
        raise ConfigError(
            f"{store.path / 'result.json'}: cannot be read ({error}); "
            f"write it anew: trimtab study report {store.path}"
        ) from error
