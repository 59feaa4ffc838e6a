"""Back ends of the writing endpoints: read-only, in memory, cluster."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol, TypeVar

from trimtab.exporter.http.api import MigrationWish, Moved
from trimtab.exporter.http.problems import Refused
from trimtab.model.scenarios.scenario import Scenario

T = TypeVar("T")
AT_ONCE = 20
LOOK_EVERY_S = 0.05


class WriteBackend(Protocol):
    async def load(
        self, scenario: Scenario, *, resume: bool = False, by_hand: AbstractSet[str] = frozenset()
    ) -> list[str]:
        """Make the scenario true; what of it could not be used, one line each.

        To `resume` leaves VMs that have moved since where they are. VMs made `by_hand` are
        left as they are.
        """
        ...

    async def migrate(self, wishes: Sequence[MigrationWish]) -> list[Moved]:
        """Move VMs; what became of each wish."""
        ...


class ReadOnly:
    """The back end of an exporter that may only read."""

    async def load(
        self, scenario: Scenario, *, resume: bool = False, by_hand: AbstractSet[str] = frozenset()
    ) -> list[str]:
        raise _not_allowed()

    async def migrate(self, wishes: Sequence[MigrationWish]) -> list[Moved]:
        raise _not_allowed()


def _not_allowed() -> Refused:
    detail = "this exporter only reads the cluster; start it with --allow-scenario"
    return Refused(403, "Not allowed", detail)


async def until(holds: Callable[[], bool], limit_s: float) -> bool:
    """Wait for something in the stores to become true; false if it does not in time."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + limit_s
    while not holds():
        if clock() >= deadline:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True


async def each(items: Iterable[T], do: Callable[[T], Awaitable[object]]) -> None:
    """`do` for all items, twenty at a time; the first error ends it when those have ended."""
    queue = list(items)
    for start in range(0, len(queue), AT_ONCE):
        results = await asyncio.gather(
            *(do(item) for item in queue[start : start + AT_ONCE]), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
