"""KubeVirt's limits: so many migrations at a time, so many of them away from one node.

There is no limit on migrations towards a node. Those who wait are served by priority, then in
the order in which they came; one that has to wait because of its node does not hold up those
behind it.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from enum import IntEnum
from typing import Generic, TypeVar

from msgspec import Struct

Key = TypeVar("Key", bound=Hashable)


class MigrationLimits(Struct, frozen=True):
    """Migrations at a time in the cluster, and away from one node. The defaults are KubeVirt's."""

    cluster: int = 5
    node: int = 2

    def allow_another(self, running: int) -> bool:
        """True if the cluster has a free slot while `running` migrations are under way."""
        return running < self.cluster

    def allow_leaving(self, leaving: int) -> bool:
        """True if one more may leave a node that `leaving` migrations are leaving."""
        return leaving < self.node

    def hold_up_none_of(self, migrations: int) -> bool:
        """True if so many may be under way at once, be it that all of them leave one node."""
        return migrations <= min(self.cluster, self.node)


class MigrationPriority(IntEnum):
    """The higher one goes first: KubeVirt's numbers (its gate MigrationPriorityQueue)."""

    SYSTEM_CRITICAL = 100
    """Evacuations that an administrator causes, such as the drain of a node."""
    USER_TRIGGERED = 50
    """What a change of a VM asks for, such as more memory for it while it runs."""
    SYSTEM_MAINTENANCE = 20
    """Evacuations that the descheduler causes."""
    DEFAULT = 0
    """Any other request: KubeVirt takes a priority only from its own controller."""


class MigrationRequest(Struct, Generic[Key], frozen=True):
    """A migration that could begin."""

    priority: MigrationPriority
    created: float
    """Of equal priority the earlier one goes first; `key` decides between equals."""
    key: Key
    node: str
    """The node that the VM leaves."""


def granted(
    running: Mapping[Key, str], waiting: Iterable[MigrationRequest[Key]], limits: MigrationLimits
) -> set[Key]:
    """Which of those waiting may begin now; `running` maps VMs to the nodes they leave."""
    total, leaving = len(running), Counter(running.values())
    chosen: set[Key] = set()
    for request in sorted(waiting, key=_order):
        if not limits.allow_another(total):
            break
        if request.key not in running and limits.allow_leaving(leaving[request.node]):
            total, leaving[request.node] = total + 1, leaving[request.node] + 1
            chosen.add(request.key)
    return chosen


def _order(request: MigrationRequest[Key]) -> tuple[int, float, Key]:
    return -request.priority, request.created, request.key
