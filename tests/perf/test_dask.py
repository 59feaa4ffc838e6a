"""The demo study on a Dask cluster of this computer beside joblib: CPU time of everybody."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from builders.programs.served_page import a_free_port
from builders.waiting import wait_until
from trimtab.errors import Unavailable
from trimtab.study.execution.engines import threads_of

pytestmark = pytest.mark.full
WORKERS = 2
MOST = 1.15
DEMO = Path(__file__).parents[2] / "examples" / "studies" / "demo.yaml"
TICKS = os.sysconf("SC_CLK_TCK")
QUIET = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


def test_a_study_on_a_dask_cluster_costs_little_more_than_on_cores(tmp_path: Path) -> None:
    here = study(tmp_path, "here", "--jobs", str(WORKERS))
    with a_cluster(tmp_path) as (address, pids):
        before = sum(map(cpu_of, pids))
        there = study(tmp_path, "there", "--engine", "dask", "--scheduler", address)
        there += sum(map(cpu_of, pids)) - before
    print(f"\nthe demo: {here:.1f} s of CPU on cores, {there:.1f} s on Dask: × {there / here:.2f}")
    assert there < MOST * here


def study(directory: Path, name: str, *options: str) -> float:
    """CPU seconds of the command and of the processes that it started."""
    command = [sys.executable, "-m", "trimtab.cli", "study", str(DEMO), "--out", name, *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, cwd=directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def a_cluster(directory: Path) -> Iterator[tuple[str, list[int]]]:
    """A scheduler and workers as docs/reference/study.md starts them."""
    port = a_free_port()
    address = f"tcp://127.0.0.1:{port}"
    commands = [["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]]
    worker = ["worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    commands += [[*worker, "--local-directory", str(directory / f"w{n}")] for n in range(WORKERS)]
    with ExitStack() as stack:
        programs = [stack.enter_context(_started(directory, each)) for each in commands]
        wait_until(lambda: _threads(address) == WORKERS, "the Dask workers do not come")
        yield address, [each.pid for each in programs]


@contextmanager
def _started(directory: Path, arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "dask", *arguments]
    with (directory / "dask.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **QUIET})
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _threads(address: str) -> int:
    try:
        return threads_of(address)
    except Unavailable:
        return 0
