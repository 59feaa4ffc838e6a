"""Building what is missing, one program at a time: go uses all cores for each of them.

A program gets its name in the cache only after it has said its version. What is finished stays
there when a later one fails, so the next build resumes where this one ended.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from errno import EDQUOT, ENOSPC
from pathlib import Path

from msgspec import Struct

from trimtab.engines.cache import (
    CacheEntry,
    CacheManifest,
    find,
    new_log,
    put,
    remove_leftovers,
    sha256_of,
    staging,
)
from trimtab.engines.compiler import Compiler, SilenceLimits, go_environment
from trimtab.engines.events import Finished, Installing, Progress, Started, WaitingForOthers
from trimtab.engines.failure import BuildFailed, disk_full
from trimtab.engines.inventory import version_fault
from trimtab.engines.lock import exclusive
from trimtab.engines.pins import pins_of, sources_dir
from trimtab.engines.programs import Program, chosen
from trimtab.engines.toolchain.golang import Go, obtain

Report = Callable[[Progress], None]
PATIENT = SilenceLimits()


class Built(Struct, frozen=True):
    """A program that is in the cache now; `new` if this build put it there."""

    program: str
    path: Path
    seconds: float
    new: bool


class Workshop(Struct, frozen=True):
    """What all programs of one build share."""

    cache: Path
    go: Go
    environment: Mapping[str, str]
    sources: Path
    limits: SilenceLimits
    lock: int
    report: Report


def build(
    names: Sequence[str],
    *,
    cache: Path,
    environment: Mapping[str, str],
    report: Report,
    force: bool = False,
    sources: Path | None = None,
    limits: SilenceLimits = PATIENT,
) -> list[Built]:
    """Build what is missing of `names` (what every lab needs, if empty), or all with `force`."""
    wanted = chosen(names)
    root = sources or sources_dir()
    present = {} if force else _present(wanted, cache, root)
    if len(present) == len(wanted):
        return [present[each.name] for each in wanted]
    with exclusive(cache, lambda holder: report(WaitingForOthers(holder))) as lock:
        remove_leftovers(cache)
        go = obtain(environment, cache, lambda what: report(Installing(what)), lock)
        workshop = Workshop(cache, go, environment, root, limits, lock, report)
        return _build_in_turn(wanted, workshop, force)


def _present(wanted: Sequence[Program], cache: Path, sources: Path) -> dict[str, Built]:
    found = ((each, find(each.name, cache, pins_of(each, sources))) for each in wanted)
    return {
        each.name: Built(each.name, entry.binary, 0.0, new=False) for each, entry in found if entry
    }


def _build_in_turn(wanted: Sequence[Program], workshop: Workshop, force: bool) -> list[Built]:
    """Looks again at each turn: the process we waited for may have built it."""
    done: list[Built] = []
    for number, each in enumerate(wanted, start=1):
        there = {} if force else _present([each], workshop.cache, workshop.sources)
        if each.name in there:
            done.append(there[each.name])
            continue
        workshop.report(Started(each.name, number, len(wanted)))
        done.append(build_one(each, workshop))
        workshop.report(Finished(each.name, number, len(wanted), done[-1].seconds))
    return done


def build_one(each: Program, workshop: Workshop) -> Built:
    """Compile one program and put it into the cache."""
    began = time.monotonic()
    log = new_log(workshop.cache, each.name)
    with staging(workshop.cache, each.name) as directory:
        made, scratch = directory / "made", directory / "scratch"
        made.mkdir()
        scratch.mkdir()
        compiler = Compiler(
            each,
            go=workshop.go.path,
            module=workshop.sources / each.module,
            environment=go_environment(workshop.go.path, workshop.environment, scratch),
            log=log,
            limits=workshop.limits,
            lock=workshop.lock,
            report=workshop.report,
        )
        try:
            compiler.compile(made / each.name, compiler.fetch())
            if fault := version_fault(made / each.name, each):
                raise BuildFailed(f"{each.name} was compiled but {fault}; log: {log}")
            entry = _finish(each, workshop, made, time.monotonic() - began)
        except OSError as error:
            if error.errno in (ENOSPC, EDQUOT):
                raise disk_full(each.name, error.strerror or "no space", str(log)) from error
            raise
    return Built(each.name, entry.binary, entry.manifest.seconds, new=True)


def _finish(each: Program, workshop: Workshop, made: Path, seconds: float) -> CacheEntry:
    binary = made / each.name
    manifest = CacheManifest(
        pins=pins_of(each, workshop.sources),
        go_version=workshop.go.version,
        sha256=sha256_of(binary),
        size=binary.stat().st_size,
        built=time.time(),
        seconds=round(seconds, 1),
    )
    return put(made, manifest, workshop.cache)
