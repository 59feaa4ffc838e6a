"""Building with a scripted go: what is told, what is kept, and what a fault leaves behind."""

from pathlib import Path

import msgspec
import pytest

from builders.proxies.scripted_go import (
    LISTS_TWO_PACKAGES,
    WRITES_A_PROGRAM,
    a_cache,
    a_go,
    build_quietly,
    everything_in,
    is_gone,
)
from trimtab.engines import PROGRAMS, REQUIRED, Progress, locate
from trimtab.engines.cache import MANIFEST, CacheManifest, sha256_of
from trimtab.engines.compiler import SilenceLimits
from trimtab.engines.events import Compiling, Downloading, Finished, Started
from trimtab.errors import ConfigError, TrimtabError, Unavailable


def test_what_every_lab_needs_is_built_in_order_and_found_afterwards(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    assert [locate(name, cache).name for name in REQUIRED] == list(REQUIRED)
    assert len(everything_in(cache)) == len(REQUIRED)


def test_kubevirt_is_built_when_it_is_named(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "kubevirt")
    assert locate("virt-api", cache).name == "virt-api"
    assert len(everything_in(cache)) == len(PROGRAMS) - len(REQUIRED)


def test_progress_is_told_from_the_first_download_to_the_end(tmp_path: Path) -> None:
    a_go(
        tmp_path / "bin",
        on_list=f"echo 'go: downloading k8s.io/api v0.36.3'; {LISTS_TWO_PACKAGES}",
        on_build=f"echo example.org/a; echo example.org/b; {WRITES_A_PROGRAM}",
    )
    events: list[Progress] = []
    (built,) = build_quietly(("etcd",), tmp_path, tmp_path / "cache", events=events)
    assert events == [
        Started("etcd", 1, 1),
        Downloading("etcd", "k8s.io/api v0.36.3"),
        Compiling("etcd", 0, 2),
        Compiling("etcd", 1, 2),
        Compiling("etcd", 2, 2),
        Finished("etcd", 1, 1, built.seconds),
    ]


def test_a_second_build_runs_nothing(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "etcd", "kwok")
    a_go(tmp_path / "bin", on_list="exit 1", on_build="exit 1")
    events: list[Progress] = []
    built = build_quietly(("etcd", "kwok"), tmp_path, cache, events=events)
    assert [each.new for each in built] == [False, False]
    assert events == []


def test_a_build_resumes_where_a_failure_stopped_it(tmp_path: Path) -> None:
    fails_for_kwok = f'case "$out" in */kwok) exit 1;; esac; {WRITES_A_PROGRAM}'
    a_go(tmp_path / "bin", on_build=fails_for_kwok)
    cache = tmp_path / "cache"
    with pytest.raises(TrimtabError, match="kwok"):
        build_quietly(("etcd", "kwok", "kubectl"), tmp_path, cache)
    a_go(tmp_path / "bin")
    events: list[Progress] = []
    built = build_quietly(("etcd", "kwok", "kubectl"), tmp_path, cache, events=events)
    assert [each.new for each in built] == [False, True, True]
    assert [event for event in events if isinstance(event, Started)] == [
        Started("kwok", 2, 3),
        Started("kubectl", 3, 3),
    ]


def test_force_builds_again_and_replaces(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "etcd")
    a_go(tmp_path / "bin", on_build=f"{WRITES_A_PROGRAM}; echo '# another' >> \"$out\"")
    build_quietly(("etcd",), tmp_path, cache, force=True)
    assert locate("etcd", cache).read_text().endswith("# another\n")
    assert len(everything_in(cache)) == 1


def test_the_manifest_tells_what_was_built_from_what(tmp_path: Path) -> None:
    binary = locate("descheduler", a_cache(tmp_path, "descheduler"))
    manifest = msgspec.json.decode((binary.parent / MANIFEST).read_bytes(), type=CacheManifest)
    assert manifest.entry_name == binary.parent.name
    assert manifest.go_version == "go1.26.8"
    assert (manifest.size, manifest.sha256) == (binary.stat().st_size, sha256_of(binary))


def test_go_is_called_with_the_flags_of_the_program(tmp_path: Path) -> None:
    a_go(tmp_path / "bin", on_build=f'echo "$@" "in $PWD" > {tmp_path}/seen; {WRITES_A_PROGRAM}')
    build_quietly(("promtool",), tmp_path, tmp_path / "cache")
    log = (tmp_path / "cache" / "logs" / "promtool.log").read_text()
    assert "-trimpath -buildvcs=false" in log
    assert "-X github.com/prometheus/common/version.Version=3.12.0 -tags netgo,remove_all_sd" in log
    assert (tmp_path / "seen").read_text().strip().endswith("/engines/prometheus")


FULL_DISK = "echo 'write /t: no space left on device'; exit 1"


@pytest.mark.parametrize(
    ("go", "message"),
    [
        pytest.param(
            {"on_build": "echo 'main.go:1:1: syntax error'; exit 1"},
            "etcd did not compile: main.go:1:1: syntax error",
            id="compile error",
        ),
        pytest.param({"on_build": FULL_DISK}, "etcd: the disk is full", id="full disk, compiling"),
        pytest.param({"on_list": FULL_DISK}, "etcd: the disk is full", id="full disk, downloading"),
        pytest.param(
            {"on_list": "echo 'dial tcp: lookup proxy: no such host'; exit 1"},
            "etcd: its modules could not be downloaded",
            id="no network",
        ),
        pytest.param(
            {"on_build": 'printf garbage > "$out"; chmod +x "$out"'},
            "etcd was compiled but does not start",
            id="a program that cannot run",
        ),
        pytest.param(
            {"on_build": """printf '#!/bin/sh\necho etcd 3.5.0' > "$out"; chmod +x "$out" """},
            "etcd was compiled but does not say 3.6.8 but 'etcd 3.5.0'",
            id="a program of another version",
        ),
        pytest.param({"on_build": "kill -9 $$"}, "etcd did not compile", id="go is killed"),
    ],
)
def test_a_fault_is_one_line_with_the_log_and_leaves_the_cache_as_it_was(
    tmp_path: Path, go: dict[str, str], message: str
) -> None:
    cache = a_cache(tmp_path, "kwok")
    before = everything_in(cache)
    a_go(tmp_path / "bin", **go)
    with pytest.raises(TrimtabError) as caught:
        build_quietly(("kwok", "etcd"), tmp_path, cache)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(f"log: {cache}/logs/etcd.log")
    assert caught.value.exit_code == 1
    assert everything_in(cache) == before
    assert (cache / "logs" / "etcd.log").read_text()


@pytest.mark.parametrize(
    ("phase", "limits", "doing"),
    [
        pytest.param(
            "on_list", SilenceLimits(download_s=0.8), "downloading modules", id="downloading"
        ),
        pytest.param("on_build", SilenceLimits(compile_s=0.8), "compiling", id="compiling"),
    ],
)
def test_a_go_that_hangs_is_stopped_with_everything_it_started(
    tmp_path: Path, phase: str, limits: SilenceLimits, doing: str
) -> None:
    a_go(tmp_path / "bin", **{phase: f"sleep 600 & echo $! > {tmp_path}/child; wait"})
    with pytest.raises(Unavailable, match=f"^etcd: go said nothing for 0.8 s while {doing} "):
        build_quietly(("etcd",), tmp_path, tmp_path / "cache", limits=limits)
    assert is_gone((tmp_path / "child").read_text().strip())
    assert everything_in(tmp_path / "cache") == set()


def test_a_cache_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    a_go(tmp_path / "bin")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TrimtabError, match=r"^the engine cache cannot be used \(.*Not a directory"):
        build_quietly(("etcd",), tmp_path, tmp_path / "file" / "cache")


def test_an_unknown_name_is_told_before_anything_is_built(tmp_path: Path) -> None:
    a_go(tmp_path / "bin")
    with pytest.raises(ConfigError, match='no engine "etdc"'):
        build_quietly(("etcd", "etdc"), tmp_path, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
