"""One child process: its words to a log and a listener, and no way for it to stay behind.

It gets a group of its own, which is killed whenever we leave early: Ctrl-C, an error of ours,
or a silence longer than the limit.
"""

import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct


class Silence(Exception):
    """The process lives but has said nothing for too long."""


class ProcessOutcome(Struct, frozen=True):
    """How it ended, and the last lines of what it said."""

    code: int
    tail: Sequence[str]


def run(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    log: Path,
    silence_s: float,
    hear: Callable[[str], None],
    lend: int,
) -> ProcessOutcome:
    """Run to the end; every line goes to `log` and `hear`; `lend` is a descriptor it shares."""
    tail: deque[str] = deque(maxlen=400)
    with log.open("ab") as sink:
        sink.write(f"$ {' '.join(command)}\n".encode())
        with subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lend,),
        ) as process:
            assert process.stdout is not None
            try:
                for line in _lines(process.stdout, silence_s):
                    sink.write(line.encode() + b"\n")
                    tail.append(line)
                    hear(line)
                return ProcessOutcome(process.wait(), tuple(tail))
            except BaseException:
                if process.returncode is None:  # not waited for yet, so the id is still ours
                    _end_group(process)
                raise


def _end_group(leader: subprocess.Popen[bytes], within_s: float = 5.0) -> None:
    """Kill it with all it started, and see them gone: they write where we clean up next."""
    os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()
    deadline = time.monotonic() + within_s
    while _lives(leader.pid) and time.monotonic() < deadline:
        time.sleep(0.01)


def _lives(group: int) -> bool:
    """Is anyone left in the group who can still write? The dead may wait long for a slow init."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # gone while we looked
            continue
        if int(its_group) == group and state not in "ZX":
            return True
    return False


def _lines(stream: IO[bytes], silence_s: float) -> Iterator[str]:
    """Whole lines until everyone has closed the pipe."""
    rest = b""
    while True:
        if not select.select([stream], [], [], silence_s)[0]:
            raise Silence
        chunk = os.read(stream.fileno(), 65536)
        if not chunk:
            break
        *complete, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in complete)
    if rest:
        yield rest.decode(errors="replace")
