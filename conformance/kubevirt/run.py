"""Batches of scenarios, side by side in both labs at once, compared one by one."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from conformance.kubevirt.compare import Compared, compare
from conformance.kubevirt.course import Course
from conformance.kubevirt.play import NotStarted, play
from conformance.kubevirt.scenario import Scenario
from conformance.kubevirt.world import Place, World
from trimtab.virt.slots import MigrationLimits

Report = Callable[["Tally"], None]


class Tally(Struct):
    """What a run has found so far."""

    compared: list[Compared] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Scenarios that could not be played."""

    @property
    def unexplained(self) -> list[Compared]:
        return [each for each in self.compared if each.unexplained]

    def explained(self) -> Counter[str]:
        """Scenarios by the known differences that they show."""
        return Counter(
            why for each in self.compared for why in {d.why for d in each.differences} - {""}
        )

    def answers(self) -> Counter[str]:
        """What the steps were answered by KubeVirt."""
        return Counter(answer for each in self.compared for answer in each.theirs.answers)


async def run(
    scenarios: Iterable[Scenario],
    ours: tuple[World, Sequence[Place]],
    theirs: tuple[World, Sequence[Place]],
    *,
    limit: int = MigrationLimits().node,
    report: Report = lambda _: None,
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
            tally.compared.append(compare(scenario, a, b, limit))
            report(tally)

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
