"""Studies on a terminal: how far one is, and who came out where."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec import Struct

from trimtab.view.tables.pictures import Bar
from trimtab.view.terminal import ProgressSteps, progress, say, show_table

_BAR = 14
_PICK = ("pick of today", "migrations", "minimum")


class RankLine(Struct, frozen=True):
    """One candidate of a ranking; the interval is (mean, low, high)."""

    rank: int
    label: str
    marks: str
    imbalance: tuple[float, float, float]
    change: str
    migrations: str
    gap: str


class WinnerLine(Struct, frozen=True):
    """What came out best on one scenario."""

    scenario: str
    size: str
    best: str
    imbalance: str
    nothing: str
    pick: str
    migrations: str
    minimum: str


class Ticker:
    """Counts runs: moves a bar, or says every tenth how far it is and how long it will take."""

    def __init__(
        self, steps: ProgressSteps, total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._steps, self._total, self._clock = steps, total, clock
        self._begin, self._done, self._tenths = clock(), 0, 0

    def advance(self, runs: int) -> None:
        self._done += runs
        self._steps.advance(runs)
        tenths = 10 * self._done // self._total
        if tenths > self._tenths:
            self._tenths = tenths
            self._steps.note(f"{self._done:,} of {self._total:,} runs{self._left()}")

    def _left(self) -> str:
        if self._done >= self._total:
            return ""
        seconds = (self._clock() - self._begin) / self._done * (self._total - self._done)
        return f", about {about(seconds)} left"


class StudyDisplay:
    """What a person sees while a study runs."""

    def __init__(self, name: str, runs: int) -> None:
        self._name, self._runs = name, runs
        self._stack = ExitStack()
        self._ticker: Ticker | None = None

    def begun(self, to_do: int, known: int) -> None:
        """Called once, when it is clear what has to be run."""
        if known:
            say(f"{self._name}: {known:,} of {self._runs:,} runs are there from before")
        if to_do:
            steps = self._stack.enter_context(progress(self._name, to_do))
            self._ticker = Ticker(steps, to_do)

    def advanced(self, runs: int) -> None:
        """Some runs are done."""
        if self._ticker is not None:
            self._ticker.advance(runs)

    def close(self) -> None:
        self._stack.close()


def about(seconds: float) -> str:
    """A time as one would say it: `40 s`, `3 min`, `2.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def show_winners(lines: Sequence[WinnerLine]) -> None:
    """One line per scenario."""
    show_table(
        ("scenario", "nodes × VMs", "most level", "imbalance", "do nothing", *_PICK),
        [
            (w.scenario, w.size, w.best, w.imbalance, w.nothing, w.pick, w.migrations, w.minimum)
            for w in lines
        ],
        title="Best on each scenario (imbalance in points, 95 % intervals)",
        right=("nodes × VMs", "imbalance", "do nothing", "migrations", "minimum"),
        drop=("nodes × VMs", "do nothing"),
    )


def show_ranking(lines: Sequence[RankLine], title: str) -> None:
    """One line per candidate, a bar for its imbalance."""
    most = max((line.imbalance[0] for line in lines), default=0.0)
    rows = [
        (
            line.rank,
            line.label,
            line.marks,
            _interval(line.imbalance),
            line.migrations,
            line.gap,
            line.change,
            Bar(line.imbalance[0] / most if most > 0 else 0.0, _BAR),
        )
        for line in lines
    ]
    right = ("#", "imbalance", "migrations", "× minimum", "vs nothing")
    show_table(
        ("#", "candidate", "", *right[1:], " "),
        rows,
        title=title,
        right=right,
        drop=(" ", "× minimum", "vs nothing"),
    )


def _interval(numbers: tuple[float, float, float]) -> str:
    return "{:.2f} ({:.2f} to {:.2f})".format(*numbers)
