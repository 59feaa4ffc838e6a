"""The real programs in this user's cache: they start, carry their stamps, and travel."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from trimtab.engines import PROGRAMS, REQUIRED, Program, locate
from trimtab.engines.archive import export, import_
from trimtab.engines.cache import CacheEntry, cache_dir, find
from trimtab.engines.inventory import stated_version, verify

pytestmark = pytest.mark.engines

STATED = {
    "kube-scheduler": "Kubernetes v1.36.3",
    "kube-apiserver": "Kubernetes v1.36.3",
    "kube-controller-manager": "Kubernetes v1.36.3",
    "kubectl": "Client Version: v1.36.3",
    "etcd": "etcd Version: 3.6.8",
    "kwok": "kwok version v0.8.0",
    "descheduler": "GitVersion:v0.36.0",
    "prometheus": "prometheus, version 3.12.0",
    "promtool": "promtool, version 3.12.0",
    "virt-api": "--subresources-only",
    "virt-controller": "--launcher-image",
    "virtctl": 'GitVersion:"v1.8.2"',
    "kubevirt-objects": "kubevirt-objects v1.8.2",
}


def quiet(said: str) -> None: ...


def is_built(name: str) -> bool:
    return find(name, cache_dir(os.environ)) is not None


def whole_entry(name: str) -> CacheEntry:
    entry = find(name, locate(name).parent.parent)
    assert entry is not None
    return entry


PRESENT = [p for p in PROGRAMS.values() if p.name in REQUIRED or is_built(p.name)]
SLOW = "virt-api"
"""It takes 6 s of CPU time before it reads its options. tests/system/player starts it, with the
very option that its help must show, wherever it is built."""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.full] if each.name == SLOW else [])
        for each in PRESENT
    ],
)
def test_a_program_says_its_version(program: Program) -> None:
    assert STATED[program.name] in stated_version(locate(program.name), program)


def test_the_descheduler_carries_the_relative_path_of_the_ca() -> None:
    assert b"pki/ca.crt" in locate("descheduler").read_bytes()


@pytest.mark.parametrize("program", PRESENT, ids=lambda program: program.name)
def test_a_program_needs_no_library_of_this_computer(program: Program) -> None:
    """CGO is off, so an exported program runs on any Linux of the same architecture."""
    with locate(program.name).open("rb") as binary:
        headers = binary.read(4096)
    assert headers.startswith(b"\x7fELF")
    assert b"/ld-linux" not in headers


def test_kubectl_carries_the_stamps_too() -> None:
    said = subprocess.run(
        [locate("kubectl"), "version", "--client", "--output=json"],
        env={"HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    stamps = dict(re.findall(r'"(major|minor|gitVersion|gitTreeState)": "([^"]*)"', said))
    assert stamps == {
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.3",
        "gitTreeState": "clean",
    }


def test_one_program_travels_and_a_truncated_one_is_found_out(tmp_path: Path) -> None:
    home, away = whole_entry("etcd").path.parent, tmp_path / "away"
    export(tmp_path / "etcd.tar", ("etcd",), home, quiet)
    import_(tmp_path / "etcd.tar", away, quiet, quiet)
    copy = locate("etcd", away)
    assert [each.fault for each in verify(away) if each.program == "etcd"] == [None]

    with copy.open("r+b") as binary:
        binary.truncate(binary.seek(0, 2) - 4096)
    (fault,) = [each.fault for each in verify(away) if each.program == "etcd"]
    assert fault is not None
    assert "its checksum differs" in fault


def test_a_changed_byte_is_found_out_though_the_length_is_right(tmp_path: Path) -> None:
    entry = whole_entry("etcd")
    copy = Path(shutil.copytree(entry.path, tmp_path / entry.path.name))
    with (copy / "etcd").open("r+b") as binary:
        binary.seek(entry.manifest.size // 2)
        byte = binary.read(1)[0]
        binary.seek(-1, 1)
        binary.write(bytes([byte ^ 1]))
    assert locate("etcd", tmp_path).exists()
    (fault,) = [each.fault for each in verify(tmp_path) if each.program == "etcd"]
    assert fault is not None
    assert "its checksum differs" in fault
