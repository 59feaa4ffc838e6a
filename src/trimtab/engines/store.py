"""Writing to the cache, under its lock: everything is made in a temporary directory and renamed.

A process that is killed leaves at most a `.tmp-…` directory, which the next one that holds the
lock removes; nothing half-made ever has the name of an entry.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from trimtab.engines.cache import MANIFEST, Entry, Manifest

TEMPORARY = ".tmp-"


@contextmanager
def staging(cache: Path, name: str) -> Iterator[Path]:
    """A temporary directory beside the entries; gone at the end, whatever happens."""
    path = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{name}-", dir=cache))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def put(made: Path, manifest: Manifest, cache: Path) -> Entry:
    """Give the directory `made`, which holds the program, its manifest and its final name."""
    (made / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    for path in (*made.iterdir(), made):
        _sync(path)
    entry = Entry(cache / manifest.entry_name, manifest)
    with staging(cache, "replaced") as aside:
        if entry.path.exists():  # a rename cannot put one full directory on another
            entry.path.rename(aside / entry.path.name)
        made.rename(entry.path)
    _sync(cache)
    return entry


def leftovers(cache: Path) -> list[Path]:
    """Temporary directories; with the lock held nobody works in them any more."""
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
