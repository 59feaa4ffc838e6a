"""A study that is killed or interrupted goes on where it was, and leaves nobody behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from builders.ctrl_c import heed_ctrl_c, press_ctrl_c
from builders.waiting import LIMIT_S, wait_until
from trimtab.study.execution.run import load_result
from trimtab.study.results.store import StudyStore

SCENARIO = """
name: slow
duration: 90m
nodes: [{name: n, count: 6}]
vms:
  - {name: hot, count: 12, cpu: 2, memory: 4Gi, node: n-1, utilization: {cpu: 0.9}}
  - {name: calm, count: 30, cpu: 2, memory: 4Gi}
"""
STUDY = """
name: slow
scenarios: [slow.yaml]
scores: [max_metric, cpu_focused]
seeds: 12
"""
STUDY_COMMAND = [sys.executable, "-m", "trimtab.cli", "study"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "slow.yaml").write_text(SCENARIO)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


class Begun:
    """A study in a process of its own, two workers."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.store, self.errors = StudyStore(folder / "out"), folder / "errors.txt"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*STUDY_COMMAND, *(arguments or ("study.yaml", "--out", "out")), "--jobs", "2"],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                preexec_fn=heed_ctrl_c,
            )
        self.workers: list[psutil.Process] = []

    def goes_on_until(self, condition: Callable[[], bool]) -> None:
        wait_until(lambda: condition() or self.process.poll() is not None)
        assert self.process.poll() is None, "the study was over before it could be interrupted"
        self.workers = self.children()

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def is_simulating(self) -> bool:
        return any("LokyProcess" in command_of(child) for child in self.children())

    def chunks(self) -> list[Path]:
        return list(self.store.runs.glob("*.chunk"))

    def is_deserted(self) -> bool:
        return not any(w.is_running() and w.status() != "zombie" for w in self.workers)


def command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def hears_ctrl_c(process: psutil.Process) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text()
    masks = dict(line.split(":", 1) for line in status.splitlines())
    deaf = int(masks["SigBlk"], 16) | int(masks["SigIgn"], 16)
    return not deaf & 1 << (signal.SIGINT - 1)


@pytest.fixture
def begun(study: Path) -> Iterator[Begun]:
    """A study with some chunks done and some not."""
    with beginning(study) as running:
        running.goes_on_until(lambda: len(running.chunks()) >= 2)
        yield running


@contextmanager
def beginning(study: Path, *arguments: str) -> Iterator[Begun]:
    running = Begun(study, *arguments)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            os.killpg(running.process.pid, signal.SIGKILL)
        running.process.wait()


def finish(study: Path) -> subprocess.CompletedProcess[str]:
    """The rest without workers: what they would do is proved by those that are interrupted."""
    command = [*STUDY_COMMAND, "study.yaml", "--out", "out", "--jobs", "1"]
    return subprocess.run(command, cwd=study, capture_output=True, text=True)


def test_a_killed_study_continues_and_comes_out_the_same(begun: Begun, study: Path) -> None:
    os.kill(begun.process.pid, signal.SIGKILL)
    begun.process.wait()
    wait_until(begun.is_deserted)
    kept = {path: path.stat().st_mtime_ns for path in begun.chunks()}
    done = finish(study)
    assert done.returncode == 0, done.stderr
    assert "of 36 runs are there from before" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    interrupted = load_result(begun.store)
    fresh = subprocess.run(
        [*STUDY_COMMAND, "rerun", "out", "--jobs", "1"],
        cwd=study,
        capture_output=True,
        text=True,
    )
    assert interrupted.runs == 36
    assert fresh.returncode == 0, fresh.stderr
    assert "all 36 runs came out the same" in fresh.stdout


def test_a_killed_worker_ends_the_study_in_one_line(begun: Begun, study: Path) -> None:
    worker = next(w for w in begun.workers if "LokyProcess" in command_of(w))
    worker.kill()
    assert begun.process.wait(LIMIT_S) == 1
    said = begun.errors.read_text()
    assert "a worker process was killed" in said
    assert "Traceback" not in said
    assert finish(study).returncode == 0


def test_no_process_that_a_study_starts_hears_ctrl_c(study: Path) -> None:
    with beginning(study) as running:
        running.goes_on_until(running.is_simulating)
        heard = [command_of(child) for child in running.workers if hears_ctrl_c(child)]
        assert not heard


def test_ctrl_c_while_the_workers_begin_is_answered_in_one_line(study: Path) -> None:
    with beginning(study) as running:
        running.goes_on_until(running.is_simulating)
        press_ctrl_c(running.process)
        assert running.process.wait(LIMIT_S) == 130
        said = running.errors.read_text()
        assert "the same command continues" in said
        assert "Traceback" not in said


def test_a_killed_repetition_leaves_no_process_and_no_warning(study: Path) -> None:
    assert finish(study).returncode == 0
    for how in (signal.SIGTERM, signal.SIGKILL):
        with beginning(study, "rerun", "out") as running:
            running.goes_on_until(running.is_simulating)
            running.process.send_signal(how)
            running.process.wait()
            wait_until(running.is_deserted)
            assert "resource_tracker" not in running.errors.read_text()


def test_ctrl_c_leaves_a_study_that_continues(begun: Begun, study: Path) -> None:
    press_ctrl_c(begun.process)  # the workers hear it too
    assert begun.process.wait(LIMIT_S) == 130
    said = begun.errors.read_text()
    assert "the same command continues" in said
    assert "Traceback" not in said
    wait_until(begun.is_deserted)
    assert not list(begun.store.path.rglob(".*")), "no half-written file is left"
    assert finish(study).returncode == 0
