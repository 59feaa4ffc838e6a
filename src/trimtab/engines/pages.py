"""Prometheus' own web pages: made from the sources in its Go module, when first wanted.

A Prometheus compiled without them serves `static/` of its working directory, so nothing is
compiled again: a lab's directory has a link to what lies here. Until the pages are made, there
is one page that says how to make them; labs that run need not be restarted for either.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.engines import process
from trimtab.engines.cache import MANIFEST, new_log, remove_leftovers, sha256_of, staging
from trimtab.engines.compiler import go_environment
from trimtab.engines.events import Installing, Progress, WaitingForOthers
from trimtab.engines.failure import BuildFailed
from trimtab.engines.lock import exclusive
from trimtab.engines.pins import sources_dir
from trimtab.engines.programs import PROMETHEUS
from trimtab.engines.toolchain.golang import obtain
from trimtab.engines.toolchain.nodejs import OLDEST, with_node

NAME = "prometheus-ui"
_MODULE = "github.com/prometheus/prometheus"
_INDEX = Path("mantine-ui") / "index.html"
_MISSING = "<!-- not made yet -->"
_SILENCE_S = 600.0
_PAGE = f"""<!doctype html>
{_MISSING}
<title>Prometheus: pages not made yet</title>
<p>This Prometheus runs, and answers queries at <a href="/api/v1/query?query=up">/api/v1/query</a>
and at <a href="/metrics">/metrics</a>.
Its own pages (/query, /graph, /targets, /rules, /alerts) are made once, in about a minute,
with Node.js {OLDEST} or newer, which is fetched where there is none:
<pre>trimtab engines build {NAME}</pre>
<p>Then load this page again.
"""


class Pages(Struct, frozen=True):
    """What `static/` of a lab leads to."""

    path: Path
    seconds: float
    new: bool


class PagesManifest(Struct, frozen=True):
    """What was made: by name, relative to `static`, the checksum of every file."""

    version: str
    files: dict[str, str]
    size: int
    built: float
    seconds: float


def pages_dir(cache: Path) -> Path:
    """Where the pages of this repository's Prometheus are, or will be."""
    return cache / f"{NAME}-{PROMETHEUS}" / "static"


def are_made(cache: Path) -> bool:
    """Whether the real pages are there, and not the one that says how to make them."""
    index = pages_dir(cache) / _INDEX
    return index.is_file() and _MISSING not in index.read_text(errors="replace")[:200]


def ensure_a_page(cache: Path) -> Path:
    """The directory to serve: with the real pages, or with one that says how to make them."""
    index = pages_dir(cache) / _INDEX
    if not index.exists():
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text(_PAGE)
    return pages_dir(cache)


def build_pages(
    *,
    cache: Path,
    environment: Mapping[str, str],
    report: Callable[[Progress], None],
    force: bool = False,
) -> Pages:
    """Make the pages unless they are there; nothing half-made is ever served."""
    if are_made(cache) and not force:
        return Pages(pages_dir(cache), 0.0, new=False)
    began = time.monotonic()
    with exclusive(cache, lambda holder: report(WaitingForOthers(holder))) as lock:
        remove_leftovers(cache)
        tools = with_node(environment, cache, lambda what: report(Installing(what)), lock)
        go = obtain(environment, cache, lambda what: report(Installing(what)), lock)
        log = new_log(cache, NAME)
        with staging(cache, NAME) as directory:
            ui = directory / "ui"
            settings = go_environment(go.path, environment, directory)
            shutil.copytree(_sources(go.path, settings), ui, copy_function=shutil.copyfile)
            for path in (ui, *ui.rglob("*")):  # the module cache is read-only
                path.chmod(0o755 if path.is_dir() else 0o644)
            for command in (
                ["npm", "ci", "--no-audit", "--no-fund"],
                ["bash", "build_ui.sh", "--build-module"],
                ["bash", "build_ui.sh", "--mantine-ui"],
            ):
                _run(command, ui, tools, log, lock)
            _put(ui / "static", cache, directory, time.monotonic() - began)
    return Pages(pages_dir(cache), time.monotonic() - began, new=True)


def _sources(go: Path, environment: Mapping[str, str]) -> Path:
    """The pages' sources in the module cache, downloaded if they are not there."""
    done = subprocess.run(
        [go, "mod", "download", "-json", _MODULE],
        cwd=sources_dir() / "prometheus",
        env=dict(environment),
        capture_output=True,
        timeout=_SILENCE_S,
        check=False,
    )
    try:
        found = msgspec.json.decode(done.stdout, type=dict[str, str | bool])
        return Path(str(found["Dir"])) / "web" / "ui"
    except (ValueError, KeyError):
        raise BuildFailed(f"{_MODULE} could not be downloaded: {done.stderr.decode()}") from None


def _run(
    command: list[str], directory: Path, environment: Mapping[str, str], log: Path, lock: int
) -> None:
    outcome = process.run(
        command,
        directory=directory,
        environment={**environment, "CI": "true"},
        log=log,
        silence_s=_SILENCE_S,
        hear=lambda _line: None,
        lend=lock,
    )
    if outcome.code:
        told = "; ".join(outcome.tail[-3:])
        raise BuildFailed(f"{NAME}: {' '.join(command)} failed: {told}; log: {log}")


def _put(made: Path, cache: Path, aside: Path, seconds: float) -> None:
    if not (made / _INDEX).is_file():
        raise BuildFailed(f"{NAME} was built but has no {_INDEX}")
    put_pages(made, describe(made, seconds), cache, aside)


def describe(made: Path, seconds: float) -> PagesManifest:
    """What a directory of pages holds."""
    return PagesManifest(
        version=PROMETHEUS,
        files=_checksums(made),
        size=sum(path.stat().st_size for path in _files(made)),
        built=time.time(),
        seconds=round(seconds, 1),
    )


def put_pages(made: Path, manifest: PagesManifest, cache: Path, aside: Path) -> None:
    """Give pages their place and manifest; what was there goes into the directory `aside`."""
    place = pages_dir(cache)
    place.parent.mkdir(parents=True, exist_ok=True)
    manifest_path(cache).unlink(missing_ok=True)
    if place.exists():
        place.rename(aside / "before")
    made.rename(place)
    manifest_path(cache).write_bytes(msgspec.json.encode(manifest))


def manifest_path(cache: Path) -> Path:
    """Beside the pages and not among them: Prometheus serves all of those."""
    return pages_dir(cache).parent / MANIFEST


def read_manifest(path: Path) -> PagesManifest | None:
    """None if there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=PagesManifest)
    except (OSError, msgspec.MsgspecError):
        return None


def pages_fault(static: Path, manifest: PagesManifest | None) -> str | None:
    """Why these are not the pages of a manifest, or None."""
    if manifest is None:
        return "have no manifest, so nothing says whether they are whole"
    if manifest.version != PROMETHEUS:
        return f"are of Prometheus {manifest.version}, and this trimtab has {PROMETHEUS}"
    try:
        here = _checksums(static)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    changed = sorted(name for name, sha in manifest.files.items() if here.get(name) != sha)
    changed += sorted(here.keys() - manifest.files.keys())
    return f"are not what was made ({changed[0]} differs)" if changed else None


def _checksums(static: Path) -> dict[str, str]:
    return {str(path.relative_to(static)): sha256_of(path) for path in _files(static)}


def _files(static: Path) -> list[Path]:
    return sorted(path for path in static.rglob("*") if path.is_file())
