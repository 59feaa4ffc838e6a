"""A run day by day: what a comparison needs to tell a better setting from a lucky day.

Figures are taken at the descheduling cycles of the day, not integrated over it as those of the
report card are, so their mean is near the card's figure and not equal to it.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim.outcome import Outcome

DAY_S = 86_400.0


class DayFigures(Struct, frozen=True, array_like=True):
    """One part of a run, about a day long."""

    level: float
    """Standard deviation of the nodes' CPU use, in points."""
    unserved: float
    """Percent of the CPU demand that was above a node's capacity."""
    overload: float
    """Node-hours above a node's CPU or memory, in 24 hours."""
    migrations: float
    """That succeeded, in 24 hours."""


def days_in(duration_s: float) -> int:
    """How many parts of about a day a run has; one if it is shorter."""
    return max(1, round(duration_s / DAY_S))


def figures_of_days(scenario: Scenario, outcome: Outcome) -> tuple[DayFigures, ...]:
    """The figures of each part, all parts being equally long."""
    count, duration_s = days_in(scenario.duration_s), scenario.duration_s
    course = outcome.course
    day_of = _days(course.times, duration_s, count)
    capacity = np.array([float(node.cpu) for node in scenario.nodes])
    level = 100 * course.cpu.std(axis=1)
    above = np.maximum(course.cpu - 1, 0)
    unserved, demand = above @ capacity, course.cpu @ capacity
    overload = above.sum(axis=1) + np.maximum(course.memory - 1, 0).sum(axis=1)
    done = [move for move in outcome.moves if move.outcome == "succeeded"]
    ends = [move.ended_s or move.requested_s for move in done]
    moved = np.bincount(_days(ends, duration_s, count), minlength=count)
    found = []
    for day in range(count):
        here = day_of == day
        found.append(
            DayFigures(
                _mean(level[here]),
                100 * float(unserved[here].sum()) / max(float(demand[here].sum()), 1e-9),
                24 * _mean(overload[here]),
                float(moved[day]) * count * DAY_S / duration_s,
            )
        )
    return tuple(found)


def _days(
    times: Sequence[float] | NDArray[np.float64], duration_s: float, count: int
) -> NDArray[np.intp]:
    parts = np.asarray(times, dtype=np.float64) / duration_s * count
    return np.clip(parts.astype(np.intp), 0, count - 1)


def _mean(values: NDArray[np.float32]) -> float:
    return float(values.mean()) if len(values) else 0.0
