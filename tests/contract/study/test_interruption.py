"""A study that is killed or interrupted goes on where it was, and leaves nobody behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from trimtab.study.run import load_result
from trimtab.study.store import Store

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
PATIENCE_S = 120.0


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "slow.yaml").write_text(SCENARIO)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


class Begun:
    """A study in a process of its own, two workers, some chunks done and some not."""

    def __init__(self, folder: Path) -> None:
        self.store, self.errors = Store(folder / "out"), folder / "errors.txt"
        command = [sys.executable, "-m", "trimtab.cli", "study", "study.yaml", "--out", "out"]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*command, "--jobs", "2"],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        await_until(lambda: len(self.chunks()) >= 2 or self.process.poll() is not None)
        assert self.process.poll() is None, "the study was over before it could be interrupted"
        self.workers = psutil.Process(self.process.pid).children(recursive=True)

    def chunks(self) -> list[Path]:
        return list(self.store.runs.glob("*.chunk"))

    def is_deserted(self) -> bool:
        return not any(w.is_running() and w.status() != "zombie" for w in self.workers)


def await_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, "nothing happened for too long"
        time.sleep(0.02)


@pytest.fixture
def begun(study: Path) -> Iterator[Begun]:
    running = Begun(study)
    yield running
    if running.process.poll() is None:
        os.killpg(running.process.pid, signal.SIGKILL)
    running.process.wait()


def finish(study: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trimtab.cli", "study", "study.yaml", "--out", "out"]
    return subprocess.run([*command, "--jobs", "2"], cwd=study, capture_output=True, text=True)


def test_a_killed_study_continues_and_comes_out_the_same(begun: Begun, study: Path) -> None:
    os.kill(begun.process.pid, signal.SIGKILL)
    begun.process.wait()
    await_until(begun.is_deserted)
    kept = {path: path.stat().st_mtime_ns for path in begun.chunks()}
    done = finish(study)
    assert done.returncode == 0, done.stderr
    assert "of 36 runs are there from before" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    interrupted = load_result(begun.store)
    fresh = subprocess.run(
        [sys.executable, "-m", "trimtab.cli", "study", "rerun", "out", "--jobs", "2"],
        cwd=study,
        capture_output=True,
        text=True,
    )
    assert interrupted.runs == 36
    assert fresh.returncode == 0, fresh.stderr
    assert "all 36 runs came out the same" in fresh.stdout


def test_a_killed_worker_ends_the_study_in_one_line(begun: Begun, study: Path) -> None:
    worker = next(w for w in begun.workers if "LokyProcess" in " ".join(w.cmdline()))
    worker.kill()
    assert begun.process.wait(PATIENCE_S) == 1
    said = begun.errors.read_text()
    assert "a worker process was killed" in said
    assert "Traceback" not in said
    assert finish(study).returncode == 0


def test_ctrl_c_leaves_a_study_that_continues(begun: Begun, study: Path) -> None:
    os.killpg(begun.process.pid, signal.SIGINT)  # as a terminal does: the workers hear it too
    assert begun.process.wait(PATIENCE_S) == 130
    said = begun.errors.read_text()
    assert "the same command continues" in said
    assert "Traceback" not in said
    await_until(begun.is_deserted)
    assert not list(begun.store.path.rglob(".*")), "no half-written file is left"
    assert finish(study).returncode == 0
