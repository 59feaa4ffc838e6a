"""KubeVirt's objects on the wire, as far as we read them: VM, VMI, migration.

A VMI (VirtualMachineInstance) is the running VM; its VirtualMachine is what people write. Its
status is part of the object itself: KubeVirt's handlers write it with the whole VMI. Parts that
are only passed on stay dicts, because a merge patch replaces lists as a whole.
"""

from datetime import datetime
from typing import Final

from msgspec import field

from trimtab.kube.resources import Condition, Free, Key, Kind, Object, Wire
from trimtab.kube.virtual_machines import KUBEVIRT
from trimtab.virt.migration_backoff import COMPLETION_S_PER_GIB, PROGRESS_S

VERSION = "v1"
NODE_NAME_LABEL = "kubevirt.io/nodeName"
MIGRATION_TARGET_LABEL = "kubevirt.io/migrationTargetNodeName"
MIGRATION_JOB_LABEL = "kubevirt.io/migrationJobUID"
"""On the target pod of a migration: the uid of its VirtualMachineInstanceMigration."""
CREATED_BY_LABEL = "kubevirt.io/created-by"
"""On a launcher pod: the uid of its VMI."""
EVICTION_SOURCE = "kubevirt.io/eviction-source"
EVACUATION_ANNOTATION = "kubevirt.io/evacuationMigration"
"""On a migration that an eviction led to: the node that its VMI leaves."""
UPDATE_ANNOTATION = "kubevirt.io/workloadUpdateMigration"
"""On a migration that brings a VMI into a launcher of the installed KubeVirt."""
PLACEMENT_LIMIT = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
"""Annotation of a migration: it fails if its target pod finds no node for so long."""
HOSTNAME = "kubernetes.io/hostname"
COOL_LABEL = "trimtab.dev/cool"
"""On nodes, while a migration that the balancer asked for looks for its target among them."""

# What a VMI in a lab says to the player of its handlers
NOT_MIGRATABLE = "trimtab.dev/not-live-migratable"
"""Annotation: the VMI cannot migrate, for this reason of KubeVirt (DisksNotLiveMigratable …)."""
DIRTY_RATE = "trimtab.dev/dirty-rate"
"""Annotation: bytes a second that the guest changes, as a quantity; without it the player's."""
FAIL_MIGRATION = "trimtab.dev/fail-migration"
"""Annotation: every migration of the VMI fails half-way, with this text as the reason."""

LIVE_MIGRATABLE: Final = "LiveMigratable"
FINAL_PHASES = frozenset(("Succeeded", "Failed"))
"""Of VMIs and of migrations alike."""


def plain_condition(found: Free) -> Condition:
    """One of KubeVirt's conditions, as far as people read it."""
    return Condition(
        type=found.get("type", ""),
        status=found.get("status", ""),
        reason=found.get("reason") or "",
        message=found.get("message") or "",
    )


class CpuTopology(Wire, frozen=True):
    cores: int = 0
    sockets: int = 0
    threads: int = 0
    model: str = ""

    @property
    def count(self) -> int:
        """vCPUs; what is not said is 1."""
        return max(self.cores, 1) * max(self.sockets, 1) * max(self.threads, 1)


class GuestMemory(Wire, frozen=True):
    guest: str | int = ""


class DomainResources(Wire, frozen=True):
    requests: dict[str, str | int] = field(default_factory=dict)
    limits: dict[str, str | int] = field(default_factory=dict)


class Devices(Wire, frozen=True):
    interfaces: tuple[Free, ...] = ()
    disks: tuple[Free, ...] = ()
    filesystems: tuple[Free, ...] = ()
    host_devices: tuple[Free, ...] = ()
    gpus: tuple[Free, ...] = ()


class Domain(Wire, frozen=True):
    cpu: CpuTopology = CpuTopology()
    memory: GuestMemory = GuestMemory()
    resources: DomainResources = DomainResources()
    devices: Devices = Devices()
    features: Free = field(default_factory=dict)
    launch_security: Free = field(default_factory=dict)


class VmiSpec(Wire, frozen=True):
    domain: Domain = Domain()
    eviction_strategy: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    termination_grace_period_seconds: int | None = None
    volumes: tuple[Free, ...] = ()
    networks: tuple[Free, ...] = ()


class MigrationConfiguration(Wire, frozen=True):
    """What virt-controller wrote down for one migration, MigrationPolicies included."""

    bandwidth_per_migration: str | int = 0
    completion_timeout_per_gi_b: int = field(
        default=int(COMPLETION_S_PER_GIB), name="completionTimeoutPerGiB"
    )
    progress_timeout: int = int(PROGRESS_S)


