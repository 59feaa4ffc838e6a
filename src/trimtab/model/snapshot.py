"""A cluster at one instant, as far as the descheduler's rules look at it, in one file.

Nodes, pods, namespaces and claims keep Kubernetes' own words and quantities; the samples
of the query are kept verbatim, with their time, and are never computed again: one bit can
turn 28.9 % into 28 % or 29 %. JSON and YAML hold the same.
"""

from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
import yaml
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.pod_rules import AntiAffinityTerm as AntiAffinityTerm
from trimtab.model.pod_rules import Expression as Expression
from trimtab.model.pod_rules import Match as Match
from trimtab.model.pod_rules import NodeTerm as NodeTerm
from trimtab.model.pod_rules import Taint
from trimtab.model.pod_rules import Toleration as Toleration

EVICT = "descheduler.alpha.kubernetes.io/evict"
PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
REQUEST_EVICT_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only"
EVICTION_IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress"
MIRROR = "kubernetes.io/config.mirror"
CONFIG_SOURCE = "kubernetes.io/config.source"
ANNOTATIONS = frozenset(
    {EVICT, PREFER_NO_EVICTION, REQUEST_EVICT_ONLY, EVICTION_IN_PROGRESS, MIRROR, CONFIG_SOURCE}
)
"""The annotations of a pod that some rule reads."""
MIGRATIONS = "trimtab.dev/migrations"
"""Our own, on a VM's pod: what was seen of its VM's migrations, `BEGIN/END` in ISO 8601 each."""


