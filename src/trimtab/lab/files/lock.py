"""File locks that end with their holder. They say who may choose ports, start or run a lab."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import Conflict
from trimtab.lab.files.layout import make_private_dir

POLL_S = 0.02


@contextmanager
def held(path: Path, wait_s: float) -> Iterator[None]:
    """While inside, nobody else holds the lock; Conflict if it cannot be had in time."""
    make_private_dir(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + wait_s
        while not _locked(descriptor):
            if time.monotonic() > deadline:
                raise Conflict(f"{path}: another trimtab process has had it for {wait_s:g} s")
            time.sleep(POLL_S)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Does somebody hold the lock now?"""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _locked(descriptor)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
