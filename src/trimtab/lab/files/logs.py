"""Log files: children write to them directly, so logging does not depend on a reader.

Rotation copies the file aside and truncates it: the writers have it open for appending and
need not know.
"""

import io
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

ROTATE_AT = 32 * 1024 * 1024


class LogStream(io.TextIOBase):
    """A log file to print to. A full disk must not stop the printer; `trouble` holds the error."""

    def __init__(self, log: Path) -> None:
        self._descriptor = open_to_append(log)
        self.trouble = ""

    def write(self, text: str) -> int:
        try:
            os.write(self._descriptor, text.encode())
            self.trouble = ""
        except OSError as error:
            self.trouble = error.strerror or str(error)
        return len(text)

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def open_to_append(log: Path) -> int:
    """The descriptor of a log, which is made if need be; a child may inherit it as its output."""
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def tail(log: Path, lines: int, since: int = 0) -> tuple[str, ...]:
    """The last lines, none of them older than the file's position `since`."""
    if not log.exists():
        return ()
    with log.open("rb") as file:
        end = file.seek(0, 2)
        start = max(min(since, end), end - 400 * lines)
        file.seek(start)
        text = file.read().decode(errors="replace")
    return tuple(line for line in text.splitlines() if line.strip())[-lines:]


def last_words(log: Path, lines: int, since: int) -> tuple[str, ...]:
    """The last lines that say something: what a crashed Go program adds is its stacks."""
    told = list(tail(log, 40 * lines, since))
    stacks = (n for n, line in enumerate(told) if line.startswith("goroutine "))
    return tuple(told[: next(stacks, None)][-lines:])


def contains(log: Path, text: str, since: int) -> bool:
    """Has a line with `text` been written after position `since`?"""
    if not log.exists():
        return False
    with log.open("rb") as file:
        file.seek(since if since <= file.seek(0, 2) else 0)  # smaller: it was rotated
        needle = text.encode()
        return any(needle in line for line in file)


def rotate(log: Path, limit: int = ROTATE_AT) -> bool:
    """Move what is in a file over `limit` aside, replacing what was set aside before."""
    if size(log) <= limit:
        return False
    shutil.copyfile(log, log.with_suffix(".log.1"))
    with log.open("r+b") as file:
        file.truncate(0)
    return True


def follow(log: Path, position: int, poll_s: float = 0.2) -> Iterator[str]:
    """What is written after `position`, for ever; rotation does not disturb it."""
    while True:
        if position > size(log):
            position = 0
        if log.exists():
            with log.open("rb") as file:
                file.seek(position)
                data = file.read()
                position = file.tell()
            if data:
                yield data.decode(errors="replace")
        time.sleep(poll_s)
