"""What the endpoints take and give, field by field: the seed's names, snake_case and all."""

from typing import Literal

from msgspec import Struct


class Health(Struct, frozen=True):
    """Whether the exporter knows its nodes, and where it has them from."""

    status: Literal["healthy", "starting"]
    nodes: int
    """How many nodes have metrics."""
    pod_manager_enabled: bool
    """Whether there is a Kubernetes behind it."""
    source: Literal["pods", "scenario"]
    """`scenario`: there is none, everything happens in memory."""


class Refreshed(Struct, frozen=True):
    """Every node counted anew."""

    status: Literal["success", "partial"]
    refreshed: list[str]
    failed: list[str]
    """Nodes without metrics: not Ready, or without capacity."""
    total: int
