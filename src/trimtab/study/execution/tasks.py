"""Tasks: what one worker does at a time, and how the grid is cut into them.

A task is one cell with some of its seeds. Workers get whole specs and give back encoded
chunks; they touch no files, so the same task runs on this computer or on a cluster.
"""

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs

from trimtab.sim import simulate
from trimtab.sim.spec import RunSpec
from trimtab.study.inputs.identity import cell_id, digest, run_id
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.results.record import encode, make_chunk

# So many tasks per worker keep all of them busy to the end, whatever their sizes.
_TASKS_PER_WORKER = 8


class Task(Struct, frozen=True):
    """Some seeds of one cell."""

    cell: str
    spec: RunSpec
    seeds: tuple[int, ...]
    own_score: str | None = None
    """The text of a score that is not in the catalogue: the worker may not have the file."""

    @property
    def name(self) -> str:
        """Unique for the cell and the seeds: the chunk's file is called so."""
        return f"{self.cell}-{run_id(self.cell, self.seeds[0])[:8]}-{len(self.seeds)}"


class Shard(Struct, frozen=True):
    """The `index`th of `count` parts, from 1."""

    index: int = 1
    count: int = 1

    def holds(self, position: int) -> bool:
        return position % self.count == self.index - 1


ALL = Shard()


def cells_of(plan: StudyPlan) -> Cells:
    """The id of each cell: one list per scenario, in the order of the candidates."""
    digests = [digest(scenario) for scenario in plan.scenarios]
    return [
        [
            cell_id(plan.spec(row, place), content, plan.own_scores.get(candidate.title))
            for place, candidate in enumerate(plan.candidates)
        ]
        for row, content in enumerate(digests)
    ]


def make_tasks(
    plan: StudyPlan,
    cells: Cells,
    known: Collection[str],
    *,
    workers: int,
    shard: Shard = ALL,
) -> list[Task]:
    """The tasks of this shard that cover every run whose id is not in `known`.

    The cut depends on the plan alone, not on `known` or the computer, except for the size of
    a task; a shard is a set of (cell, seed), so shards never overlap and never miss a run.
    """
    size = _seeds_per_task(plan, workers)
    tasks = []
    for row, ids in enumerate(cells):
        for column, cell in enumerate(ids):
            offset = (row * len(ids) + column) * len(plan.seeds)
            missing = [
                seed
                for position, seed in enumerate(plan.seeds, start=offset)
                if shard.holds(position) and run_id(cell, seed) not in known
            ]
            spec = plan.spec(row, column)
            own = plan.own_scores.get(plan.candidates[column].title)
            tasks += [
                Task(cell, spec, tuple(missing[start : start + size]), own)
                for start in range(0, len(missing), size)
            ]
    return tasks


def run_task(task: Task) -> bytes:
    """Simulate the task's seeds; the encoded chunk."""
    with _ready(task) as spec:
        outcomes = simulate(spec, task.seeds)
    return encode(make_chunk(task.cell, task.spec.scenario, task.seeds, outcomes))


@contextmanager
def _ready(task: Task) -> Iterator[RunSpec]:
    """The spec as the simulator takes it: a score of one's own is a file then."""
    if task.own_score is None:
        yield task.spec
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{task.spec.score}.py"
        file.write_text(task.own_score, encoding="utf-8")
        yield structs.replace(task.spec, score=str(file))


def _seeds_per_task(plan: StudyPlan, workers: int) -> int:
    """All seeds of a cell together, as far as that leaves enough tasks for all workers.

    Seeds share the expensive set-up of a cell, and a task of under 50 ms would cost more
    to send than to run.
    """
    cells = len(plan.scenarios) * len(plan.candidates)
    pieces = math.ceil(_TASKS_PER_WORKER * workers / cells)
    return max(1, math.ceil(len(plan.seeds) / pieces))
