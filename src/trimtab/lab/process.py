"""Processes of a lab, known again by more than their pid.

A pid alone says nothing, for pids are used again. A process is ours only if it started at the
recorded moment of the recorded boot and has the recorded command line.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field, structs


class ProcessId(Struct, frozen=True):
    """One process for good: `started` counts clock ticks since the boot `boot`."""

    pid: int
    started: int
    boot: str
    command: str


class SupervisorRun(Struct, frozen=True):
    """`run.json`: a supervisor and its children; stale if that supervisor is gone."""

    supervisor: ProcessId
    children: dict[str, ProcessId] = field(default_factory=dict)


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now; None if there is none, or only a zombie.

    For some microseconds after an exec, and before an exit, there is no command to be read:
    then look again.
    """
    deadline = time.monotonic() + 1.0
    while (seen := _read(pid)) is not None and seen.state not in "ZX":
        if seen.process.command:
            return seen.process
        if time.monotonic() > deadline:
            break
        time.sleep(0.0005)
    return None


def is_alive(process: ProcessId) -> bool:
    """Is this very process still there, be it only with threads that are about to end?"""
    with _pinned(process) as descriptor:
        return descriptor is not None and not _ended(descriptor, 0)


def end(process: ProcessId, number: signal.Signals, wait_s: float) -> bool:
    """Signal this very process and wait for its end; a stranger with its pid is never touched."""
    with _pinned(process) as descriptor:
        if descriptor is None:
            return True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)
        return _ended(descriptor, wait_s)


def await_end(process: ProcessId, wait_s: float) -> bool:
    """Has this very process ended within `wait_s`?"""
    with _pinned(process) as descriptor:
        return descriptor is None or _ended(descriptor, wait_s)


class _Seen(Struct, frozen=True):
    """A process as /proc shows it; one without a command is just beginning or ending."""

    process: ProcessId
    state: str


def _read(pid: int) -> _Seen | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # the command in field 2 may hold spaces and brackets; what follows the last ")" is regular
    fields = stat.rpartition(")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    text = command.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
    return _Seen(ProcessId(pid, int(fields[19]), boot, text), fields[0])


def _is_same(process: ProcessId) -> bool:
    seen = _read(process.pid)
    if seen is None:
        return False
    expected = process if seen.process.command else structs.replace(process, command="")
    return seen.process == expected


@contextlib.contextmanager
def _pinned(process: ProcessId) -> Iterator[int | None]:
    """A descriptor that stays with this process, or None if it is gone."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor if _is_same(process) else None
    finally:
        os.close(descriptor)


def _ended(descriptor: int, wait_s: float) -> bool:
    gone, _, _ = select.select([descriptor], [], [], wait_s)
    return bool(gone)
