"""The scores of all nodes for pods that ask for the same, kept from one placement to the next.

A placement changes one node or two, so the others' points stay: renewing a few nodes in plain
numbers takes a tenth of the time of computing all of them, even at once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import Integers, plain
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler_scores import worth_by

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
        self._cluster = cluster
        self.cpu, self.memory, self.pack = cpu, memory, pack
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
        self.node_kind = _kinds(self._figures[3:])
        """Nodes of one number can give the same."""
        self._known: dict[tuple[int, ...], int] = {}
        """What a node with such figures is worth: many nodes have the same."""
        self._highest = 0
        """No node is worth more; the best one may be worth less by now."""
        self._guess_again = False
        self._kind = kind
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
        return bool(self._worth(_worth_of_one, *[figures[node] for figures in self._plain]))

    def _renew_all(self) -> None:
        self._open = self._cluster.open_to(self._kind)
        self._open_plain = plain(self._open)
        worth = self._worth(_worth_of_all, *self._figures) * self._open
        self.levels[: self._nodes] = self.levels[self._nodes :] = worth
        self._highest = int(np.maximum.reduce(worth))
        self._seen = len(self._cluster.changed)

    def _renew(self, node: int) -> None:
        cpu, memory, pods = self._promised
        figures = cpu[node], memory[node], pods[node], self.node_kind[node]
        worth = self.worth_with(figures, node) if self._open_plain[node] else 0
        self.worth[node] = self.worth[self._nodes + node] = worth
        if worth > self._highest:
            self._highest = worth

    def worth_with(self, figures: tuple[int, int, int, int], node: int) -> int:
        """What a node that is open would be worth; figures: CPU, memory, pods, kind of node."""
        worth = self._known.get(figures)
        if worth is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            whole = [each[node] for each in self._plain[3:]]
            worth = self._known[figures] = self._worth(_worth_of_one, *figures[:3], *whole)
        return worth

    def _worth(self, formula: Callable[..., Any], *figures: Any) -> Any:
        """The figures are those of one node, or of all: promised, whole, and ground's if any."""
        ground = figures[6:] or (0, 0)
        return formula(self.cpu, self.memory, self.pack, *figures[:6], *ground)

    def promised_and_whole(self) -> tuple[Integers, Integers]:
        """Of each node: (nodes, 3) what it has promised, (nodes, 5) what it can."""
        figures = np.zeros((8, self._nodes), dtype=np.int64)
        figures[: len(self._figures)] = self._figures
        return figures[:3].T.copy(), figures[3:].T.copy()


def _kinds(figures: Sequence[Integers]) -> list[int]:
    """A number for each node; nodes with equal figures have the same."""
    numbers: dict[tuple[int, ...], int] = {}
    rows = zip(*(each.tolist() for each in figures), strict=True)
    return [numbers.setdefault(row, len(numbers)) for row in rows]


def _whole(values: Any) -> Any:
    return values.astype(np.int64)


_worth_of_one, _worth_of_all = worth_by(min, int), worth_by(np.minimum, _whole)
