"""Starting a detached supervisor, and knowing whether it came up."""

import os
import subprocess
import sys
import time
from pathlib import Path

from trimtab.errors import NotReady, TrimtabError
from trimtab.lab import control, logfiles
from trimtab.lab.layout import LabDir
from trimtab.lab.process import ProcessId, identify, is_alive

PROGRAM = Path(__file__).parent / "supervisor" / "__main__.py"
LIMIT_S = 30.0


def launch(lab: LabDir) -> None:
    """Start the lab's supervisor; returns when it answers on its socket."""
    process = _start(lab)
    deadline = time.monotonic() + LIMIT_S
    while not _answers(lab):
        if process is None or not is_alive(process) or time.monotonic() > deadline:
            lines = logfiles.tail(lab.log("supervisor"), 5)
            raise TrimtabError("\n  ".join(("the supervisor did not start", *lines)))
        time.sleep(0.01)


def _start(lab: LabDir) -> ProcessId | None:
    log = os.open(
        lab.log("supervisor"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
    )
    try:
        done = subprocess.run(
            # -P: whatever lies in the working directory is not imported
            [sys.executable, "-P", str(PROGRAM), str(lab.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            timeout=LIMIT_S,
            check=True,
        )
    finally:
        os.close(log)
    return identify(int(done.stdout))


def _answers(lab: LabDir) -> bool:
    try:
        control.read_status(lab)
    except NotReady:
        return False
    return True
