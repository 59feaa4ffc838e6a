"""The cache: one directory for each program, named by the hash of what made it.

`<cache>/<program>-<hash>/` holds the program and a manifest. A directory appears by one
rename, so what has the right name is finished. `locate` needs no Go: any entry whose manifest
carries this repository's pins will do, and the youngest wins if several compilers made one.

Writing happens under the cache's lock: everything is made in a temporary directory and renamed.
A process that is killed leaves at most a `.tmp-…` directory, which the next one that holds the
lock removes; nothing half-made ever has the name of an entry.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.engines.pins import Pins, entry_hash, pins_of
from trimtab.engines.programs import PROGRAMS, Program
from trimtab.errors import ConfigError, NotReady

MANIFEST = "manifest.json"


class CacheManifest(Struct, frozen=True):
    """What an entry was made from, and what the finished program must look like."""

    pins: Pins
    go_version: str
    sha256: str
    size: int
    built: float  # Unix time
    seconds: float

    @property
    def entry_name(self) -> str:
        return f"{self.pins.program}-{entry_hash(self.pins, self.go_version)}"


class CacheEntry(Struct, frozen=True):
    """A directory of the cache whose manifest can be read."""

    path: Path
    manifest: CacheManifest

    @property
    def binary(self) -> Path:
        return self.path / self.manifest.pins.program

    def is_whole(self) -> bool:
        """The program is there in full length; `verify` is the one that reads it."""
        try:
            return self.binary.stat().st_size == self.manifest.size
        except OSError:
            return False


def cache_dir(environment: Mapping[str, str]) -> Path:
    """Where the engines of the user with this environment are kept."""
    base = environment.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification: ignore a relative one
        base = str(Path(environment.get("HOME") or Path.home()) / ".cache")
    return Path(base) / "trimtab" / "engines"


def program(name: str) -> Program:
    """The program of that name, or an error that names all of them."""
    try:
        return PROGRAMS[name]
    except KeyError:
        known = ", ".join(PROGRAMS)
        raise ConfigError(f'there is no engine "{name}"; the engines are {known}') from None


def entries(cache: Path, name: str | None = None) -> Iterator[CacheEntry]:
    """All readable entries (of one program), whatever they were made from."""
    wanted = (name,) if name else tuple(PROGRAMS)
    for candidate in wanted:
        for path in sorted(cache.glob(f"{candidate}-{'[0-9a-f]' * 16}")):
            entry = read_entry(path)
            if entry and entry.manifest.pins.program == candidate:
                yield entry


def read_entry(path: Path) -> CacheEntry | None:
    """The entry in this directory, or None if there is no manifest that belongs to its name."""
    try:
        manifest = msgspec.json.decode((path / MANIFEST).read_bytes(), type=CacheManifest)
    except (OSError, ValueError):
        return None
    return CacheEntry(path, manifest) if manifest.entry_name == path.name else None


def find(name: str, cache: Path, pins: Pins | None = None) -> CacheEntry | None:
    """The youngest whole entry for this repository's pins, or None."""
    wanted = pins or pins_of(program(name))
    fitting = (e for e in entries(cache, name) if e.manifest.pins == wanted and e.is_whole())
    return max(fitting, key=lambda entry: entry.manifest.built, default=None)


def locate(name: str, cache: Path | None = None) -> Path:
    """The built program for exactly this repository's pins.

    Without `cache` this process's environment names it: the one place outside `cli` that looks
    there, so that tests and scripts need one argument. Services are given their path. Pages of
    Prometheus that are not made yet are one page that says how.
    """
    from trimtab.engines import pages  # it needs this module

    place = cache or cache_dir(os.environ)
    if name == pages.NAME:
        return pages.ensure_a_page(place)
    entry = find(name, place)
    if entry is None:
        raise NotReady(f"{name} is not built; run: {program(name).how_to_build}")
    return entry.binary


TEMPORARY = ".tmp-"


@contextmanager
def staging(cache: Path, name: str) -> Iterator[Path]:
    """A temporary directory beside the entries; gone at the end, whatever happens."""
    path = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{name}-", dir=cache))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def put(made: Path, manifest: CacheManifest, cache: Path) -> CacheEntry:
    """Give the directory `made`, which holds the program, its manifest and its final name."""
    (made / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    for path in (*made.iterdir(), made):
        _sync(path)
    entry = CacheEntry(cache / manifest.entry_name, manifest)
    with staging(cache, "replaced") as aside:
        if entry.path.exists():  # a rename cannot put one full directory on another
            entry.path.rename(aside / entry.path.name)
        made.rename(entry.path)
    _sync(cache)
    return entry


def leftovers(cache: Path) -> list[Path]:
    """Temporary directories; with the lock held no process works in them any more."""
    return [path for path in cache.glob(f"{TEMPORARY}*") if path.is_dir()]


def remove_leftovers(cache: Path) -> None:
    for path in leftovers(cache):
        shutil.rmtree(path, ignore_errors=True)


def new_log(cache: Path, name: str) -> Path:
    """An empty log for one build; it stays when the build fails, and the next one replaces it."""
    log = cache / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    return log


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
