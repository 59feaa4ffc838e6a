"""Batches of scenarios, side by side in the places of one lab."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from conformance.kubevirt.play import NotStarted, play
from conformance.kubevirt.recording import Played
from conformance.kubevirt.scenario import Scenario
from conformance.kubevirt.world import Place, World


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
                course = await play(world, scenario, place)
            except NotStarted as error:
                failures.append(str(error))
                return  # what is left behind would disturb the next one
            report(Played(scenario, course))

    await asyncio.gather(*map(work, places))
    return failures + [f"{world.name}: {each.name} found no place" for each in waiting]
