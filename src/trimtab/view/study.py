"""A study that runs, on a terminal: how far it is, and how long it will take."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from trimtab.view.terminal import ProgressSteps, progress, say


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
