"""What the exporter reads of pods, nodes and VMs: a handful of fields each.

Slimmer than `kube.resources`, because this service holds every pod and VM of the cluster: a
pod is about 1 KB instead of 4. Annotations are fields, so nobody else's are kept at all.
"""

from datetime import datetime

from msgspec import field

from trimtab.kube.kubevirt import CREATED_BY_LABEL, MIGRATION_JOB_LABEL, VMIS
from trimtab.kube.resources import Condition, Key, Kind, Wire
from trimtab.kube.scenario.objects import MANAGED_BY
from trimtab.kube.virtual_machines import (
    CPU_CONSUMPTION,
    DOMAIN,
    GROUP,
    KUBEVIRT,
    LOAD,
    MEMORY_CONSUMPTION,
    MIGRATION_LABEL,
    MIGRATIONS,
    VERSION,
    VMS,
)


class Meta(Wire, frozen=True):
    """The metadata that a store needs."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class LauncherLabels(Wire, frozen=True):
    domain: str = field(default="", name=DOMAIN)
    migration: str = field(default="", name=MIGRATION_LABEL)
    created_by: str = field(default="", name=CREATED_BY_LABEL)
    job: str = field(default="", name=MIGRATION_JOB_LABEL)


class LauncherAnnotations(Wire, frozen=True):
    domain: str = field(default="", name=DOMAIN)
    cpu: str | None = field(default=None, name=CPU_CONSUMPTION)
    memory: str | None = field(default=None, name=MEMORY_CONSUMPTION)
    load: str | None = field(default=None, name=LOAD)


class LauncherMeta(Meta, frozen=True):
    deletion_timestamp: datetime | None = None
    labels: LauncherLabels = LauncherLabels()
    annotations: LauncherAnnotations = LauncherAnnotations()


class LauncherSpec(Wire, frozen=True):
    node_name: str = ""


class LauncherStatus(Wire, frozen=True):
    phase: str = ""


class Launcher(Wire, frozen=True):
    """A virt-launcher pod."""

    metadata: LauncherMeta = LauncherMeta()
    spec: LauncherSpec = LauncherSpec()
    status: LauncherStatus = LauncherStatus()

    @property
    def vm(self) -> Key:
        """Whose pod it is; the label may be cut off, the annotation is the whole name."""
        meta = self.metadata
        return Key(meta.namespace, meta.annotations.domain or meta.labels.domain)


class MachineStatus(Wire, frozen=True):
    phase: str = ""
    node_name: str = ""
    pod_name: str = ""
    evacuation_node_name: str = ""
    migration_name: str = ""


class MachineLabels(Wire, frozen=True):
    managed_by: str = field(default="", name=MANAGED_BY[0])


class MachineMeta(Meta, frozen=True):
    labels: MachineLabels = MachineLabels()


class MachineObject(Wire, frozen=True):
    """A VirtualMachine: which of its pods is the active one, and who made it."""

    metadata: MachineMeta = MachineMeta()
    status: MachineStatus = MachineStatus()


class InstanceMove(Wire, frozen=True):
    """The latest migration of a VMI."""

    migration_uid: str = ""
    completed: bool = False
    failed: bool = False

    @property
    def ended(self) -> bool:
        return self.completed or self.failed


class InstanceObjectStatus(Wire, frozen=True):
    phase: str = ""
    node_name: str = ""
    evacuation_node_name: str = ""
    migration_state: InstanceMove | None = None


class InstanceObject(Wire, frozen=True):
    """A VirtualMachineInstance of KubeVirt: which of its pods the guest runs in."""

    metadata: MachineMeta = MachineMeta()
    status: InstanceObjectStatus = InstanceObjectStatus()


class MigrationObjectStatus(Wire, frozen=True):
    phase: str = ""
    target_node: str = ""
    target_pod: str = ""
    reason: str = ""


class MigrationObject(Wire, frozen=True):
    """A VirtualMachineMigration: how far it is."""

    metadata: Meta = Meta()
    status: MigrationObjectStatus = MigrationObjectStatus()


class NodeMeta(Meta, frozen=True):
    labels: dict[str, str] = field(default_factory=dict)


class NodeObjectStatus(Wire, frozen=True):
    allocatable: dict[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class NodeObject(Wire, frozen=True):
    metadata: NodeMeta = NodeMeta()
    status: NodeObjectStatus = NodeObjectStatus()

    @property
    def ready(self) -> bool:
        """As the descheduler sees it: a node that says nothing about it is."""
        return all(c.status == "True" for c in self.status.conditions if c.type == "Ready")


LAUNCHERS = Kind("", "v1", "pods", "Pod", Launcher)
NODES = Kind("", "v1", "nodes", "Node", NodeObject, namespaced=False)
INSTANCES = Kind(KUBEVIRT, VMIS.version, VMIS.plural, VMIS.kind, InstanceObject)
MACHINES = Kind(GROUP, VERSION, VMS.plural, VMS.kind, MachineObject)
MOVES = Kind(GROUP, VERSION, MIGRATIONS.plural, MIGRATIONS.kind, MigrationObject)
