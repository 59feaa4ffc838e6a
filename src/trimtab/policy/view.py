"""What a decision looks at: nodes, samples, and the pods of those nodes that it visits.

`ClusterView` is what the simulator, a snapshot and a live cluster have in common. Nothing
is asked for before it is needed: with a Prometheus query `pods_on` is called only for the
over-utilised nodes that are visited. A view stands for one instant: what it answers does
not change while a cycle is decided. Subclass `View` and override what differs.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Protocol, overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.nodes_and_vms import Taint
from trimtab.model.selectors import LabelSelector
from trimtab.model.snapshot import AntiAffinityTerm, NodeTerm, Toleration
from trimtab.policy.pods.migration_aware import Migrated

Amounts = Mapping[str, int]
"""Resource name → nano-units, as `Quantity.nano`: exact, and finer than Kubernetes keeps."""


class Qos(IntEnum):
    """The order in which the descheduler prefers victims (E5)."""

    BEST_EFFORT = 0
    BURSTABLE = 1
    GUARANTEED = 2


class Traits(Struct, frozen=True, eq=False, kw_only=True):
    """All that the rules read of a pod besides its identity; pods alike share one object.

    Verdicts are remembered by the object's identity, so a thousand pods that share their
    traits are judged once.
    """

    priority: int | None = 0
    qos: Qos = Qos.BURSTABLE
    evict: bool = False
    """Carries the annotation that beats every protection (2.1.1)."""
    prefer_no_eviction: bool = False
    request_evict_only: bool = False
    """Carries the annotation without which an eviction is never one in background (2.4)."""
    mirror: bool = False
    static: bool = False
    owners: int = 1
    daemon_set: bool = False
    local_storage: bool = False
    resource_claims: bool = False
    claims: tuple[str, ...] = ()
    """Names of the PersistentVolumeClaims it mounts."""
    labels: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    node_selector: Mapping[str, str] = {}
    node_affinity: tuple[NodeTerm, ...] | None = None
    anti_affinity: tuple[AntiAffinityTerm, ...] = ()
    requests: Amounts = {}
    """What it requests in all (init containers, sidecars, pod level, overhead)."""
    requested: frozenset[str] = frozenset()
    """Resources that a container or init container names in its requests (HNU's eviction mode)."""


class PodView(Protocol):
    """One unfinished pod on a node (Succeeded and Failed ones are never listed: P10)."""

    @property
    def uid(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def owner_uid(self) -> str:
        """The uid of its only owner; empty when it has none or several (minReplicas)."""

    @property
    def started(self) -> float | None:
        """status.startTime in seconds since the epoch (minPodAge)."""

    @property
    def terminating(self) -> bool: ...
    @property
    def traits(self) -> Traits: ...


class PlainPod(Struct, frozen=True, kw_only=True):
    """The plain `PodView`."""

    uid: str
    name: str
    namespace: str = "default"
    owner_uid: str = ""
    started: float | None = None
    terminating: bool = False
    traits: Traits = Traits()


class PodsAlike(Sequence[PodView]):
    """Pods of one node that differ in uid, name and age only: what one of them gets, all get.

    Whoever makes it answers for that: they share one object of traits and one namespace, have
    uids, are not terminating, and the API server says the same to the eviction of each.
    Each pod is made when it is asked for: thousands are decided about by their numbers alone.
    """

    __slots__ = ("make", "numbers")

    def __init__(self, numbers: Sequence[int], make: Callable[[int], PodView]) -> None:
        """numbers: what `make` knows the pods by."""
        self.numbers, self.make = numbers, make

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> PodView: ...
    @overload
    def __getitem__(self, at: slice) -> "PodsAlike": ...
    def __getitem__(self, at: int | slice) -> "PodView | PodsAlike":
        if isinstance(at, slice):
            return PodsAlike(self.numbers[at], self.make)
        return self.make(self.numbers[at])


class NodeView(Protocol):
    """A node; `ready` is None when it has no Ready condition, which counts as ready (R3)."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def taints(self) -> tuple[Taint, ...]: ...
    @property
    def unschedulable(self) -> bool: ...
    @property
    def ready(self) -> bool | None: ...
    @property
    def allocatable(self) -> Amounts: ...
    @property
    def capacity(self) -> Amounts: ...


class PlainNode(Struct, frozen=True, kw_only=True):
    """The plain `NodeView`."""

    name: str
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool | None = True
    allocatable: Amounts = {}
    capacity: Amounts = {}


class Selection:
    """The nodes that a cycle looks at, in one order that every array of the cycle follows."""

    def __init__(self, nodes: Sequence[NodeView]) -> None:
        self.nodes: tuple[NodeView, ...] = tuple(nodes)
        self.names: tuple[str, ...] = tuple(node.name for node in self.nodes)
        self.schedulable: NDArray[np.bool_] = np.array(
            [not node.unschedulable for node in self.nodes], dtype=np.bool_
        )

    def __len__(self) -> int:
        return len(self.names)


def select_nodes(nodes: Sequence[NodeView], selector: LabelSelector) -> Selection:
    """Nodes that match the selector and are not known to be unready; cordoned ones stay (R3)."""
    return Selection(
        [node for node in nodes if node.ready is not False and selector.matches(node.labels)]
    )


class Vector(Struct, frozen=True, eq=False):
    """The answer of the query, sample by sample, in the order of the response.

    `instances` holds each sample's label `instance`, None where it is missing. A view whose
    samples already follow the selected nodes passes `Selection.names` itself: the same tuple
    object skips the look-up by name.
    """

    instances: Sequence[str | None]
    values: NDArray[np.float64]


class QueryFailure(Struct, frozen=True):
    """The query gave no vector; `message` is what the descheduler reports."""

    message: str


class ClusterView(Protocol):
    """One instant of a cluster. Times are seconds since the epoch, amounts nano-units."""

    @property
    def now(self) -> float: ...
    @property
    def nodes(self) -> Sequence[NodeView]:
        """Every node of the cluster, also those outside the policy's selection (nodeFit)."""

    def selected(self, selector: LabelSelector) -> Selection: ...
    def samples(self) -> Vector | QueryFailure: ...
    def pods_on(self, node: str) -> Sequence[PodView]: ...
    def requested_on(self, node: str) -> tuple[Amounts, int]:
        """Sum of the requests of the pods on a node, and their number (requests mode, nodeFit)."""

    def node_metrics(self, node: str) -> Amounts | None:
        """What the metrics server says the node uses."""

    def pod_metrics(self, pod: PodView) -> Sequence[Amounts] | None:
        """What it says each container uses."""

    def replicas(self, owner_uid: str) -> int:
        """Pods with that owner, in any phase and namespace."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None: ...
    def storage_class(self, namespace: str, claim: str) -> str | None:
        """None when the claim is unknown or names no class: both protect the pod."""

    def migrations(self, pod: PodView) -> Sequence[Migrated]:
        """What is known of the migrations of the pod's VM."""


class View:
    """A view that knows its nodes and nothing else; the base of the others.

    Its nodes are fixed: after a node failed, came or was cordoned, make a new view.
    """

    def __init__(self, nodes: Sequence[NodeView], now: float = 0.0) -> None:
        self.nodes: Sequence[NodeView] = tuple(nodes)
        self.now = now
        self._selections: dict[str, Selection] = {}

    def selected(self, selector: LabelSelector) -> Selection:
        if selector.text not in self._selections:
            self._selections[selector.text] = select_nodes(self.nodes, selector)
        return self._selections[selector.text]

    def samples(self) -> Vector | QueryFailure:
        return QueryFailure("the view has no samples")

    def pods_on(self, node: str) -> Sequence[PodView]:
        return ()

    def requested_on(self, node: str) -> tuple[Amounts, int]:
        pods = self.pods_on(node)
        total: dict[str, int] = {}
        for pod in pods:
            for name, amount in pod.traits.requests.items():
                total[name] = total.get(name, 0) + amount
        return total, len(pods)

    def node_metrics(self, node: str) -> Amounts | None:
        return None

    def pod_metrics(self, pod: PodView) -> Sequence[Amounts] | None:
        return None

    def replicas(self, owner_uid: str) -> int:
        return 0

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        return {}

    def storage_class(self, namespace: str, claim: str) -> str | None:
        return None

    def migrations(self, pod: PodView) -> Sequence[Migrated]:
        return ()
