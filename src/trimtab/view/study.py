"""Studies on a terminal: how far one is, and who came out where."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec import Struct

from trimtab.view.terminal import Steps, err, out, progress, show_table

_BAR = 14
_WIDE = 140  # columns
_LABEL = 28  # of a label on a narrow terminal
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
        self, steps: Steps, total: int, clock: Callable[[], float] = time.monotonic
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
    """One line per scenario; on a narrow terminal some lines."""
    title = "Best on each scenario (imbalance in points, 95 % intervals)"
    if _is_narrow():
        tell(title)
        for w in lines:
            tell(f"{w.scenario} ({w.size})\n  most level: {w.best}, {w.imbalance}, not {w.nothing}")
            tell(f"  pick of today: {w.pick}, {w.migrations} migrations (minimum {w.minimum})")
        return
    show_table(
        ("scenario", "nodes × VMs", "most level", "imbalance", "do nothing", *_PICK),
        [
            (w.scenario, w.size, w.best, w.imbalance, w.nothing, w.pick, w.migrations, w.minimum)
            for w in lines
        ],
        title=title,
        right=("nodes × VMs", "imbalance", "do nothing", "migrations", "minimum"),
    )


def show_ranking(lines: Sequence[RankLine], title: str) -> None:
    """One line per candidate, a bar for its imbalance; on a narrow terminal the main columns."""
    most = max((line.imbalance[0] for line in lines), default=0.0)
    columns: tuple[str, ...] = ("#", "candidate", "", "imbalance", "migrations")
    cells = [
        (line.rank, line.label, line.marks, _interval(line.imbalance), line.migrations)
        for line in lines
    ]
    if _is_narrow():
        rows = [(rank, _short(label), *rest) for rank, label, *rest in cells]
    else:
        columns = (*columns, "× minimum", "vs nothing", " ")
        rows = [
            (*cell, line.gap, line.change, bar(line.imbalance[0], most))
            for cell, line in zip(cells, lines, strict=True)
        ]
    show_table(columns, rows, title=title, right=("#", "imbalance", *columns[4:7]))


def _is_narrow() -> bool:
    """Too narrow for everything; what does not go to a terminal has all the room it needs."""
    return out.is_terminal and out.width < _WIDE


def _interval(numbers: tuple[float, float, float]) -> str:
    return "{:.2f} ({:.2f}–{:.2f})".format(*numbers)


def _short(label: str) -> str:
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"


def bar(value: float, most: float, width: int = _BAR) -> str:
    """A bar in eighths of a character."""
    eighths = round(8 * width * value / most) if most > 0 else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + " ▏▎▍▌▋▊▉"[rest].strip()


def say(text: str) -> None:
    """Something about the study itself, beside its results."""
    err.print(text, markup=False)


def tell(text: str = "") -> None:
    """A line of the result in words."""
    out.print(text, markup=False)
