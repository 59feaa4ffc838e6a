"""What a snapshot reads of Kubernetes' and KubeVirt's objects, as it is on the wire.

Richer than the pods of `trimtab.kube.resources`, which are kept slim for watches: a snapshot
reads every pod once and needs volumes, affinities and sidecars.
"""

from datetime import datetime
from typing import Any

from msgspec import field

from trimtab.kube.kubevirt import MigrationState
from trimtab.kube.resources import Condition, Kind, Node, Object, Resources, Toleration, Wire


class Expression(Wire, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class Selector(Wire, frozen=True):
    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[Expression, ...] = ()


class NodeTerm(Wire, frozen=True):
    match_expressions: tuple[Expression, ...] = ()
    match_fields: tuple[Expression, ...] = ()


class NodeTerms(Wire, frozen=True):
    node_selector_terms: tuple[NodeTerm, ...] = ()


class NodeAffinity(Wire, frozen=True):
    required: NodeTerms | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class PodTerm(Wire, frozen=True):
    topology_key: str = ""
    label_selector: Selector | None = None
    namespaces: tuple[str, ...] = ()


class PodAntiAffinity(Wire, frozen=True):
    required: tuple[PodTerm, ...] = field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Wire, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Container(Wire, frozen=True):
    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(Wire, frozen=True):
    node_name: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    priority: int | None = None
    tolerations: tuple[Toleration, ...] = ()
    affinity: Affinity | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources | None = None
    overhead: dict[str, str] = field(default_factory=dict)
    volumes: tuple[dict[str, Any], ...] = ()
    resource_claims: tuple[dict[str, Any], ...] = ()


class PodStatus(Wire, frozen=True):
    phase: str = ""
    qos_class: str = ""
    start_time: datetime | None = None


class Pod(Object, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class ClaimSpec(Wire, frozen=True):
    storage_class_name: str | None = None


class Claim(Object, frozen=True):
    spec: ClaimSpec = ClaimSpec()


class NodeUsage(Object, frozen=True):
    usage: dict[str, str] = field(default_factory=dict)


class ContainerUsage(Wire, frozen=True):
    usage: dict[str, str] = field(default_factory=dict)


class PodUsage(Object, frozen=True):
    containers: tuple[ContainerUsage, ...] = ()


class InstanceSpec(Wire, frozen=True):
    eviction_strategy: str | None = None
    node_selector: dict[str, str] = field(default_factory=dict)


class InstanceStatus(Wire, frozen=True):
    node_name: str = ""
    evacuation_node_name: str = ""
    migration_state: MigrationState | None = None
    conditions: tuple[Condition, ...] = ()


class Instance(Object, frozen=True):
    """A VirtualMachineInstance of KubeVirt."""

    spec: InstanceSpec = InstanceSpec()
    status: InstanceStatus = InstanceStatus()


class MigrationSettings(Wire, frozen=True):
    """Limits of the cluster; None where KubeVirt's default holds."""

    parallel_migrations_per_cluster: int | None = None
    parallel_outbound_migrations_per_node: int | None = None


class KubeVirtConfiguration(Wire, frozen=True):
    eviction_strategy: str | None = None
    migrations: MigrationSettings = MigrationSettings()


class KubeVirtSpec(Wire, frozen=True):
    configuration: KubeVirtConfiguration = KubeVirtConfiguration()


class KubeVirtStatus(Wire, frozen=True):
    observed_kube_virt_version: str = field(default="", name="observedKubeVirtVersion")


class KubeVirt(Object, frozen=True):
    spec: KubeVirtSpec = KubeVirtSpec()
    status: KubeVirtStatus = KubeVirtStatus()


class MigrationPolicy(Object, frozen=True):
    """Settings of migrations for some VMs; besides `selectors` the spec holds what it changes."""

    spec: dict[str, Any] = field(default_factory=dict)


class WebhookRule(Wire, frozen=True):
    api_groups: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


class Webhook(Wire, frozen=True):
    name: str = ""
    rules: tuple[WebhookRule, ...] = ()


class WebhookConfiguration(Object, frozen=True):
    webhooks: tuple[Webhook, ...] = ()


PODS = Kind("", "v1", "pods", "Pod", Pod)
NODES = Kind("", "v1", "nodes", "Node", Node, namespaced=False)
CLAIMS = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", Claim)
NODE_USAGE = Kind("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", NodeUsage, namespaced=False)
POD_USAGE = Kind("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", PodUsage)
INSTANCES = Kind("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance", Instance)
MIGRATION_POLICIES = Kind(
    "migrations.kubevirt.io",
    "v1alpha1",
    "migrationpolicies",
    "MigrationPolicy",
    MigrationPolicy,
    namespaced=False,
)
VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    WebhookConfiguration,
    namespaced=False,
)
KUBEVIRTS = Kind("kubevirt.io", "v1", "kubevirts", "KubeVirt", KubeVirt)
