"""A program in a real terminal of a given size."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence

_SIZES = ("COLUMNS", "LINES", "NO_COLOR")  # they would win over the terminal's own
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")


def in_terminal(
    command: Sequence[str],
    columns: int,
    lines: int = 24,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What the program writes to stdout there, without colours; stderr is left out."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    env = {**os.environ, **(environment or {}), "TERM": "xterm"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in env.items() if name not in _SIZES},
    )
    os.close(theirs)
    shown = b""
    while chunk := read(mine):
        shown += chunk
    os.close(mine)
    process.wait()
    return _CONTROLS.sub("", shown.decode())


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""
