"""Types of the page's format: a picture of the cluster, and changes that lead to the next one.

A picture is computed once for all viewers and sent as the difference from the one before.
The same lines come over the network and from a file. Keys: nodes by name, VMs by
`namespace/name`, moves by `namespace/name` of the migration. Shares are of the node, 0 to 1
(above 1: overloaded); percents are what the descheduler compares.
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

T = TypeVar("T")


class _Wire(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class NodeState(_Wire, frozen=True):
    """A node; what nobody tells is None."""

    kind: str = ""
    """Its class by the policy: over, under, appropriate; empty if the plugin could not tell."""
    percent: float | None = None
    """The score as the descheduler compares it."""
    low: float | None = None
    high: float | None = None
    """The thresholds that hold for it."""
    cpu: float | None = None
    memory: float | None = None
    pressure: float | None = None
    """The higher one of CPU and memory pressure."""
    capacity: tuple[float, float] = (0.0, 0.0)
    """Cores and bytes that VMs can get."""
    zone: str = ""
    ready: bool = True
    cordoned: bool = False


class VmState(_Wire, frozen=True):
    """A VM: where it runs, and what it uses in cores and bytes (None: not known)."""

    node: str = ""
    cpu: float | None = None
    memory: float | None = None
    stays: str = ""
    """Why it cannot move now; empty if it may."""
    protected: bool = False
    """Whether somebody said that it stays where it is."""
    evict: bool = False
    """Whether a cycle at this moment would evict it."""


class MoveState(_Wire, frozen=True):
    """A migration under way, or one that ended a moment ago."""

    vm: str
    source: str = ""
    target: str = ""
    phase: str = "Pending"
    begun: float = 0.0
    """Unix seconds."""
    ended: bool = False
    reason: str = ""


class ClusterState(_Wire, frozen=True):
    """What holds for the whole cluster."""

    verdict: str = ""
    """What a descheduling cycle would do now, in one sentence."""
    problem: str = ""
    """Why the picture may be old or the descheduler can do nothing."""
    query: str = ""
    average: float | None = None
    low: float | None = None
    high: float | None = None
    imbalance: float | None = None
    """100·√(CPU deviation² + memory deviation²) of the nodes, in points."""
    over: int | None = 0
    evictions: int | None = 0
    """Evictions that a cycle would ask for now. None: nobody can tell, as of both in the past."""
    moving: int = 0
    moved: int = 0
    """Migrations that succeeded, of those that the cluster still remembers."""
    notes: tuple[str, ...] = ()


class Picture(_Wire, frozen=True):
    """The cluster at one moment."""

    at: float = 0.0
    """Unix seconds."""
    cluster: ClusterState = ClusterState()
    nodes: dict[str, NodeState] = {}
    vms: dict[str, VmState] = {}
    moves: dict[str, MoveState] = {}


class Change(_Wire, frozen=True):
    """What is different in the next picture; None is something that is gone."""

    at: float
    cluster: ClusterState | UnsetType = UNSET
    nodes: dict[str, NodeState | None] = {}
    vms: dict[str, VmState | None] = {}
    moves: dict[str, MoveState | None] = {}


def difference(old: Picture, new: Picture) -> Change:
    """The change that leads from one picture to another."""
    return Change(
        at=new.at,
        cluster=UNSET if new.cluster == old.cluster else new.cluster,
        nodes=_changed(old.nodes, new.nodes),
        vms=_changed(old.vms, new.vms),
        moves=_changed(old.moves, new.moves),
    )


def apply(picture: Picture, change: Change) -> Picture:
    """The picture after a change; what does not change is shared, not copied."""
    return replace(
        picture,
        at=change.at,
        cluster=picture.cluster if isinstance(change.cluster, UnsetType) else change.cluster,
        nodes=_applied(picture.nodes, change.nodes),
        vms=_applied(picture.vms, change.vms),
        moves=_applied(picture.moves, change.moves),
    )


def joined(first: Change, second: Change) -> Change:
    """The one change that leads where two in a row lead."""
    return Change(
        at=second.at,
        cluster=first.cluster if isinstance(second.cluster, UnsetType) else second.cluster,
        nodes={**first.nodes, **second.nodes},
        vms={**first.vms, **second.vms},
        moves={**first.moves, **second.moves},
    )


def _changed(old: Mapping[str, T], new: Mapping[str, T]) -> dict[str, T | None]:
    changed: dict[str, T | None] = {
        name: value for name, value in new.items() if name not in old or old[name] != value
    }
    changed.update((name, None) for name in old if name not in new)
    return changed


def _applied(old: dict[str, T], changed: Mapping[str, T | None]) -> dict[str, T]:
    if not changed:
        return old
    new = {name: value for name, value in old.items() if name not in changed}
    new.update((name, value) for name, value in changed.items() if value is not None)
    return new
