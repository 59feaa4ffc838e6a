"""Longer work on a terminal: a spinner or a bar, with words beside it."""

from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def progress_bar(console: Console, what: str, total: float | None) -> Iterator["ProgressBar"]:
    """A line that is gone when the work is done."""
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as bar:
        yield ProgressBar(bar, what, total)


class ProgressBar:
    """The work under way: `advance` moves the bar, `note` changes the words beside it."""

    def __init__(self, bar: Progress, what: str, total: float | None) -> None:
        self._bar, self._what, self._task = bar, what, bar.add_task(what, total=total)

    def advance(self, amount: float = 1) -> None:
        self._bar.advance(self._task, amount)

    def note(self, text: str) -> None:
        self._bar.update(self._task, description=f"{self._what}: {text}")
