"""Ctrl-C during `make test` ends it: tests tidy up, checks end, no further tier begins."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from builders.ctrl_c import heed_ctrl_c, press_ctrl_c
from builders.waiting import LIMIT_S, wait_until

ROOT = Path(__file__).parents[3]
WAITS_UNTIL_INTERRUPTED = """\
import time
from pathlib import Path

def test_that_has_started_something():
    started = Path(__file__).with_suffix(".started")
    started.touch()
    try:
        time.sleep(600)
    finally:
        started.rename(started.with_suffix(".tidied"))
"""
NEVER_ENDS = "#!/bin/sh\ntouch {here}/checking\nexec sleep 600\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Both halves of the unit tests wait, and so does mypy; other tiers would leave a file."""
    (tmp_path / "scripts").mkdir()
    for script in ("test", "check"):
        shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
    for room in ("model", "sim"):
        folder = tmp_path / "tests" / "unit" / room
        folder.mkdir(parents=True)
        (folder / f"test_{room}.py").write_text(WAITS_UNTIL_INTERRUPTED)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for program in ("python", "pytest"):
        (programs / program).symlink_to(Path(sys.executable).parent / program)
    (programs / "mypy").write_text(NEVER_ENDS.format(here=tmp_path))
    (programs / "mypy").chmod(0o755)
    return tmp_path


@pytest.fixture
def running(tree: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [str(tree / "scripts" / "test")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    started = [tree / "tests" / "unit" / r / f"test_{r}.started" for r in ("model", "sim")]
    wait_until(lambda: all(file.exists() for file in (*started, tree / "checking")))
    yield process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_ctrl_c_ends_the_run_and_everything_that_it_started(
    tree: Path, running: subprocess.Popen[str]
) -> None:
    begun = psutil.Process(running.pid).children(recursive=True)
    press_ctrl_c(running)
    said, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 130, said
    tidied = {path.stem for path in tree.rglob("*.tidied")}
    assert tidied == {"test_model", "test_sim"}, "a test could not take down what it had started"
    assert [child for child in begun if child.is_running()] == []
    assert "== programs" not in said, "a further tier began"
