"""Questions about a recording, simulated on all cores or on a Dask cluster, with progress."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trimtab.view.terminal import progress

if TYPE_CHECKING:
    from trimtab.study.execution.engines import Engine
    from trimtab.study.recorded.questions import Question
    from trimtab.study.results.record import FullChunk

RUNS = 8
"""Of each question: enough to tell a better setting from the luck of runs."""


def simulated(
    questions: "Sequence[Question]", seeds: tuple[int, ...], engine: "Engine"
) -> "list[FullChunk]":
    """What came of each question, in their order."""
    from trimtab.study.execution.engines import execute
    from trimtab.study.execution.tasks import Task
    from trimtab.study.results.record import FullChunk, decode

    tasks = [Task(each.name, each.spec, seeds) for each in questions]
    found: dict[str, FullChunk] = {}
    with progress("simulate", len(tasks)) as steps:

        def done(task: Task, data: bytes) -> None:
            found[task.cell] = decode(data, FullChunk)
            steps.advance()
            steps.note(f"{len(found)} of {len(tasks)} questions")

        execute(tasks, engine, done)
    return [found[each.name] for each in questions]
