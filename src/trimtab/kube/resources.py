"""Kinds and slim objects: what we read of Kubernetes, and nothing else.

A `Kind` says where a resource lives in the API and which Struct its objects decode into.
The Structs name only the fields that some room uses: decoding skips the rest, which is most
of a pod. Every field has a default, because a watch bookmark carries a resourceVersion alone.
Encoding leaves out fields that equal their default, so build what you *write* from dicts when
a value that happens to be a default must be sent.
"""

from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from msgspec import Struct, convert, field

from trimtab.kube.errors import impossible_name

T = TypeVar("T")
Free = dict[str, Any]
"""An object of a kind that we know only at run time."""


class Key(NamedTuple):
    """Which object of a kind; `namespace` is empty for cluster-scoped ones."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Wire(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """Base of everything that crosses the wire; decoded JSON has no cycles, hence no GC."""


class OwnerReference(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Object(Wire, frozen=True):
    """Any object: enough to find it again, to see whether it changed, and whose it is."""

    metadata: ObjectMeta = ObjectMeta()


class Condition(Wire, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class ObjectReference(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class Kind(Struct, Generic[T], frozen=True):
    """Where a resource lives, and the type its objects decode into.

    Other rooms declare theirs: `VMS = Kind("trimtab.dev", "v1alpha1", "virtualmachines",
    "VirtualMachine", VirtualMachine)`. Two Kinds may name one resource with different types.
    """

    group: str
    version: str
    plural: str
    kind: str
    type: type[T]
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, or of one object in it."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{segment(namespace)}" if self.namespaced and namespace else ""
        rest = "".join(f"/{segment(part)}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{rest}"

    def reference(self, obj: T) -> ObjectReference:
        """What an Event or an owner says about `obj`."""
        meta = metadata(obj)
        return ObjectReference(
            api_version=self.api_version,
            kind=self.kind,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
        )

    def owner(self, obj: T, *, controller: bool = True) -> OwnerReference:
        """An ownerReference: whatever carries it goes with `obj`, and is its to control or not."""
        meta = metadata(obj)
        return OwnerReference(
            api_version=self.api_version,
            kind=self.kind,
            name=meta.name,
            uid=meta.uid,
            controller=controller,
            block_owner_deletion=controller,
        )


def segment(name: str) -> str:
    """A name as one part of a URL's path; ImpossibleName if it could become several.

    Quoting a slash would not do: the API server takes the path apart after unquoting it. These
    are the names that it refuses itself, and so does client-go.
    """
    if name in (".", "..") or "/" in name or "%" in name:
        raise impossible_name(name)
    return quote(name, safe="")


def free_kind(
    group: str, version: str, plural: str, kind: str, *, namespaced: bool = True
) -> Kind[Free]:
    """A kind whose objects stay dicts."""
    return Kind(group, version, plural, kind, dict, namespaced)


def micro_time(at: datetime) -> str:
    """A MicroTime: Go reads six decimals or nothing, and JSON encoders drop zeros."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def metadata(obj: Any) -> ObjectMeta:
    """The metadata of a Struct or of a free-form dict."""
    if isinstance(obj, dict):
        return convert(obj.get("metadata") or {}, ObjectMeta)
    meta: ObjectMeta = obj.metadata
    return meta


class Toleration(Wire, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Resources(Wire, frozen=True):
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class Container(Wire, frozen=True):
    name: str = ""
    image: str = ""
    resources: Resources = Resources()


class PodSpec(Wire, frozen=True):
    node_name: str = ""
    node_selector: dict[str, str] = {}
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    affinity: Free | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, str] = {}


class PodStatus(Wire, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    qos_class: str = ""
    start_time: datetime | None = None


class Pod(Object, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(Wire, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeStatus(Wire, frozen=True):
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()


class Node(Object, frozen=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)


class NamespaceStatus(Wire, frozen=True):
    phase: str = ""


class Namespace(Object, frozen=True):
    status: NamespaceStatus = NamespaceStatus()


class ConfigMap(Object, frozen=True):
    data: dict[str, str] = {}


class Secret(Object, frozen=True):
    """`data` is base64, as on the wire."""

    data: dict[str, str] = {}
    type: str = ""


class PriorityClass(Object, frozen=True):
    value: int = 0


class LeaseSpec(Wire, frozen=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(Object, frozen=True):
    spec: LeaseSpec = LeaseSpec()


class EventSeries(Wire, frozen=True):
    count: int = 0
    last_observed_time: datetime | None = None


class Event(Object, frozen=True):
    event_time: datetime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
    deprecated_last_timestamp: datetime | None = None
    """Instead of `event_time` where the reporter writes the older kind, as KubeVirt does."""
    deprecated_count: int = 0

    @property
    def last_seen(self) -> datetime | None:
        """When it happened, the last time if it did so more than once."""
        again = self.series.last_observed_time if self.series else None
        older = self.deprecated_last_timestamp or self.metadata.creation_timestamp
        return again or self.event_time or older

    @property
    def times(self) -> int:
        return self.series.count if self.series else max(1, self.deprecated_count)


class Replicas(Wire, frozen=True):
    replicas: int | None = None


class ReplicaSet(Object, frozen=True):
    """Also good for Deployments and StatefulSets: the owner above and the wanted number."""

    spec: Replicas = Replicas()


class CrdNames(Wire, frozen=True):
    plural: str = ""
    kind: str = ""


class CrdVersion(Wire, frozen=True):
    name: str = ""
    served: bool = False
    storage: bool = False
    schema: Free = field(default_factory=dict)


class CrdSpec(Wire, frozen=True):
    group: str = ""
    names: CrdNames = CrdNames()
    scope: str = ""
    versions: tuple[CrdVersion, ...] = ()


class CrdStatus(Wire, frozen=True):
    conditions: tuple[Condition, ...] | None = None


class CustomResourceDefinition(Object, frozen=True):
    spec: CrdSpec = CrdSpec()
    status: CrdStatus = CrdStatus()

    @property
    def established(self) -> bool:
        conditions = self.status.conditions or ()
        return any(c.type == "Established" and c.status == "True" for c in conditions)


PODS = Kind("", "v1", "pods", "Pod", Pod)
NODES = Kind("", "v1", "nodes", "Node", Node, namespaced=False)
NAMESPACES = Kind("", "v1", "namespaces", "Namespace", Namespace, namespaced=False)
CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap", ConfigMap)
SECRETS = Kind("", "v1", "secrets", "Secret", Secret)
SERVICE_ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount", Object)
EVENTS = Kind("events.k8s.io", "v1", "events", "Event", Event)
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease", Lease)
REPLICA_SETS = Kind("apps", "v1", "replicasets", "ReplicaSet", ReplicaSet)
DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment", ReplicaSet)
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", PriorityClass, namespaced=False
)
CRDS = Kind(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    CustomResourceDefinition,
    namespaced=False,
)
