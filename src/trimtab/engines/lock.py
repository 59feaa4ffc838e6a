"""One builder at a time: a lock on the cache whose file says which process holds it.

The descriptor is also given to `go`, so the lock outlives a killed trimtab until its compilers
have gone too. Whoever holds it may therefore take every temporary directory for a leftover.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.files.lock import opened, take


@contextmanager
def exclusive(cache: Path, waiting: Callable[[str], None]) -> Iterator[int]:
    """Hold the cache's lock, yield its descriptor; `waiting` hears who has it if we must wait.

    Trouble with files inside is told as trouble with the cache, in one line.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with opened(cache / ".lock") as lock:
            if not take(lock):
                waiting(_holder(lock))
                take(lock, wait=True)
            _write(lock, f"{os.getpid()} {shlex.join(sys.argv)}")
            yield lock
            _write(lock, "")
    except OSError as error:
        where = error.filename or cache
        raise TrimtabError(
            f"the engine cache cannot be used ({where}: {error.strerror}); "
            "repair it, or set XDG_CACHE_HOME to another place"
        ) from error


def _write(lock: int, text: str) -> None:
    os.ftruncate(lock, 0)
    os.pwrite(lock, text.encode(errors="replace"), 0)


def _holder(lock: int) -> str:
    pid, _, command = os.pread(lock, 4096, 0).decode(errors="replace").partition(" ")
    if not pid.isdigit():
        return "another process"
    if not Path(f"/proc/{pid}").exists():
        return f"the compilers of process {pid}, which is gone"
    return f"process {pid} ({command})"
