"""Files and directories that a command writes: checked before the long work begins.

A path that cannot be written is the caller's to fix (exit code 2, nothing was done); a disk
that is full in the end is a failure (1).
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import ConfigError, TrimtabError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def check_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be written; nothing is created yet."""
    if path.is_dir():
        raise ConfigError(f"{option} {path}: it is a directory; name a file")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise ConfigError(f"{option} {path}: it may not be written")
        return
    _check_parent(path, path.parent, option)


def check_directory(path: Path, option: str) -> None:
    """Refuse a directory that neither is there nor can be made."""
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return
    what = "may not be written" if there.is_dir() else "is a file"
    if there == path:
        raise ConfigError(f"{option} {path}: it {what}; name another directory")
    raise ConfigError(f"{option} {path}: {there} {what}, so it cannot be made")


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Name the option and the path of whatever goes wrong while it is written."""
    try:
        yield
    except OSError as error:
        kind = TrimtabError if error.errno in _FULL else ConfigError
        raise kind(f"{option} {path}: {error.strerror or error}") from error


def _check_parent(path: Path, parent: Path, option: str) -> None:
    if not parent.exists():
        raise ConfigError(f"{option} {path}: there is no directory {parent}; make it first")
    if not parent.is_dir():
        raise ConfigError(f"{option} {path}: {parent} is no directory")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ConfigError(f"{option} {path}: the directory {parent} may not be written")
