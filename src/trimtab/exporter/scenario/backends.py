"""Back ends of the writing endpoints: read-only, in memory, cluster."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from trimtab.exporter.http.api import MigrationWish, Moved
from trimtab.exporter.http.problems import Refused
from trimtab.model.scenarios.scenario import Scenario


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
