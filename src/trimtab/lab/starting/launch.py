"""Starting a detached supervisor, and knowing whether it came up.

Its interpreter needs 0.3 s to import everything, so it is started before the lab's files are
written and told to go afterwards.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import NotReady, TrimtabError
from trimtab.lab import control
from trimtab.lab.files import logs
from trimtab.lab.files.layout import LabDir
from trimtab.lab.process import ProcessId, end, identify, is_alive

PROGRAM = Path(__file__).parents[1] / "supervisor" / "__main__.py"
LIMIT_S = 30.0
STOP_LIMIT_S = 60.0


class Launch:
    """A supervisor that waits for its `go`."""

    def __init__(self, lab: LabDir, process: ProcessId | None, pipe: int) -> None:
        self._lab, self.process, self._pipe = lab, process, pipe

    def go(self) -> None:
        """Let it begin; returns when it answers on its socket."""
        os.write(self._pipe, b"go\n")
        deadline = time.monotonic() + LIMIT_S
        while not self._answers():
            alive = self.process is not None and is_alive(self.process)
            if not alive or time.monotonic() > deadline:
                lines = logs.tail(self._lab.log("supervisor"), 5)
                raise TrimtabError("\n  ".join(("the supervisor did not start", *lines)))
            time.sleep(0.01)

    def abort(self) -> None:
        """End it, with whatever it has started."""
        if self.process is not None and not end(self.process, signal.SIGTERM, STOP_LIMIT_S):
            end(self.process, signal.SIGKILL, LIMIT_S)

    def _answers(self) -> bool:
        try:
            control.read_status(self._lab)
        except NotReady:
            return False
        return True


@contextmanager
def launching(lab: LabDir) -> Iterator[Launch]:
    """A supervisor of `lab`, waiting for its `go`; leaving with an exception ends it."""
    reading, writing = os.pipe()
    log = logs.open_to_append(lab.log("supervisor"))
    try:
        done = subprocess.run(
            # -P: whatever lies in the working directory is not imported
            [sys.executable, "-P", str(PROGRAM), str(lab.path)],
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=log,
            timeout=LIMIT_S,
            check=True,
        )
        launch = Launch(lab, identify(int(done.stdout)), writing)
        try:
            yield launch
        except BaseException:
            launch.abort()
            raise
    finally:
        for descriptor in (reading, writing, log):
            os.close(descriptor)