class _Part(Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    pass


class SnapshotNode(_Part, frozen=True):
    """A node. `ready` is None when it has no Ready condition."""

    name: str
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool | None = True
    allocatable: dict[str, str] = {}
    capacity: dict[str, str] = {}


class Owner(_Part, frozen=True):
    kind: str
    uid: str


class Volume(_Part, frozen=True):
    """`kind` is the volume's key in the pod: emptyDir, hostPath, persistentVolumeClaim, …"""

    kind: str
    claim: str = ""


class ContainerResources(_Part, frozen=True):
    """A container's resources; `restart_policy` Always makes an init container a sidecar."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    restart_policy: str = ""


class SnapshotPod(_Part, frozen=True):
    """The fields of a pod that the rules read."""

    namespace: str
    name: str
    uid: str
    node: str = ""
    phase: str = "Running"
    terminating: bool = False
    start_time: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owners: tuple[Owner, ...] = ()
    priority: int | None = None
    qos_class: str = ""
    containers: tuple[ContainerResources, ...] = ()
    init_containers: tuple[ContainerResources, ...] = ()
    pod_requests: dict[str, str] = {}
    """spec.resources.requests: replaces the containers' sum of cpu, memory and huge pages."""
    overhead: dict[str, str] = {}
    volumes: tuple[Volume, ...] = ()
    resource_claims: int = 0
    tolerations: tuple[Toleration, ...] = ()
    node_selector: dict[str, str] = {}
    node_affinity: tuple[NodeTerm, ...] | None = None
    """Required terms; None without a required node affinity, which is not the same as none."""
    anti_affinity: tuple[AntiAffinityTerm, ...] = ()

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


class SnapshotNamespace(_Part, frozen=True):
    name: str
    labels: dict[str, str] = {}


class Claim(_Part, frozen=True):
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    storage_class: str = ""


class Sample(_Part, frozen=True):
    """One sample; `value` as Prometheus writes it: "0.29", "NaN", "+Inf"."""

    labels: dict[str, str]
    value: str


class QueryResult(_Part, frozen=True):
    """The verbatim answer to the policy's query, or the error instead of it."""

    time: datetime
    query: str = ""
    result_type: str = "vector"
    samples: tuple[Sample, ...] = ()
    error: str = ""


class NodeMetrics(_Part, frozen=True):
    """What the metrics server says a node uses (as the descheduler averages it)."""

    name: str
    usage: dict[str, str] = {}


class PodMetrics(_Part, frozen=True):
    namespace: str
    name: str
    containers: tuple[dict[str, str], ...] = ()


class InFlightEviction(_Part, frozen=True):
    """An eviction in background under way; `assumed_at` is None if only the annotation says so."""

    pod_uid: str
    node: str
    namespace: str
    assumed_at: datetime | None = None


USE_NOT_KNOWN = "what it uses is not known"
"""A reason not to move a VM that goes away once a source has the missing value."""


class NextPod(_Part, frozen=True):
    """What the pod that a migration makes will ask of its node."""

    node_selector: dict[str, str] = {}
    node_affinity: tuple[NodeTerm, ...] | None = None


class SnapshotVm(_Part, frozen=True):
    """A VM, what it demands now, and whether it can migrate: what a balancer needs.

    The descheduler's rules read none of it. Quantities are Kubernetes' own.
    """

    namespace: str
    name: str
    pod_uid: str
    """Its active pod."""
    cpu: str = ""
    """Cores it uses and waits for; empty where no source tells."""
    memory: str = ""
    """Bytes of the node's memory that it holds, and that a migration copies."""
    dirty_rate: str = ""
    """Bytes that the guest changes in a second; empty where no source tells."""
    not_movable: str = ""
    """Why it cannot or must not migrate now, as a sentence; empty if it may."""
    moving_to: str = ""
    """The node that a migration under way brings it to."""
    target_pod_uid: str = ""
    """The pod that waits for it there."""
    next_pod: NextPod | None = None
    """Where its next pod asks less than the present one: a first placement, or a directed
    migration, binds one pod and not the VM."""
    eviction_strategy: str = ""
    """LiveMigrate, LiveMigrateIfPossible, None or External, the cluster's default included;
    empty where no source tells."""
    not_migratable: str = ""
    """The reason of its condition LiveMigratable=False, such as DisksNotLiveMigratable."""
    migration_policy: str = ""
    """The MigrationPolicy that its migrations follow."""


class SnapshotMigration(_Part, frozen=True):
    """A migration of KubeVirt that has not ended."""

    namespace: str
    vm: str
    phase: str
    source: str = ""
    """The node that the VM leaves."""


class SnapshotMigrationPolicy(_Part, frozen=True):
    """A MigrationPolicy of KubeVirt and the settings that it changes."""

    name: str
    changes: dict[str, str] = {}


class SnapshotKubeVirt(_Part, frozen=True, kw_only=True):
    """What KubeVirt's own objects say beside its VMs. The descheduler's rules read none of it."""

    migrations_per_cluster: int
    migrations_per_node: int
    """How many may leave one node at a time."""
    migrations: tuple[SnapshotMigration, ...] = ()
    policies: tuple[SnapshotMigrationPolicy, ...] = ()
    eviction_webhooks: tuple[str, ...] = ()
    """Validating webhook configurations that are asked about evictions of pods."""


class Snapshot(_Part, frozen=True, kw_only=True):
    """Everything at once. Times carry a time zone."""

    api_version: Literal["trimtab.dev/v1alpha1"] = "trimtab.dev/v1alpha1"
    kind: Literal["Snapshot"] = "Snapshot"
    taken_at: datetime
    versions: dict[str, str] = {}
    evictions_in_background: bool = True
    """The descheduler's feature gate."""
    policy: str = ""
    """The policy file, verbatim."""
    query: QueryResult | None = None
    nodes: tuple[SnapshotNode, ...] = ()
    pods: tuple[SnapshotPod, ...] = ()
    namespaces: tuple[SnapshotNamespace, ...] = ()
    claims: tuple[Claim, ...] = ()
    priority_classes: dict[str, int] = {}
    node_metrics: tuple[NodeMetrics, ...] = ()
    pod_metrics: tuple[PodMetrics, ...] = ()
    in_flight: tuple[InFlightEviction, ...] = ()
    vms: tuple[SnapshotVm, ...] = ()
    vm_loads: str = ""
    """Where the VMs' demands come from, in words."""
    kubevirt: SnapshotKubeVirt | None = None
    """None where KubeVirt is not installed."""


class _Loader(yaml.CSafeLoader):
    """Leaves times as texts, quoted or not: `Snapshot` knows which texts are times."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def encode(snapshot: Snapshot, form: Literal["json", "yaml"] = "json") -> bytes:
    """The text of a snapshot file, header first."""
    tree = msgspec.to_builtins(snapshot)
    tree = {"apiVersion": snapshot.api_version, "kind": snapshot.kind, **tree}
    if form == "yaml":
        return msgspec.yaml.encode(tree)
    return msgspec.json.format(msgspec.json.encode(tree), indent=1)


def decode(text: bytes | str, file: str = "snapshot") -> Snapshot:
    """Read a snapshot from JSON or YAML; `file` names it in errors."""
    try:
        if text.lstrip()[:1] in (b"{", "{"):
            return msgspec.json.decode(text, type=Snapshot)
        return msgspec.convert(yaml.load(text, Loader=_Loader), Snapshot)
    except msgspec.ValidationError as error:
        what, _, where = str(error).replace("`", "").partition(" - at ")
        place = where.removeprefix("$").lstrip(".") or "the whole file"
        raise ConfigError(f"{file}: {place}: {what}; write it with trimtab snapshot") from error
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise ConfigError(f"{file}: neither JSON nor YAML: {problem}") from error


def load(path: Path) -> Snapshot:
    """Read a snapshot file."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    return decode(text, str(path))


def dump(snapshot: Snapshot, path: Path) -> None:
    """Write a snapshot file, as YAML if its name says so."""
    path.write_bytes(encode(snapshot, "yaml" if path.suffix in (".yaml", ".yml") else "json"))
