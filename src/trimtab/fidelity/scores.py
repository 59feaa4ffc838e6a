"""Scores from the recorded scrapes, beside what Prometheus made of the same scrapes.

First which scrape each evaluation of the rules saw: the newest one, or, if that had only
just begun, the one before it. Then the score's formula on the inputs of its window. Pure.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.fidelity.recording import COLUMNS, LabRun
from trimtab.scores import MEAN_WINDOW_S, Score, Window, evaluate

Floats = NDArray[np.float64]
TOLERANCE = 1e-9
SLOW_SCRAPE_S = 2.0
"""How long a scrape may take, on a busy machine, from its timestamp until queries see it."""


class Evaluation(Struct, frozen=True, eq=False):
    """One evaluation of the rules: what Prometheus recorded, and what we make of the scrapes."""

    at: float
    recorded: Floats
    """(nodes,) in the order of `nodes`."""
    computed: Floats

    @property
    def error(self) -> float:
        return float(np.abs(self.recorded - self.computed).max())


class Evaluations(Struct, frozen=True, eq=False):
    """All evaluations of a run whose window was recorded whole, oldest first."""

    nodes: tuple[str, ...]
    each: tuple[Evaluation, ...]
    late: int
    """Evaluations of the inputs that saw the scrape before the newest one."""
    problems: tuple[str, ...]
    """Inputs that no scrape explains."""

    @property
    def largest_error(self) -> float:
        return max((each.error for each in self.each), default=0.0)


def evaluations(run: LabRun, score: Score) -> Evaluations:
    """Compute every score that Prometheus recorded from the scrapes before it."""
    nodes = tuple(sorted(run.scores))
    times = _common_times(run, nodes)
    inputs, late, problems = _inputs(run, nodes, times)
    reach_s = max(score.lookback_s, MEAN_WINDOW_S) / run.scale
    found = tuple(_evaluated(run, score, nodes, times, inputs, reach_s))
    return Evaluations(nodes, found, late, tuple(problems))


def _common_times(run: LabRun, nodes: tuple[str, ...]) -> tuple[float, ...]:
    """The evaluations of which every node has every input, and a recorded scrape before it."""
    kept = [set(run.base[column][node].times) for column in COLUMNS for node in nodes]
    firsts = [c.times[0] for by in run.scrapes.values() for c in by.values() if c.times]
    begin = max(firsts, default=0.0)
    common = set.intersection(*kept) if kept else set[float]()
    return tuple(sorted(time for time in common if time >= begin))


def _inputs(
    run: LabRun, nodes: tuple[str, ...], times: tuple[float, ...]
) -> tuple[Floats, int, list[str]]:
    """(times, nodes, columns) of the scrapes that the evaluations saw, by their recorded inputs.

    The rules are evaluated one after the other, so each input may have met another scrape.
    """
    values = np.empty((len(times), len(nodes), len(COLUMNS)))
    late, problems = 0, list[str]()
    for at, time in enumerate(times):
        for number, column in enumerate(COLUMNS):
            recorded = np.array([_exact(run, column, node, time) for node in nodes])
            back = _seen(run, nodes, column, time, recorded)
            late += back == 1
            values[at, :, number] = recorded
            if back is None:
                problems.append(f"{column} at {time:.3f} is that of no scrape before it")
    return values, late, problems


def _exact(run: LabRun, column: str, node: str, time: float) -> float:
    course = run.base[column][node]
    return course.values[course.before(time)]


def _seen(
    run: LabRun, nodes: tuple[str, ...], column: str, time: float, recorded: Floats
) -> int | None:
    """How many scrapes before the newest one the recorded input is; None if it is of neither."""
    for back in (0, 1):
        seen = _scraped(run, nodes, column, time, back)
        if seen is not None and np.array_equal(np.maximum(seen, 0.0), recorded):
            return back
    return None


def _scraped(
    run: LabRun, nodes: tuple[str, ...], column: str, time: float, back: int
) -> Floats | None:
    """What the newest scrape said, or the one `back` before it if the newest is that young."""
    row = []
    for node in nodes:
        course = run.scrapes[column].get(node)
        at = -1 if course is None else course.before(time) - back
        if course is None or at < 0:
            return None
        if back and time - course.times[at + back] > SLOW_SCRAPE_S:
            return None
        row.append(course.values[at])
    return np.array(row)


def _evaluated(
    run: LabRun,
    score: Score,
    nodes: tuple[str, ...],
    times: tuple[float, ...],
    inputs: Floats,
    reach_s: float,
) -> Iterator[Evaluation]:
    moments = np.array(times)
    for at, time in enumerate(times):
        first = int(np.searchsorted(moments, time - reach_s, side="left"))
        if first == 0 or any(time not in run.scores[node].times for node in nodes):
            continue  # its window began before the recording
        since = np.round((moments[first : at + 1] - time) * run.scale, 3)
        window = Window(inputs[np.newaxis, first : at + 1], since)
        recorded = np.array([_score(run, node, time) for node in nodes])
        yield Evaluation(time, recorded, evaluate(score, window)[0])


def _score(run: LabRun, node: str, time: float) -> float:
    course = run.scores[node]
    return course.values[course.before(time)]
