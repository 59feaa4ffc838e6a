"""Processes of a lab: starting them so that they die with their parent, and knowing them again.

A pid alone says nothing, for pids are used again. A process is ours only if it started at the
recorded moment of the recorded boot and has the recorded command line.
"""

import asyncio
import contextlib
import ctypes
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field, structs

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class ProcessId(Struct, frozen=True):
    """One process for good: `started` counts clock ticks since the boot `boot`."""

    pid: int
    started: int
    boot: str
    command: str


class Run(Struct, frozen=True):
    """`run.json`: a supervisor and its children; stale if that supervisor is gone."""

    supervisor: ProcessId
    children: dict[str, ProcessId] = field(default_factory=dict)


def identify(pid: int) -> ProcessId | None:
    """Who has this pid now; None if nobody (or only a zombie)."""
    seen = _read(pid)
    return None if seen is None or seen[1] else seen[0]


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


def _read(pid: int) -> tuple[ProcessId, bool] | None:
    """The process of this pid, and whether its first thread has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # the command in field 2 may hold spaces and brackets; what follows the last ")" is regular
    fields = stat.rpartition(")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    text = command.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
    return ProcessId(pid, int(fields[19]), boot, text), fields[0] in "ZX"


def _is_same(process: ProcessId) -> bool:
    seen = _read(process.pid)
    if seen is None:
        return False
    found, ending = seen
    # a process whose first thread has ended shows no command any more
    return found == (structs.replace(process, command="") if ending else process)


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


class Child:
    """A running child of this process; `exited` gets its exit code."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._descriptor = os.pidfd_open(process.pid)
        self.identity = identify(process.pid)
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(self._descriptor, self._reap)

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        if not self.exited.done():
            self._process.send_signal(number)

    async def end(self, within_s: float) -> None:
        """SIGTERM, then SIGKILL if that was not enough."""
        for number, limit in ((signal.SIGTERM, within_s), (signal.SIGKILL, 10.0)):
            self.signal(number)
            await asyncio.wait([self.exited], timeout=limit)
            if self.exited.done():
                return

    def _reap(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self.exited.set_result(self._process.wait())


def spawn(argv: Sequence[str], directory: Path, env: Mapping[str, str], log: Path) -> Child:
    """Start a child in its own session, its output appended to `log`; it dies when we die.

    Must be called from the main thread: the kernel sends the death signal when the *thread*
    that forked ends.
    """
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_die_with(os.getpid()),
        )
    finally:
        os.close(output)
    return Child(process)


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _die_with(parent: int) -> Callable[[], None]:
    def in_the_child() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died between fork and here: no signal will come
            os._exit(1)

    return in_the_child
