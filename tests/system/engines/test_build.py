"""The real compiler: what it says when something is wrong is what our messages are made from."""

import os
import shutil
from pathlib import Path

import pytest

from trimtab.engines import Progress, cache_dir
from trimtab.engines.build import build
from trimtab.engines.pins import sources_dir
from trimtab.engines.toolchain.golang import find_go
from trimtab.errors import TrimtabError

pytestmark = pytest.mark.engines


@pytest.fixture
def environment() -> dict[str, str]:
    """This user's, with the Go that built the engines first on PATH."""
    go = find_go(os.environ, cache_dir(os.environ)).go
    if go is None:
        pytest.skip(
            "no Go: these engines were imported; install Go 1.26 to test the compiler's words"
        )
    return {**os.environ, "PATH": f"{go.path.parent}:{os.environ['PATH']}"}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return Path(shutil.copytree(sources_dir(), tmp_path / "engines"))


def failure(sources: Path, cache: Path, environment: dict[str, str], name: str) -> str:
    told: list[Progress] = []
    with pytest.raises(TrimtabError) as caught:
        build((name,), cache=cache, environment=environment, report=told.append, sources=sources)
    assert not list(cache.glob(f"{name}-*"))
    assert not list(cache.glob(".tmp-*"))
    return str(caught.value)


def test_a_mistake_in_our_plugin_is_shown_with_file_and_line(
    sources: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    main = sources / "kubernetes" / "cmd" / "kube-scheduler" / "main.go"
    main.write_text(main.read_text() + "\nvar wrong int = undefinedName\n")
    said = failure(sources, tmp_path / "cache", environment, "kube-scheduler")
    assert said.startswith("kube-scheduler did not compile: cmd/kube-scheduler/main.go:")
    assert "undefined: undefinedName; log: " in said


def test_without_network_and_modules_the_message_says_so(
    sources: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    lonely = {
        "GOMODCACHE": str(tmp_path / "modules"),
        "GOPROXY": "http://127.0.0.1:9/,direct",  # the discard port: nobody listens
    }
    said = failure(sources, tmp_path / "cache", {**environment, **lonely}, "promtool")
    assert said.startswith("promtool: its modules could not be downloaded (")
    assert "connection refused" in said


def test_a_module_that_is_not_the_pinned_one_is_refused(
    sources: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    go_sum = sources / "kubernetes" / "go.sum"
    lines = go_sum.read_text().splitlines(keepends=True)
    go_sum.write_text("".join(line for line in lines if not line.startswith("sigs.k8s.io/kwok ")))
    said = failure(sources, tmp_path / "cache", environment, "kwok")
    assert "a module is not the pinned one" in said
