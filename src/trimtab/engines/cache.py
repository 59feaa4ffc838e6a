"""The cache: one directory for each program, named by the hash of what made it.

`<cache>/<program>-<hash>/` holds the program and a manifest. A directory appears by one
rename, so what has the right name is finished. `locate` needs no Go: any entry whose manifest
carries this repository's pins will do, and the youngest wins if several compilers made one.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.engines.pins import Pins, entry_hash, pins_of
from trimtab.engines.programs import PROGRAMS, Program
from trimtab.errors import ConfigError, NotReady

MANIFEST = "manifest.json"


class Manifest(Struct, frozen=True):
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


class Entry(Struct, frozen=True):
    """A directory of the cache whose manifest can be read."""

    path: Path
    manifest: Manifest

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


def entries(cache: Path, name: str | None = None) -> Iterator[Entry]:
    """All readable entries (of one program), whatever they were made from."""
    wanted = (name,) if name else tuple(PROGRAMS)
    for candidate in wanted:
        for path in sorted(cache.glob(f"{candidate}-{'[0-9a-f]' * 16}")):
            entry = read_entry(path)
            if entry and entry.manifest.pins.program == candidate:
                yield entry


def read_entry(path: Path) -> Entry | None:
    """The entry in this directory, or None if there is no manifest that belongs to its name."""
    try:
        manifest = msgspec.json.decode((path / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, ValueError):
        return None
    return Entry(path, manifest) if manifest.entry_name == path.name else None


def find(name: str, cache: Path, pins: Pins | None = None) -> Entry | None:
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
        raise NotReady(f"{name} is not built; run: trimtab engines build")
    return entry.binary
