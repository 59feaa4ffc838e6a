"""Output that cannot be written, and terminals without our characters: the real program."""

import os
import subprocess
import sys

import pytest

from trimtab.cli.common.streams import PLAIN


def shell(line: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", line],
        env={**os.environ, "TRIMTAB": f"{sys.executable} -m trimtab.cli", **variables},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("$TRIMTAB scores list > /dev/full", 1, b"the result cannot be written: No space left"),
        ("$TRIMTAB scores list --json > /dev/full", 1, b"cannot be written: No space left"),
        ("$TRIMTAB scores list >&-", 1, b"the result cannot be written: Bad file descriptor"),
        ("$TRIMTAB explain evicts --all | head -1", 0, b""),
        ("$TRIMTAB scores list 2>&- | head -1", 0, b""),
        ("$TRIMTAB nope 2>&-", 2, b""),
    ],
)
def test_output_that_cannot_be_written(line: str, code: int, told: bytes) -> None:
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_our_characters_gets_plain_ones(encoding: str) -> None:
    done = shell("$TRIMTAB scenario show diurnal", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode(encoding)
    assert "#" in shown  # a bar
    assert all(plain.isascii() for plain in PLAIN.values())
