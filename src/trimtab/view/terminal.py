"""The terminal: results on stdout, everything said along the way on stderr.

A result is either a table or, with `--json`, the same data as JSON, so that
`trimtab … --json | jq` never meets a progress line.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

import msgspec
from rich.console import Console
from rich.text import Text

from trimtab.view.as_typed import as_typed
from trimtab.view.tables.table import Table


class _Console(Console):
    """Leaves a closed pipe to the caller, who knows which exit code that means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def print(self, *objects: Any, **options: Any) -> None:
        """As always, but commands in a text begin as they can be typed here."""
        typed = (as_typed(each) if isinstance(each, str) else each for each in objects)
        super().print(*typed, **options)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


# A pipe has no width: cutting a line to 80 columns there would lose what somebody wants to grep.
_PIPE = 1000
_ON_TERMINAL = _is_terminal(sys.stdout)
out = _Console(
    highlight=False,
    emoji=False,
    soft_wrap=not _ON_TERMINAL,  # a terminal breaks lines anywhere, inside numbers too
    width=None if _ON_TERMINAL else _PIPE,
)
err = _Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


def tell(text: str = "") -> None:
    """A line of the result in words."""
    out.print(text, markup=False)


def say(text: str) -> None:
    """A line beside the result."""
    err.print(text, markup=False)


def show_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> None:
    """Print rows under `columns`; see `Table` for what becomes of them in a narrow terminal."""
    if title is not None:
        out.print(Text(title, style="italic"))
    width = out.width if out.is_terminal else None
    lines, layout = Table(columns, rows, right, whole, drop).lines(width)
    for line in lines:
        out.print(line, soft_wrap=True)
    if names := [name for name in layout.left_out if name.strip()]:  # bars have no title
        text = f"not shown in {out.width} columns: {', '.join(names)}"
        err.print(text, style="dim", markup=False, soft_wrap=False)


def show_json(data: Any) -> None:
    """Print `data` (structs and NumPy scalars included) as indented JSON."""
    sys.stdout.buffer.write(
        msgspec.json.format(msgspec.json.encode(data, enc_hook=_plain), indent=2)
    )
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"cannot show a {type(value).__name__} as JSON")


class ProgressSteps(Protocol):
    """Something under way: `advance` moves the bar, `note` changes the words beside it."""

    def advance(self, amount: float = 1) -> None: ...
    def note(self, text: str) -> None: ...


@contextmanager
def progress(what: str, total: float | None = None) -> Iterator[ProgressSteps]:
    """Show longer work on stderr: a bar on a terminal, a line for each note elsewhere."""
    if not err.is_terminal:
        yield _Lines(what)
        return
    from trimtab.view.progress_bar import progress_bar  # a tenth of a start, for terminals only

    with progress_bar(err, what, total) as bar:
        yield bar


class _Lines:
    """Without a terminal: every note once, so a log shows what happened and not a spinner."""

    def __init__(self, what: str) -> None:
        self._what, self._last = what, ""

    def advance(self, amount: float = 1) -> None:
        pass

    def note(self, text: str) -> None:
        if text != self._last:
            err.print(f"{self._what}: {text}", markup=False)
            self._last = text
