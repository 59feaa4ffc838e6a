"""The moments of a run: decisions, what the scenario does, and the slices between them.

Within a slice every VM's load is constant: the exact mean of its curve over the slice. A
slice is a descheduling interval, cut where the scenario's events are and, in long
intervals, before the minute that the scores will see.
"""

from collections.abc import Iterator
from typing import Literal, TypeVar

import numpy as np
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.scenarios.scenario import Scenario, ScenarioEvent
from trimtab.scores import MEAN_WINDOW_S
from trimtab.sim.fleet import Floats
from trimtab.sim.spec import Timing
from trimtab.virt.lost_nodes import LOST_NODE_S

SHORTEST_S = 1.0
Moment = TypeVar("Moment", float, Floats)


VmEvent = Literal["arrive", "depart"]
NodeEvent = Literal["fail", "recover", "drain", "undrain", "give-up"]


class TimelineEvent(Struct, frozen=True):
    """A scenario's event, or its late consequence: the pods of a lost node are given up."""

    at: float
    what: VmEvent | NodeEvent
    name: str


class Slice(Struct, frozen=True):
    """A stretch of time with constant loads, and what happens at its start."""

    number: int
    start: float
    end: float
    cycle: int | None
    """The descheduling cycle that runs at its start, if one does."""
    happenings: tuple[TimelineEvent, ...] = ()


class Timeline:
    """All slices of a run."""

    def __init__(self, scenario: Scenario, timing: Timing) -> None:
        _check(scenario, timing)
        end, period = _clock(scenario.duration_s), timing.descheduling_s
        self.end = end
        count = int(np.ceil(end / period))
        self.cycles: Floats = _clock(np.arange(count, dtype=np.float64) * period)
        self._happenings = [h for h in _happenings(scenario.events) if h.at < end]
        moments = {*self.cycles.tolist(), *(happening.at for happening in self._happenings)}
        sight = MEAN_WINDOW_S + timing.scrape_s + timing.rules_s
        if period > sight:
            moments.update(_clock(self.cycles[1:] - sight).tolist())
        self.edges: Floats = np.array([*sorted(moments), end])

    def slices(self) -> Iterator[Slice]:
        cycle_at = {float(at): number for number, at in enumerate(self.cycles)}
        waiting = list(reversed(self._happenings))
        for number, start in enumerate(map(float, self.edges[:-1])):
            due = []
            while waiting and waiting[-1].at <= start:
                due.append(waiting.pop())
            end = float(self.edges[number + 1])
            yield Slice(number, start, end, cycle_at.get(start), tuple(due))


def _check(scenario: Scenario, timing: Timing) -> None:
    if not scenario.duration_s >= SHORTEST_S:
        raise ConfigError("duration: a run needs at least a second")
    for name in ("scrape_s", "rules_s", "descheduling_s"):
        if not getattr(timing, name) >= SHORTEST_S:
            raise ConfigError(f"timing: {name} must be at least a second")
    if timing.reaction_s < 0:
        raise ConfigError("timing: reaction_s must not be negative")


def _clock(seconds: Moment) -> Moment:
    """Whole milliseconds: two moments are either the same or a millisecond apart."""
    rounded: Moment = np.round(seconds, 3)
    return rounded


def _happenings(events: tuple[ScenarioEvent, ...]) -> list[TimelineEvent]:
    found = [TimelineEvent(_clock(max(event.at, 0.0)), event.what, event.name) for event in events]
    found += [
        TimelineEvent(h.at + LOST_NODE_S, "give-up", h.name) for h in found if h.what == "fail"
    ]
    return sorted(found, key=lambda happening: happening.at)
