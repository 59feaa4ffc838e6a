"""Running tasks: on all cores of this computer with joblib's loky, or on a Dask cluster.

Results come back in any order and are handed on at once, so whatever happens to the process,
only the tasks that were under way are lost.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

from msgspec import Struct

from trimtab.errors import ConfigError, TrimtabError, Unavailable
from trimtab.study.execution.tasks import Task, run_task
from trimtab.study.execution.workers import end_with, workers_begin, workers_end_quietly
from trimtab.study.extra import need

_CONNECT_S = 15
_AHEAD = 2  # tasks for each worker: one at work, one that waits


class Engine(Struct, frozen=True):
    """Where tasks run: `workers` processes here, or the cluster behind `scheduler`."""

    workers: int
    scheduler: str | None = None


def engine_of(jobs: int | None, scheduler: str | None, unknown: int = 1) -> Engine:
    """By --jobs and --scheduler: as many tasks at once as were asked for, or as fit.

    A cluster without workers may get some later: it is taken to have `unknown` of them.
    """
    if jobs is not None and jobs < 1:
        raise ConfigError("--jobs: must be at least 1")
    if scheduler is None:
        return Engine(workers=jobs or cores())
    return Engine(workers=jobs or threads_of(scheduler) or unknown, scheduler=scheduler)


class WorkerLost(TrimtabError):
    """A worker is gone; what it had finished before is not."""


def cores() -> int:
    """How many processes this computer runs at once, limits of a container included."""
    count: int = need("joblib").cpu_count()
    return count


def threads_of(scheduler: str) -> int:
    """How many tasks a Dask cluster runs at once, by the workers that it has now."""
    with _connected(scheduler) as client:
        return sum(client.nthreads().values())


def execute(tasks: Sequence[Task], engine: Engine, done: Callable[[Task, bytes], None]) -> None:
    """Run all tasks; `done` gets each as it finishes, in this process."""
    if not tasks:
        return
    if engine.scheduler is None:
        _execute_here(tasks, engine.workers, done)
    else:
        _execute_there(tasks, engine.scheduler, _AHEAD * engine.workers, done)


def _execute_here(tasks: Sequence[Task], workers: int, done: Callable[[Task, bytes], None]) -> None:
    joblib = need("joblib")
    with workers_end_quietly(), _backend(workers):
        parallel = joblib.Parallel(
            n_jobs=workers,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=f"{_AHEAD}*n_jobs",
        )
        results = None
        work = (joblib.delayed(_numbered)(index, task) for index, task in enumerate(tasks))
        try:
            with workers_begin():
                results = parallel(work)
            for index, data in results:
                done(tasks[index], data)
        except BrokenExecutor as error:
            raise WorkerLost(
                "a worker process was killed, perhaps for want of memory; finished runs are kept: "
                "the same command continues, with --jobs 1 it needs the least memory"
            ) from error
        finally:
            if results is not None:
                results.close()


def _execute_there(
    tasks: Sequence[Task], scheduler: str, ahead: int, done: Callable[[Task, bytes], None]
) -> None:
    """Keep so many tasks ahead of the cluster's workers: enough to keep all of them busy."""
    distributed = need("distributed")
    rest = enumerate(tasks)
    with _connected(scheduler) as client:

        def sent(most: int) -> list[object]:
            some = islice(rest, most)
            return [client.submit(_numbered, index, task, pure=False) for index, task in some]

        under_way = distributed.as_completed(sent(ahead))
        try:
            for future in under_way:
                index, data = future.result()
                future.release()
                under_way.update(sent(1))
                done(tasks[index], data)
        except distributed.KilledWorker as error:
            raise WorkerLost(
                f"workers of the Dask cluster were lost again and again ({error}); finished runs "
                "are kept: the same command continues"
            ) from error


def _numbered(index: int, task: Task) -> tuple[int, bytes]:
    return index, run_task(task)


def _backend(workers: int) -> AbstractContextManager[object]:
    if workers == 1:
        return nullcontext()
    backend: AbstractContextManager[object] = need("joblib").parallel_config(
        backend="loky",
        inner_max_num_threads=1,
        initializer=end_with,
        initargs=(os.getpid(),),
    )
    return backend


def _connected(address: str) -> Any:
    """A client of the Dask scheduler at this address, to be used in a `with`."""
    distributed = need("distributed")
    try:
        return distributed.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"no Dask scheduler answers at {address} ({error}); "
            "start one with `dask scheduler`, or check the address"
        ) from error
