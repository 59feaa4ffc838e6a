"""Batches of scenarios, side by side in the places of one lab."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from conformance.kubevirt.course import Course
from conformance.kubevirt.play import NotStarted, TooLate, play
from conformance.kubevirt.recording import Played
from conformance.kubevirt.scenario import Scenario
from conformance.kubevirt.world import Place, World

TRIES = 4


async def _in_time(world: World, scenario: Scenario, place: Place) -> Course:
    """On a busy computer a step may miss its copy; what was seen then says nothing."""
    for _ in range(TRIES - 1):
        try:
            return await play(world, scenario, place)
        except TooLate as error:
            print(f"again: {error}", flush=True)
    return await play(world, scenario, place)


async def run(
    scenarios: Iterable[Scenario],
    world: World,
    places: Sequence[Place],
    report: Callable[[Played], None],
) -> list[str]:
    """Each place takes the next scenario as soon as it is empty; what could not be played."""
    waiting, failures = list(reversed(list(scenarios))), []

    async def work(place: Place) -> None:
        while waiting:
            scenario = waiting.pop()
            try:
                course = await _in_time(world, scenario, place)
            except TooLate as error:
                failures.append(str(error))
                continue
            except NotStarted as error:
                failures.append(str(error))
                return  # what is left behind would disturb the next one
            report(Played(scenario, course))

    await asyncio.gather(*map(work, places))
    return failures + [f"{world.name}: {each.name} found no place" for each in waiting]