class MigrationState(Wire, frozen=True):
    """One local migration as the VMI shows it; the latest one stays after it has ended."""

    migration_uid: str = ""
    source_node: str = ""
    source_pod: str = ""
    target_node: str = ""
    target_pod: str = ""
    target_node_address: str = ""
    target_node_domain_detected: bool = False
    target_node_domain_ready_timestamp: datetime | None = None
    start_timestamp: datetime | None = None
    end_timestamp: datetime | None = None
    completed: bool = False
    failed: bool = False
    failure_reason: str = ""
    abort_requested: bool = False
    abort_status: str = ""
    mode: str = ""
    migration_configuration: MigrationConfiguration = MigrationConfiguration()

    @property
    def ended(self) -> bool:
        return self.completed or self.failed


class VmiStatus(Wire, frozen=True):
    phase: str = ""
    node_name: str = ""
    reason: str = ""
    conditions: tuple[Free, ...] = ()
    active_pods: dict[str, str] = field(default_factory=dict)
    """Pod uid → node."""
    evacuation_node_name: str = ""
    migration_state: MigrationState | None = None
    migration_method: str = ""
    phase_transition_timestamps: tuple[Free, ...] = ()
    selinux_context: str = ""
    launcher_container_image_version: str = ""
    memory: Free = field(default_factory=dict)
    volume_status: tuple[Free, ...] = ()


class Vmi(Object, frozen=True):
    spec: VmiSpec = VmiSpec()
    status: VmiStatus = VmiStatus()

    def condition(self, kind: str) -> Condition | None:
        """A condition by its type; None if the VMI has none of it."""
        found = next((c for c in self.status.conditions if c.get("type") == kind), None)
        return None if found is None else plain_condition(found)

    @property
    def is_final(self) -> bool:
        return self.status.phase in FINAL_PHASES

    @property
    def migratable(self) -> bool:
        condition = self.condition(LIVE_MIGRATABLE)
        return condition is not None and condition.status == "True"

    @property
    def is_migrating(self) -> bool:
        state = self.status.migration_state
        return state is not None and not state.ended


class VmTemplateMeta(Wire, frozen=True):
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class VmTemplate(Wire, frozen=True):
    metadata: VmTemplateMeta = VmTemplateMeta()
    spec: VmiSpec = VmiSpec()


class KubevirtVmSpec(Wire, frozen=True):
    run_strategy: str = ""
    running: bool | None = None
    template: VmTemplate = VmTemplate()

    @property
    def wanted(self) -> bool:
        """Whether the VM is to run, as far as its spec alone says so."""
        if self.running is not None:
            return self.running
        return self.run_strategy not in ("", "Halted")


class KubevirtVmStatus(Wire, frozen=True):
    printable_status: str = ""
    ready: bool = False
    created: bool = False
    conditions: tuple[Free, ...] = ()


class KubevirtVm(Object, frozen=True):
    spec: KubevirtVmSpec = KubevirtVmSpec()
    status: KubevirtVmStatus = KubevirtVmStatus()


class VmimSpec(Wire, frozen=True):
    vmi_name: str = ""
    added_node_selector: dict[str, str] = field(default_factory=dict)
    priority: str = ""


class VmimStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Free, ...] = ()
    migration_state: MigrationState | None = None
    phase_transition_timestamps: tuple[Free, ...] = ()


class Vmim(Object, frozen=True):
    """A VirtualMachineInstanceMigration."""

    spec: VmimSpec = VmimSpec()
    status: VmimStatus = VmimStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in FINAL_PHASES

    @property
    def vmi_key(self) -> Key:
        return Key(self.metadata.namespace, self.spec.vmi_name)


def state_of(migration: Vmim, on_vmi: MigrationState | None) -> MigrationState:
    """What is known of a migration; `on_vmi` is what its VMI says of its latest one.

    KubeVirt copies the state from the VMI one step after it called the migration finished,
    and never if another migration of the VMI has begun by then.
    """
    own = migration.status.migration_state or MigrationState()
    if own.source_node or on_vmi is None or on_vmi.migration_uid != migration.metadata.uid:
        return own
    return on_vmi


KUBEVIRT_VMS = Kind(KUBEVIRT, VERSION, "virtualmachines", "VirtualMachine", KubevirtVm)
VMIS = Kind(KUBEVIRT, VERSION, "virtualmachineinstances", "VirtualMachineInstance", Vmi)
VMIMS = Kind(
    KUBEVIRT,
    VERSION,
    "virtualmachineinstancemigrations",
    "VirtualMachineInstanceMigration",
    Vmim,
)
