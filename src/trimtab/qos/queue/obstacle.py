"""Why a waiting pod cannot run, whoever else leaves: it is gated, or it fits nowhere.

Such a pod takes no place, so nobody waits for it, and its waiting is no claim on the next place.
The scheduler's own words tell why it failed; a pod that asks for more than any node has is told
"Insufficient cpu" like one that only waits for its turn, so the nodes are asked as well.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from trimtab.errors import ConfigError
from trimtab.kube.resources import Node
from trimtab.kube.runtime.store import Store
from trimtab.model.quantity import parse_quantity
from trimtab.qos.ledger.pod_life import LifePod

Obstacle = Literal["", "gated", "fits nowhere"]
RESOURCES = ("cpu", "memory")
Shape = tuple[float, ...]
"""What a node has to give, in the order of `RESOURCES`."""

_ANOTHER_MAY_LEAVE = re.compile(
    r"Insufficient |Too many pods|free ports|affinity rules|topology spread|max volume count"
    r"|tried first"
)
"""Reasons that vanish when other pods do; the last one is our own plugin's."""


class Obstacles:
    """Knows the nodes' shapes; few nodes differ, so asking them is cheap."""

    def __init__(self, nodes: Store[Node]) -> None:
        self._nodes = nodes
        self._shapes: frozenset[Shape] | None = None
        nodes.subscribe(self._changed)

    def _changed(self, old: Node | None, new: Node | None) -> None:
        self._shapes = None

    def of(self, pod: LifePod) -> Obstacle:
        """What keeps a waiting pod from running; empty if it only waits for a place."""
        if pod.spec.scheduling_gates:
            return "gated"
        told = pod.condition("PodScheduled")
        if told is None or told.status != "False":
            return ""  # the scheduler has not tried it yet
        if told.reason != "Unschedulable" or not told.message.startswith("0/"):
            return ""
        reasons = told.message.partition(" preemption:")[0]
        if not _ANOTHER_MAY_LEAVE.search(reasons):
            return "fits nowhere"
        return "" if self._fits_an_empty_node(pod) else "fits nowhere"

    def _fits_an_empty_node(self, pod: LifePod) -> bool:
        if self._shapes is None:
            self._shapes = frozenset(map(_shape, self._open_nodes()))
        needs = [asked(pod, resource) for resource in RESOURCES]
        return any(
            all(need <= there for need, there in zip(needs, shape, strict=True))
            for shape in self._shapes
        )

    def _open_nodes(self) -> Iterable[Node]:
        return (node for node in self._nodes if not node.spec.unschedulable)


def _shape(node: Node) -> Shape:
    return tuple(amount(node.status.allocatable.get(r, "0"), r) for r in RESOURCES)


def asked(pod: LifePod, resource: str) -> float:
    """What all containers of a pod request together."""
    found = (each.resources.requests.get(resource, "0") for each in pod.spec.containers)
    return sum(amount(text, resource) for text in found)


@lru_cache(maxsize=1024)
def amount(text: str, resource: str) -> float:
    try:
        return float(parse_quantity(text, resource))
    except ConfigError:
        return 0.0  # the API server lets none of these in
