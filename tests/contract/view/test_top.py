"""`trimtab top` in a real terminal: keys in, screens out, and the terminal is left as it was."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

import pytest

from builders.programs.ptys import in_terminal, read
from builders.waiting import LIMIT_S
from trimtab.cli.page.top_screen import TICK_MS

TOP = [sys.executable, "-m", "trimtab.cli", "top", "evicts"]


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (140, 50)])
def test_one_screen_fits_the_terminal(columns: int, lines: int) -> None:
    shown = in_terminal([*TOP, "--once"], columns, lines).rstrip("\n").split("\n")
    assert len(shown) <= lines
    assert max(map(len, shown)) <= columns
    assert any("over" in line for line in shown)


def test_keys_walk_ask_why_and_quit() -> None:
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(TOP, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    seen = b""

    def until(words: bytes) -> None:
        nonlocal seen
        deadline = time.monotonic() + LIMIT_S
        while words not in seen:
            assert time.monotonic() < deadline, seen[-3000:]
            if select.select([mine], [], [], 1)[0]:
                seen += os.read(mine, 65536)

    until(b"q quit")
    os.write(mine, b"j\r")
    until(b"scroll")
    assert b"under up to" in seen
    os.write(mine, b"\x1b")
    time.sleep(0.2)
    os.write(mine, b"\tm")
    until(b"y: yes")
    time.sleep(3 * TICK_MS / 1000)  # people think before they confirm
    os.write(mine, b"y")
    until(b"a file has no VMs to move")
    os.write(mine, b"q")
    while read(mine):
        pass
    assert process.wait() == 0
    os.close(mine)
