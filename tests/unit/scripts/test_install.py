"""How `make setup` fills .venv: by uv, or by pip where uv does not reach the packages."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RECORDER = """#!/bin/sh
echo "{name} $*" >> calls
case "$*" in *dev/fd*) for last; do :; done; cat "$last" > pinned;; esac
exit {code}
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with nothing but the script, the lock files, and a pip that always succeeds."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "install", tmp_path / "scripts")
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    program(tmp_path, "python")
    return tmp_path


def program(clone: Path, name: str, code: int = 0) -> None:
    file = clone / ".venv" / "bin" / name
    file.write_text(RECORDER.format(name=name, code=code))
    file.chmod(0o755)


def installed(clone: Path, what: str) -> tuple[str, list[str]]:
    """What the script says, and the programs it calls."""
    done = subprocess.run(
        [clone / "scripts" / "install", what], capture_output=True, text=True, check=True
    )
    return done.stdout, (clone / "calls").read_text().splitlines()


def test_uv_installs_a_lock_file_by_its_hashes(clone: Path) -> None:
    program(clone, "uv")
    said, calls = installed(clone, "requirements/study.lock")
    assert said == ""
    assert calls == [
        "uv pip install --quiet --python .venv/bin/python"
        " --require-hashes -r requirements/study.lock"
    ]


def test_pip_installs_what_uv_cannot_reach_and_says_so(clone: Path) -> None:
    program(clone, "uv", code=2)
    said, calls = installed(clone, "requirements/study.lock")
    assert said.startswith("uv did not install requirements/study.lock")
    assert calls[-1] == "python -m pip install --quiet --require-hashes -r requirements/study.lock"


def test_uv_itself_comes_from_the_lock_file_with_its_hashes(clone: Path) -> None:
    installed(clone, "requirements/dev.lock")
    first, *hashes = (clone / "pinned").read_text().splitlines()
    assert first.startswith("uv==")
    assert len(hashes) > 5
    assert all("--hash=sha256:" in line for line in hashes)


def test_trimtab_itself_is_installed_as_it_stands(clone: Path) -> None:
    program(clone, "uv")
    _, calls = installed(clone, ".")
    assert calls[0].endswith("--no-deps --editable .")
