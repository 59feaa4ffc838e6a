"""The terminal: results on stdout, everything said along the way on stderr.

A result is either a table or, with `--json`, the same data as JSON, so that
`trimtab … --json | jq` never meets a progress line.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

# A pipe has no width: cutting a table to 80 columns there would lose what somebody wants to grep.
_PIPE = 1000
out = Console(
    highlight=False, emoji=False, soft_wrap=True, width=None if sys.stdout.isatty() else _PIPE
)
err = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


def show_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
) -> None:
    """Print rows under `columns`; the columns named in `right` are aligned to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        last = column == columns[-1]  # the one that may fold when the terminal is narrow
        justify: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(column, justify=justify, no_wrap=not last, overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    out.print(table)


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


class Steps(Protocol):
    """Something under way: `advance` moves the bar, `note` changes the words beside it."""

    def advance(self, amount: float = 1) -> None: ...
    def note(self, text: str) -> None: ...


@contextmanager
def progress(what: str, total: float | None = None) -> Iterator[Steps]:
    """Show longer work on stderr: a bar on a terminal, a line for each note elsewhere."""
    if not err.is_terminal:
        yield _Lines(what)
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=err, transient=True) as bar:
        yield _Bar(bar, what, total)


class _Bar:
    def __init__(self, bar: Progress, what: str, total: float | None) -> None:
        self._bar, self._what, self._task = bar, what, bar.add_task(what, total=total)

    def advance(self, amount: float = 1) -> None:
        self._bar.advance(self._task, amount)

    def note(self, text: str) -> None:
        self._bar.update(self._task, description=f"{self._what}: {text}")


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
