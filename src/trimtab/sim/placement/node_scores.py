"""What the kube-scheduler thinks of every node for pods that ask for the same.

A placement changes one node or two, so the others' points stay: renewing a few nodes in plain
numbers takes a tenth of the time of computing all of them, even at once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, Integers, plain
from trimtab.sim.placement.burst import NodesByWorth
from trimtab.sim.placement.cluster import ReplicaPlacement

MANY = 32
"""From so many changed nodes on all of them at once are quicker."""
MOST_KNOWN = 10_000
GUESSES = 3


class NodeScores:
    """Where such a pod fits, and how many points its requests give each of those nodes."""

    def __init__(
        self, cluster: ReplicaPlacement, cpu: int, memory: int, *, pack: bool, kind: int = 0
    ) -> None:
        """kind: of the pod's placement rules."""
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
        self._figures: tuple[Integers, ...] = (
            cluster.requested_cpu,
            cluster.requested_memory,
            cluster.pods,
            cluster.fleet.allocatable_cpu,
            cluster.fleet.allocatable_memory,
            cluster.fleet.allocatable_pods,
        )
        if (ground := cluster.fleet.ground) is not None:
            self._figures = (*self._figures, ground.assumed_cpu, ground.assumed_memory)
        self._plain = [plain(figures) for figures in self._figures]
        self._promised = self._plain[:3]
        self._node_kind = _kinds(self._figures[3:])
        self._known: dict[tuple[int, ...], int] = {}
        """What a node with such figures is worth: many nodes have the same."""
        self._highest = 0
        """No node is worth more; the best one may be worth less by now."""
        self._guess_again = False
        self._kind = kind
        self._by_worth: NodesByWorth | None = None
        """Kept only while many pods are placed at one moment."""
        self._seen, self._open = 0, cluster.open_to(kind)
        self._renew_all()

    def follow(self) -> None:
        """Catch up with what was promised, given back, opened or closed since the last look."""
        changed = self._cluster.changed
        waiting = len(changed) - self._seen
        if waiting >= MANY or self._open is not self._cluster.open_to(self._kind):
            self._renew_all()
        elif waiting:
            for node in changed[self._seen :]:
                self._renew(node)
            self._seen = len(changed)
        if self._guess_again:
            self._highest, self._guess_again = int(np.maximum.reduce(self.levels)), False

    def in_order(self) -> NodesByWorth:
        """The nodes by what they are worth now; kept in order until `forget_order`."""
        order, changed = self._by_worth, self._cluster.changed
        if order is not None and len(changed) == self._seen + 1:
            self._renew(changed[-1])  # a burst: nothing but the last pod's node has changed
            self._seen += 1
            return order
        self.follow()
        if self._by_worth is None:
            self._by_worth = NodesByWorth(self.levels[: self._nodes])
        return self._by_worth

    def forget_order(self) -> None:
        self._by_worth = None

    def best(self, first: int, last: int) -> tuple[int, int]:
        """The highest worth from `first` to `last`, and how many nodes there are worth it.

        As a rule it is that of the best nodes of all, or a little less: to count those that are
        worth so much takes a third of the time of comparing all of them.
        """
        for worth in range(self._highest, max(self._highest - GUESSES, 0), -1):
            if count := self.worth.count(worth, first, last):
                return worth, count
        self._guess_again = True  # not now: the caller may have taken some nodes out
        worth = int(np.maximum.reduce(self.levels[first:last]))
        return worth, self.worth.count(worth, first, last)

    def has_room(self, node: int) -> bool:
        """Whether requests and the number of pods leave room, whatever taints and cordons say."""
        return bool(self._worth(min, int, *[figures[node] for figures in self._plain]))

    def _renew_all(self) -> None:
        self._open = self._cluster.open_to(self._kind)
        self._open_plain = plain(self._open)
        worth = self._worth(np.minimum, _whole, *self._figures) * self._open
        self.levels[: self._nodes] = self.levels[self._nodes :] = worth
        self._highest = int(np.maximum.reduce(worth))
        self._seen = len(self._cluster.changed)
        self._by_worth = None

    def _renew(self, node: int) -> None:
        cpu, memory, pods = self._promised
        figures = cpu[node], memory[node], pods[node], self._node_kind[node]
        worth = self._known.get(figures)
        if worth is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            worth = self._known[figures] = self._worth(min, int, *[f[node] for f in self._plain])
        if not self._open_plain[node]:
            worth = 0
        if self._by_worth is not None:
            self._by_worth.change(node, self.worth[node], worth)
        self.worth[node] = self.worth[self._nodes + node] = worth
        if worth > self._highest:
            self._highest = worth

    def _worth(
        self,
        least: Callable[[Any, Any], Any],
        whole: Callable[[Any], Any],
        cpu: Any,
        memory: Any,
        pods: Any,
        all_cpu: Any,
        all_memory: Any,
        all_pods: Any,
        assumed_cpu: Any = 0,
        assumed_memory: Any = 0,
    ) -> Any:
        """One more than the points where there is room, else 0: for all nodes, or for one."""
        own_cpu, own_memory = self._cpu, self._memory
        room = (cpu + own_cpu <= all_cpu) & (memory + own_memory <= all_memory) & (pods < all_pods)
        used_cpu = least(cpu + self._own_cpu + assumed_cpu, all_cpu)
        used_memory = least(memory + self._own_memory + assumed_memory, all_memory)
        if not self._pack:
            used_cpu, used_memory = all_cpu - used_cpu, all_memory - used_memory
        points = (used_cpu * 100 // all_cpu + used_memory * 100 // all_memory) // 2
        if own_cpu or own_memory:
            before = abs(least(cpu / all_cpu, 1.0) - least(memory / all_memory, 1.0))
            # Shares above 1 would count as 1, but such nodes have no room anyway.
            after = abs((cpu + own_cpu) / all_cpu - (memory + own_memory) / all_memory)
            even = whole((1 - after / 2) * 100) - whole((1 - before / 2) * 100)
            points += 50 + (50 + even) // 2
        return (points + 1) * room


def _kinds(figures: Sequence[Integers]) -> list[int]:
    """A number for each node; nodes with equal figures have the same."""
    numbers: dict[tuple[int, ...], int] = {}
    rows = zip(*(each.tolist() for each in figures), strict=True)
    return [numbers.setdefault(row, len(numbers)) for row in rows]


def _whole(values: Any) -> Any:
    return values.astype(np.int64)
