"""What the kube-scheduler thinks of every node for pods that ask for the same.

A placement changes one node or two, so the others' points stay: renewing a few nodes in plain
numbers takes a tenth of the time of computing all of them, even at once.
"""

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import numpy as np

from trimtab.sim.fleet import Integers
from trimtab.sim.placement.cluster import Cluster, Flags

# What a pod without requests counts for in LeastAllocated and MostAllocated.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024**2
MANY = 16
"""From so many changed nodes on all of them at once are quicker."""

_Of = Callable[[Any], Any]


class Liking:
    """Which nodes have room for such a pod, and how many points its requests give each."""

    def __init__(self, cluster: Cluster, cpu: int, memory: int, *, pack: bool) -> None:
        self._cluster, self._cpu, self._memory, self._pack = cluster, cpu, memory, pack
        self._own_cpu, self._own_memory = cpu or DEFAULT_MILLI_CPU, memory or DEFAULT_MEMORY
        nodes = cluster.fleet.nodes
        self.room: Flags = np.zeros(2 * nodes, dtype=np.bool_)
        """Of all nodes twice, one time after the other: a search that goes round is a slice."""
        self.points: Integers = np.zeros(2 * nodes, dtype=np.int64)
        self._nodes, self._seen = nodes, 0
        self._renew_all()

    def follow(self) -> None:
        """Catch up with what was promised and given back since the last look."""
        changed = self._cluster.changed
        if len(changed) - self._seen >= MANY:
            self._renew_all()
        elif len(changed) > self._seen:
            for node in changed[self._seen :]:
                self._renew(node)
            self._seen = len(changed)

    def _renew_all(self) -> None:
        room, points = self._worth(_all, np.minimum, _whole)
        for half in (slice(0, self._nodes), slice(self._nodes, None)):
            self.room[half], self.points[half] = room, points
        self._seen = len(self._cluster.changed)

    def _renew(self, node: int) -> None:
        room, points = self._worth(methodcaller("item", node), min, int)
        self.room[node] = self.room[self._nodes + node] = room
        self.points[node] = self.points[self._nodes + node] = points

    def _worth(self, of: _Of, least: Callable[[Any, Any], Any], whole: _Of) -> tuple[Any, Any]:
        """Room and points of what `of` picks: all nodes as arrays, or one in plain numbers."""
        cluster, fleet = self._cluster, self._cluster.fleet
        cpu, memory = of(cluster.requested_cpu), of(cluster.requested_memory)
        all_cpu, all_memory = of(fleet.allocatable_cpu), of(fleet.allocatable_memory)
        room = (cpu + self._cpu <= all_cpu) & (memory + self._memory <= all_memory)
        room &= of(cluster.pods) < of(fleet.allocatable_pods)
        used_cpu = least(cpu + self._own_cpu, all_cpu)
        used_memory = least(memory + self._own_memory, all_memory)
        if not self._pack:
            used_cpu, used_memory = all_cpu - used_cpu, all_memory - used_memory
        points = (used_cpu * 100 // all_cpu + used_memory * 100 // all_memory) // 2
        if self._cpu or self._memory:
            # Shares above 1 would count as 1, but such nodes have no room anyway.
            apart = (cpu + self._cpu) / all_cpu - (memory + self._memory) / all_memory
            after = whole((1 - abs(apart) / 2) * 100)
            points += 50 + (50 + after - of(cluster.evenness)) // 2
        return room, points


def _all(values: Any) -> Any:
    return values


def _whole(values: Any) -> Any:
    return values.astype(np.int64)
