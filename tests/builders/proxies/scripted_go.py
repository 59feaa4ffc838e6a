"""A scripted `go`, so that faults come when a test wants them, and a cache filled by it."""

from pathlib import Path

from trimtab.engines import Progress
from trimtab.engines.build import PATIENT, Built, build
from trimtab.engines.compiler import SilenceLimits

# Every fake program says every version, so that whichever it stands for passes its check.
PROGRAM = "echo v1.36.3 3.6.8 v0.8.0 v0.36.0 3.12.0 v1.8.2 --subresources-only --launcher-image"
WRITES_A_PROGRAM = f"""printf '#!/bin/sh\\n{PROGRAM}\\n' > "$out"; chmod +x "$out" """
LISTS_TWO_PACKAGES = "echo stale example.org/a; echo stale example.org/b"


def a_go(
    directory: Path,
    *,
    version: str = "go1.26.8",
    on_list: str = LISTS_TWO_PACKAGES,
    on_build: str = WRITES_A_PROGRAM,
) -> Path:
    """A shell script in the place of go; `on_build` finds the path to write to in $out."""
    directory.mkdir(parents=True, exist_ok=True)
    go = directory / "go"
    go.write_text(f"""#!/bin/sh
case "$1" in
version) echo "go version {version} linux/amd64" ;;
env) echo '{{"GOPROXY": "https://proxy.example.org,direct"}}' ;;
list) {on_list} ;;
build)
    while [ "$1" != -o ]; do shift; done
    out=$2
    {on_build} ;;
esac
""")
    go.chmod(0o755)
    return go


def with_go_in(directory: Path, home: Path) -> dict[str, str]:
    """The environment of a user whose PATH has that go first, and whose cache is below `home`."""
    path = f"{directory}:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def a_cache(directory: Path, *names: str) -> Path:
    """A cache into which a fake go has built `names`."""
    a_go(directory / "bin")
    cache = directory / "cache" / "trimtab" / "engines"
    build_quietly(names, directory, cache)
    return cache


def build_quietly(
    names: tuple[str, ...],
    directory: Path,
    cache: Path,
    *,
    force: bool = False,
    limits: SilenceLimits = PATIENT,
    events: list[Progress] | None = None,
) -> list[Built]:
    """Build with the go in `directory`/bin, telling nobody but `events`."""
    told: list[Progress] = [] if events is None else events
    return build(
        names,
        cache=cache,
        environment=with_go_in(directory / "bin", directory),
        report=told.append,
        force=force,
        limits=limits,
    )


def everything_in(directory: Path) -> set[str]:
    """The names in a cache, logs and lock aside."""
    return {path.name for path in directory.iterdir() if path.name not in ("logs", ".lock")}


def is_gone(pid: str) -> bool:
    """No such process, or one that is dead and only waits for its parent to notice."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
