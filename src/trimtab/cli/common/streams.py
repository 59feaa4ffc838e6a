"""stdin, stdout and stderr as they may be: closed, full, or unable to write what we write.

Output that cannot be written is a failure of one line (exit code 1), never a traceback. A
character that the terminal's encoding does not have is replaced by one that it has.
"""

import codecs
import io
import os
import sys
from typing import TextIO

PLAIN = {
    "–": "-", "—": "-", "…": "~", "≈": "~", "≤": "<=", "≥": ">=", "×": "x", "→": "->", "←": "<-",
    "✓": "+", "✗": "x", "·": ".", "•": "*", "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "=",
    "▍": "=", "▎": "-", "▏": "-", "░": ".", "▶": ">", "▁": "_", "▂": "_", "▃": "-", "▄": "-",
    "▅": "=", "▆": "=", "▇": "#", "━": "-", "╸": "-", "╺": "-", "│": "|", "─": "-", "σ": "s",
    "“": '"', "”": '"', "’": "'", "‘": "'", "°": "deg", "²": "2", "√": "sqrt", "Δ": "d",
}  # fmt: skip
_HANDLER = "trimtab.plain"


def prepare() -> None:
    """Make all three usable; a stream that cannot be written fails at the first write."""
    codecs.register_error(_HANDLER, _plain)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    if sys.stdout is None:
        sys.stdout = _unwritable(1)
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.BytesIO())
    for stream in (sys.stdout, sys.stderr):
        _tolerate(stream)


def discard(stream: TextIO) -> None:
    """Send what is still buffered nowhere, so that the interpreter's end does not fail on it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # not a file, or closed: nothing is buffered for it
        pass


def _tolerate(stream: TextIO) -> None:
    encoding = (getattr(stream, "encoding", "") or "").lower().replace("_", "-")
    if isinstance(stream, io.TextIOWrapper) and encoding not in ("utf-8", "utf8"):
        stream.reconfigure(errors=_HANDLER)


def _unwritable(number: int) -> TextIO:
    """A stream in place of a closed one: a write to it fails because it is closed."""
    closed = os.open(os.devnull, os.O_RDONLY)
    if closed != number:
        os.dup2(closed, number)
        os.close(closed)
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "wb", closefd=False)))


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in text), error.end
