"""Children of the supervisor: started so that they die with it, awaited without a thread."""

import asyncio
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trimtab.lab.files.logs import open_to_append
from trimtab.lab.process import identify

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


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
    output = open_to_append(log)
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
        # Under nohup or in the background of a shell these are ignored, and that is inherited:
        # a reload by SIGHUP would then do nothing.
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died between fork and here: no signal will come
            os._exit(1)

    return in_the_child
