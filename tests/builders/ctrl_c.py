"""Ctrl-C as a terminal gives it to a program and to everything that the program started."""

import os
import signal
import subprocess
from typing import Any


def heed_ctrl_c() -> None:
    """For `preexec_fn`: a shell starts jobs in background with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def press_ctrl_c(process: subprocess.Popen[Any]) -> None:
    """All processes of its group hear it; it was started with `start_new_session`."""
    os.killpg(process.pid, signal.SIGINT)
