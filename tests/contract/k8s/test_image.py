"""The image: the Containerfile's own steps, run for real where buildah is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from builders.values.manifests import REPOSITORY

MISSING = [tool for tool in ("buildah", "debootstrap") if shutil.which(tool) is None]


@pytest.mark.full
@pytest.mark.skipif(bool(MISSING), reason=f"THE IMAGE IS NOT PROVED HERE: no {', '.join(MISSING)}")
@pytest.mark.skipif(
    os.geteuid() != 0, reason="THE IMAGE IS NOT PROVED HERE: debootstrap needs root"
)
def test_the_image_is_built_by_its_own_steps_and_runs(tmp_path: Path) -> None:
    storage = tmp_path / "storage.conf"
    storage.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{tmp_path}/images"\nrunroot = "{tmp_path}/run"\n'
    )
    done = subprocess.run(
        ["scripts/image", "--stand-in", "--tag", "localhost/trimtab:test"],
        cwd=REPOSITORY,
        env=os.environ | {"CONTAINERS_STORAGE_CONF": str(storage), "BUILDAH_ISOLATION": "chroot"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "localhost/trimtab:test is built, runs as user 10001" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--nonsense"], "--nonsense is not understood", id="an unknown option"),
        pytest.param(["--tag"], "--tag needs a name", id="an option without its value"),
    ],
)
def test_a_wrong_call_of_the_script_says_so(options: list[str], said: str) -> None:
    done = subprocess.run(
        ["scripts/image", *options], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert said in done.stderr


def test_without_a_container_engine_the_script_says_what_to_install(tmp_path: Path) -> None:
    for tool in ("bash", "sed", "dirname"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    done = subprocess.run(
        [REPOSITORY / "scripts/image"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "podman, buildah or docker is needed" in done.stderr
