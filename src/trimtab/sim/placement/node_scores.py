"""What the kube-scheduler thinks of every node for pods that ask for the same.

A placement changes one node or two, so the others' points stay: renewing a few nodes in plain
numbers takes a tenth of the time of computing all of them, even at once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import plain
from trimtab.sim.placement.cluster import Cluster

# What a pod without requests counts for in LeastAllocated and MostAllocated.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024**2
MANY = 16
"""From so many changed nodes on all of them at once are quicker."""


class NodeScores:
    """Where such a pod fits, and how many points its requests give each of those nodes."""

    def __init__(self, cluster: Cluster, cpu: int, memory: int, *, pack: bool) -> None:
        self._cluster, self._cpu, self._memory, self._pack = cluster, cpu, memory, pack
        self._own_cpu, self._own_memory = cpu or DEFAULT_MILLI_CPU, memory or DEFAULT_MEMORY
        self._nodes = cluster.fleet.nodes
        self.worth = bytearray(2 * self._nodes)
        """A byte for each node: 0 where the pod does not fit, else one more than the points.

        Points are at most 200. All nodes are there twice, one time after the other: a search that
        goes round is a slice. Bytes are found and counted ten times as fast as array elements.
        """
        self.levels: NDArray[np.uint8] = np.frombuffer(self.worth, dtype=np.uint8)
        """The same bytes as an array."""
        self._figures = (
            cluster.requested_cpu,
            cluster.requested_memory,
            cluster.pods,
            cluster.evenness,
            cluster.fleet.allocatable_cpu,
            cluster.fleet.allocatable_memory,
            cluster.fleet.allocatable_pods,
        )
        self._plain = [plain(figures) for figures in self._figures]
        self._seen, self._open = 0, cluster.open
        self._renew_all()

    def follow(self) -> None:
        """Catch up with what was promised, given back, opened or closed since the last look."""
        changed = self._cluster.changed
        waiting = len(changed) - self._seen
        if waiting >= MANY or self._open is not self._cluster.open:
            self._renew_all()
        elif waiting:
            for node in changed[self._seen :]:
                self._renew(node)
            self._seen = len(changed)

    def has_room(self, node: int) -> bool:
        """Whether requests and the number of pods leave room, whatever taints and cordons say."""
        return bool(self._worth(min, int, *[figures[node] for figures in self._plain]))

    def _renew_all(self) -> None:
        self._open = self._cluster.open
        worth = self._worth(np.minimum, _whole, *self._figures) * self._open
        self.levels[: self._nodes] = self.levels[self._nodes :] = worth
        self._seen = len(self._cluster.changed)

    def _renew(self, node: int) -> None:
        worth = self._worth(min, int, *[figures[node] for figures in self._plain])
        self.worth[node] = self.worth[self._nodes + node] = worth if self._open[node] else 0

    def _worth(
        self,
        least: Callable[[Any, Any], Any],
        whole: Callable[[Any], Any],
        cpu: Any,
        memory: Any,
        pods: Any,
        evenness: Any,
        all_cpu: Any,
        all_memory: Any,
        all_pods: Any,
    ) -> Any:
        """One more than the points where there is room, else 0: for all nodes, or for one."""
        own_cpu, own_memory = self._cpu, self._memory
        room = (cpu + own_cpu <= all_cpu) & (memory + own_memory <= all_memory) & (pods < all_pods)
        used_cpu = least(cpu + self._own_cpu, all_cpu)
        used_memory = least(memory + self._own_memory, all_memory)
        if not self._pack:
            used_cpu, used_memory = all_cpu - used_cpu, all_memory - used_memory
        points = (used_cpu * 100 // all_cpu + used_memory * 100 // all_memory) // 2
        if own_cpu or own_memory:
            # Shares above 1 would count as 1, but such nodes have no room anyway.
            apart = (cpu + own_cpu) / all_cpu - (memory + own_memory) / all_memory
            after = whole((1 - abs(apart) / 2) * 100)
            points += 50 + (50 + after - evenness) // 2
        return (points + 1) * room


def _whole(values: Any) -> Any:
    return values.astype(np.int64)
