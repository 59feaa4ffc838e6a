"""Batches of scenarios, side by side in both labs at once, compared one by one."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from conformance.kubevirt.compare import Compared
from conformance.kubevirt.course import Course
from conformance.kubevirt.play import NotStarted, play
from conformance.kubevirt.recording import Played
from conformance.kubevirt.scenario import Scenario
from conformance.kubevirt.world import Place, World

Report = Callable[[Played, Compared], None]


class Tally(Struct):
    """What a run has found so far."""

    compared: list[Compared] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Scenarios that could not be played."""

    @property
    def unexplained(self) -> list[Compared]:
        return [each for each in self.compared if each.unexplained]


async def run(
    scenarios: Iterable[Scenario],
    ours: tuple[World, Sequence[Place]],
    theirs: tuple[World, Sequence[Place]],
    *,
    report: Report = lambda _, __: None,
) -> Tally:
    """Each place takes the next scenario as soon as it is empty."""
    tally, waiting = Tally(), list(reversed(list(scenarios)))

    async def work(mine: Place, other: Place) -> None:
        while waiting:
            scenario = waiting.pop()
            try:
                a, b = await _both(scenario, (ours[0], mine), (theirs[0], other))
            except NotStarted as error:
                tally.failures.append(str(error))
                return  # what is left behind would disturb the next one
            played = Played(scenario, a, b)
            tally.compared.append(played.compared())
            report(played, tally.compared[-1])

    await asyncio.gather(*(work(a, b) for a, b in zip(ours[1], theirs[1], strict=True)))
    tally.failures += [f"{scenario.name}: no place was left" for scenario in waiting]
    return tally


async def _both(
    scenario: Scenario, ours: tuple[World, Place], theirs: tuple[World, Place]
) -> tuple[Course, Course]:
    a, b = await asyncio.gather(
        play(ours[0], scenario, ours[1]),
        play(theirs[0], scenario, theirs[1]),
        return_exceptions=True,
    )
    if isinstance(a, BaseException):
        raise a
    if isinstance(b, BaseException):
        raise b
    return a, b
