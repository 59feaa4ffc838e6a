"""What is published: the wheel and the sdist install and work where no clone is."""

import subprocess
from pathlib import Path

import pytest

from builders.values.manifests import REPOSITORY


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_the_wheel_the_sdist_pipx_and_uv_install_a_program_that_works(tmp_path: Path) -> None:
    done = subprocess.run(
        ["scripts/dist", "--tools", str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.iterdir())) == 2
    for way in ("in a fresh environment", "uv tool install", "pipx install"):
        assert way in done.stdout
