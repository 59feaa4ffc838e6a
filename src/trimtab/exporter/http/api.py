"""What the endpoints take and give: field names of node-classifier-sim, snake_case and all."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

MAX_MIGRATIONS = 1000
_Name = Annotated[str, Meta(min_length=1, max_length=253)]


class Health(Struct, frozen=True):
    """Whether the exporter knows its nodes, and where it has them from."""

    status: Literal["healthy", "starting", "stale"]
    """`stale`: the API server has been silent for too long."""
    nodes: int
    """How many nodes have metrics."""
    pod_manager_enabled: bool
    """Whether there is a Kubernetes behind it."""
    source: Literal["pods", "scenario"]
    """`scenario`: there is none, everything happens in memory."""


class Refreshed(Struct, frozen=True):
    """Every node counted anew."""

    status: Literal["success", "partial"]
    """`partial`: some nodes have no metrics."""
    refreshed: list[str]
    """Nodes with metrics, in name order."""
    failed: list[str]
    """Nodes without metrics: not Ready, or without capacity."""
    total: int
    """How many there are of both."""


class VmUse(Struct, frozen=True, omit_defaults=True):
    """A VM and what it uses at this moment, as shares of 32 cores and 128 GiB."""

    id: str
    """Its name; `namespace/name` if it is in another namespace than the exporter's."""
    cpu_consumption: float
    """Used cores / 32."""
    memory_consumption: float
    """Used memory / 128 GiB."""
    by_hand: bool = False
    """No scenario made it; POST leaves such a VM as it is."""


class NodeVms(Struct, frozen=True):
    """A node and the VMs that run on it."""

    name: str
    """The node's name."""
    vms: list[VmUse]
    """In name order."""


class Scene(Struct, frozen=True):
    """All nodes as they are: a scenario of node-classifier-sim, which POST takes back."""

    nodes: list[NodeVms]
    """In name order."""
    unplaced: list[str]
    """VMs that are to run and have no node yet."""


class Loaded(Struct, frozen=True):
    """The scenario as it was placed."""

    status: Literal["success", "partial"]
    """`partial`: not every VM had a node when the time was up."""
    nodes: list[NodeVms]
    """All nodes with all their VMs, of this scenario or not."""
    unplaced: list[str]
    """VMs of the scenario without a node."""
    warnings: list[str]
    """What of the scenario was not used, and why."""


class MigrationWish(Struct, frozen=True, forbid_unknown_fields=True):
    """Move a VM; the scheduler has the last word on where to."""

    vm_id: _Name
    """The VM's name, or `namespace/name`."""
    from_node: _Name
    """Where it is; if it is elsewhere, nothing is done."""
    to_node: _Name | None = None
    """Where it should rather go."""


class Feedback(Struct, frozen=True, forbid_unknown_fields=True):
    """Migrations to carry out."""

    migrations: Annotated[list[MigrationWish], Meta(max_length=MAX_MIGRATIONS)]
    """One for each VM."""


class Moved(Struct, frozen=True, omit_defaults=True):
    """What became of a wish."""

    vm_id: str
    """As it was asked for."""
    from_node: str
    """As it was asked for."""
    requested_node: str | None
    """As it was asked for."""
    actual_node: str | None
    """Where the VM goes, or is if it does not move; null if nobody knows."""
    error: str = ""
    """Why it does not move."""


class FeedbackResult(Struct, frozen=True):
    """What became of all wishes."""

    status: Literal["success", "partial", "failed"]
    """Whether all, some or none of the VMs move."""
    migrations: list[Moved]
    """In the order of the wishes."""
