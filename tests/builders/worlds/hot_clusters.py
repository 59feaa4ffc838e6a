"""Random small clusters with something to level: who runs where, how busy, what is forbidden."""

import random
from collections.abc import Sequence

from msgspec import Struct

CORES = 32
"""Of each node."""


class HotVm(Struct, frozen=True):
    name: str
    node: str
    cores: int
    memory: str
    busy: float
    movable: bool = True
    guarded: bool = False
    """In the namespace whose quota has no room for a copy."""


class HotCluster(Struct, frozen=True):
    """A start: one node far above the others, some VMs tied, some nodes closed."""

    vms: tuple[HotVm, ...]
    hot: str
    cordoned: frozenset[str]
    tainted: frozenset[str]
    drained: str = ""
    """A node that somebody drains while the balancer works."""


def a_hot_cluster(seed: int, nodes: Sequence[str]) -> HotCluster:
    """The hot node has 60 to 85 % of its CPU used, the open ones 5 to 35 %.

    It always has VMs that may go and nodes that may take them, so there is something to do.
    """
    chance = random.Random(seed)
    order = chance.sample(list(nodes), len(nodes))
    hot, rest = order[0], order[1:]
    cordoned = frozenset(rest[:1]) if chance.random() < 0.4 else frozenset()
    tainted = frozenset(rest[1:2]) if chance.random() < 0.4 else frozenset()
    vms: list[HotVm] = []
    for node in order:
        share = chance.uniform(0.6, 0.85) if node == hot else chance.uniform(0.05, 0.35)
        vms += _filled(chance, node, share * CORES, len(vms))
    drained = rest[2] if seed % 3 == 2 else ""
    return HotCluster(tuple(vms), hot, cordoned, tainted, drained)


def _filled(chance: random.Random, node: str, cores: float, number: int) -> list[HotVm]:
    """VMs of sizes by chance until the node is as busy as wanted."""
    found: list[HotVm] = []
    left = cores
    while left > 0.3:
        size, busy = chance.choice([2, 4, 8]), round(chance.uniform(0.25, 0.6), 2)
        busy = round(min(busy, left / size), 2)
        found.append(
            HotVm(
                name=f"vm-{number + len(found)}",
                node=node,
                cores=size,
                memory=chance.choice(["1Gi", "2Gi", "4Gi"]),
                busy=max(busy, 0.01),
                movable=chance.random() > 0.15,
                guarded=chance.random() < 0.15,
            )
        )
        left -= size * busy
    return found
