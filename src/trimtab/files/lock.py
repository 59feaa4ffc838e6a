"""File locks that end with their holder, however it ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import Conflict
from trimtab.files.writing import make_private_dir

POLL_S = 0.02


@contextmanager
def held(path: Path, wait_s: float) -> Iterator[None]:
    """Hold the lock alone inside the block; Conflict if it is not free in time."""
    make_private_dir(path.parent)
    with opened(path) as lock:
        deadline = time.monotonic() + wait_s
        while not take(lock):
            if time.monotonic() > deadline:
                raise Conflict(f"{path}: another trimtab process has had it for {wait_s:g} s")
            time.sleep(POLL_S)
        yield


def is_held(path: Path) -> bool:
    """Does somebody hold the lock now?"""
    try:
        with opened(path, create=False) as lock:
            return not take(lock)
    except FileNotFoundError:
        return False


@contextmanager
def opened(path: Path, *, create: bool = True) -> Iterator[int]:
    """The descriptor of a lock's file, not locked yet; closing it gives the lock back."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def take(lock: int, *, wait: bool = False) -> bool:
    """Lock it; False if another process has it, unless `wait`."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
