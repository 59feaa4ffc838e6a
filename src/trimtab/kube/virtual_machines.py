"""VirtualMachines and their migrations on the wire: kinds, labels, annotations for all rooms.

The vm room defines what they mean and keeps them true; exporter, webhook, loop, qos and
observe only read them here. Names that start with kubevirt.io are KubeVirt's own, so that
tools which know KubeVirt's pods know ours.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from trimtab.kube.resources import Condition, Kind, Object, Wire
from trimtab.model.load.curve import Curve
from trimtab.virt.eviction import EvictionStrategy

GROUP, VERSION = "trimtab.dev", "v1alpha1"
KUBEVIRT = "kubevirt.io"
"""The API group of KubeVirt's own VirtualMachines."""
Amount: TypeAlias = str | int | float

# Labels and annotations of a virt-launcher pod
APP_LABEL = ("app", "virt-launcher")
LAUNCHER_LABEL = ("kubevirt.io", "virt-launcher")
DOMAIN = "kubevirt.io/domain"
"""Label and annotation: the VM's name."""
VM_NAME_LABEL = "vm.kubevirt.io/name"
GUARD_LABEL = "trimtab.dev/guard"
MIGRATION_LABEL = "trimtab.dev/migration"
"""On the target pod of a migration: the VirtualMachineMigration's name."""
EVACUATION_LABEL = "trimtab.dev/evacuation"
"""On a migration that an eviction led to: true."""
PLAN_LABEL = "trimtab.dev/rebalance-plan"
"""On a migration of the balancer, of KubeVirt's VMs too: the plan that it belongs to."""
CPU_CONSUMPTION = "kubevirt.io/vm-cpu-consumption"
MEMORY_CONSUMPTION = "kubevirt.io/vm-memory-consumption"
LOAD = "trimtab.dev/load"
"""Annotation: compact JSON of `Load`, the VM's size and curves; the exporter evaluates it."""
REQUEST_EVICT_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only"
EVICTION_IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress"

# Annotations of a VirtualMachine
INITIAL_NODE = "trimtab.dev/initial-node"
CANCEL_EVACUATION = "trimtab.dev/cancel-evacuation"

Phase = Literal["Pending", "Scheduling", "Scheduled", "Running", "Migrating", "Stopped", "Failed"]
MigrationPhase = Literal["Pending", "Scheduling", "PreCopy", "Succeeded", "Failed", "Cancelled"]
FINISHED: frozenset[str] = frozenset(("Succeeded", "Failed", "Cancelled"))


class VmResources(Wire, frozen=True):
    """What the VM is given: cores and bytes, as quantities."""

    cpu: Amount = "1"
    memory: Amount = "1Gi"


class VmUtilization(Wire, frozen=True):
    """The share of that which it uses; CPU may exceed 1."""

    cpu: float = 0.5
    memory: float = 0.8


class VmLoad(Wire, frozen=True):
    """Curves over time that replace the constant utilisation."""

    cpu: Curve | None = None
    memory: Curve | None = None


class VmSpec(Wire, frozen=True):
    running: bool = True
    resources: VmResources = VmResources()
    utilization: VmUtilization = VmUtilization()
    load: VmLoad | None = None
    eviction_strategy: EvictionStrategy = "LiveMigrate"
    live_migratable: bool = True


class VmAmounts(Wire, frozen=True):
    cpu: str = ""
    memory: str = ""


class VmStatus(Wire, frozen=True):
    """Written by the vm-controller; `evacuation_node_name` is set by the webhook alone."""

    phase: Phase | Literal[""] = ""
    node_name: str = ""
    pod_name: str = ""
    """The active pod; written before the pod is created."""
    incarnation: int = 0
    evacuation_node_name: str = ""
    migration_name: str = ""
    allocated: VmAmounts = VmAmounts()
    used: VmAmounts = VmAmounts()
    cpu_percent: int = 0
    memory_percent: int = 0
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0


class VirtualMachine(Object, frozen=True):
    spec: VmSpec = VmSpec()
    status: VmStatus = VmStatus()


class MigrationSpec(Wire, frozen=True):
    vm_name: str = ""
    target_node: str = ""
    force: bool = False


class MigrationStatus(Wire, frozen=True):
    phase: MigrationPhase | Literal[""] = ""
    source_node: str = ""
    target_node: str = ""
    target_pod: str = ""
    start_time: datetime | None = None
    precopy_start_time: datetime | None = None
    completion_time: datetime | None = None
    reason: str = ""
    attempts: int = 0


class VirtualMachineMigration(Object, frozen=True):
    spec: MigrationSpec = MigrationSpec()
    status: MigrationStatus = MigrationStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in FINISHED


VMS = Kind(GROUP, VERSION, "virtualmachines", "VirtualMachine", VirtualMachine)
MIGRATIONS = Kind(
    GROUP, VERSION, "virtualmachinemigrations", "VirtualMachineMigration", VirtualMachineMigration
)


class Load(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the annotation `trimtab.dev/load` says: size in cores and bytes, use as curves."""

    cores: float
    bytes: float
    cpu: Curve
    memory: Curve


_LOAD = msgspec.json.Decoder(Load)


def encode_load(load: Load) -> str:
    return msgspec.json.encode(load).decode()


def decode_load(text: str) -> Load:
    """Raises msgspec.MsgspecError on anything that is not a load."""
    return _LOAD.decode(text)


def is_launcher(labels: Mapping[str, str]) -> bool:
    """Whether a pod with these labels runs a VM."""
    return labels.get(APP_LABEL[0]) == APP_LABEL[1]
