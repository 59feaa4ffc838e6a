"""Running tasks: on all cores of this computer with joblib's loky, or on a Dask cluster.

Results come back in any order and are handed on at once, so whatever happens to the process,
only the tasks that were under way are lost.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext

from msgspec import Struct

from trimtab.errors import TrimtabError, Unavailable
from trimtab.study.extra import need
from trimtab.study.tasks import Task, run_task
from trimtab.study.workers import end_with, workers_begin, workers_end_quietly

_CONNECT_S = 15


class Engine(Struct, frozen=True):
    """Where tasks run: `workers` processes here, or the cluster behind `scheduler`."""

    workers: int
    scheduler: str | None = None


class WorkerLost(TrimtabError):
    """A worker is gone; what it had finished before is not."""


def cores() -> int:
    """How many processes this computer runs at once, limits of a container included."""
    count: int = need("joblib").cpu_count()
    return count


def execute(tasks: Sequence[Task], engine: Engine, done: Callable[[Task, bytes], None]) -> None:
    """Run all tasks; `done` gets each as it finishes, in this process."""
    joblib = need("joblib")
    if not tasks:
        return
    with workers_end_quietly(), _backend(engine):
        parallel = joblib.Parallel(
            n_jobs=engine.workers if engine.scheduler is None else -1,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2*n_jobs",
        )
        results = None
        work = (joblib.delayed(_numbered)(index, task) for index, task in enumerate(tasks))
        try:
            with workers_begin() if engine.scheduler is None else nullcontext():
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


def _numbered(index: int, task: Task) -> tuple[int, bytes]:
    return index, run_task(task)


def _backend(engine: Engine) -> AbstractContextManager[object]:
    joblib = need("joblib")
    if engine.scheduler is not None:
        return _dask(engine.scheduler)
    if engine.workers == 1:
        return nullcontext()
    backend: AbstractContextManager[object] = joblib.parallel_config(
        backend="loky",
        inner_max_num_threads=1,
        initializer=end_with,
        initargs=(os.getpid(),),
    )
    return backend


@contextmanager
def _dask(address: str) -> Iterator[None]:
    joblib, distributed = need("joblib"), need("distributed")
    try:
        client = distributed.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"no Dask scheduler answers at {address} ({error}); "
            "start one with `dask scheduler`, or check the address"
        ) from error
    with client, joblib.parallel_config(backend="dask"):
        yield
