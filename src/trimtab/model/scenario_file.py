"""What a person writes in a scenario file: groups, units, durations (docs/reference/scenario.md).

`trimtab.model.expand` turns it into the `Scenario` that programs use.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from trimtab.model.curve import Curve
from trimtab.model.machines import (
    DEFAULT_CPU_UTILISATION,
    DEFAULT_MEMORY_UTILISATION,
    EvictionStrategy,
    RequestsModel,
    Taint,
)
from trimtab.model.pressure import DEFAULT_PRESSURE, PressureCurve

API_VERSION = "trimtab.dev/v1alpha1"
Amount: TypeAlias = str | int | float


class Between(Struct, frozen=True, forbid_unknown_fields=True):
    """A number drawn for each VM of a group, evenly between two limits, by the scenario's seed."""

    min: float
    max: float


class Utilisation(Struct, frozen=True, forbid_unknown_fields=True):
    """The share of its allocation that a VM uses; CPU may exceed 1."""

    cpu: float | Between = DEFAULT_CPU_UTILISATION
    memory: float | Between = DEFAULT_MEMORY_UTILISATION


class Load(Struct, frozen=True, forbid_unknown_fields=True):
    """Curves that replace the constant utilisation."""

    cpu: Curve | None = None
    memory: Curve | None = None


class NodeGroup(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`count` nodes alike; more than one are called name-1, name-2, …"""

    name: str
    count: int = 1
    cpu: Amount = 32
    memory: Amount = "128Gi"
    pods: int = 110
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class TraceSource(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A recorded workload: each of its machines becomes a VM of the group."""

    file: str
    format: Literal["auto", "planetlab", "bitbrains", "table", "npz"] = "auto"
    limit: int | None = None
    cpu_factor: float = 1.0


class VmGroup(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`count` VMs alike; more than one are called name-1, name-2, …"""

    name: str
    count: int = 1
    cpu: Amount = 2
    memory: Amount = "4Gi"
    utilization: Utilisation = Utilisation()
    load: Load = Load()
    stagger: Amount = 0
    """Each further VM of the group follows the same curve this much later."""
    trace: TraceSource | None = None
    node: str | None = None
    """The node they start on; without it the scheduler decides."""
    priority: int = 0
    eviction_strategy: EvictionStrategy = "LiveMigrate"
    live_migratable: bool = True
    dirty_rate: Amount = 0


class VmsArrive(Struct, frozen=True, tag="vmsArrive", tag_field="type", forbid_unknown_fields=True):
    """VMs that are created at a moment."""

    at: Amount
    vms: VmGroup


class VmDeparts(Struct, frozen=True, tag="vmDeparts", tag_field="type", forbid_unknown_fields=True):
    """A VM that is deleted at a moment."""

    at: Amount
    vm: str


class NodeFails(Struct, frozen=True, tag="nodeFails", tag_field="type", forbid_unknown_fields=True):
    """A node that becomes NotReady, and after `lasts` (if given) Ready again."""

    at: Amount
    node: str
    lasts: Amount | None = None


class NodeDrains(
    Struct, frozen=True, tag="nodeDrains", tag_field="type", forbid_unknown_fields=True
):
    """A node that is cordoned and emptied by evictions, and after `lasts` (if given) uncordoned."""

    at: Amount
    node: str
    lasts: Amount | None = None


EventInFile: TypeAlias = VmsArrive | VmDeparts | NodeFails | NodeDrains


class MigrationModel(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How VMs move: KubeVirt's limits, and a network shared by the migrations of a node."""

    mode: Literal["live", "recreate"] = "live"
    bandwidth: Amount = "1Gi"
    """Bytes per second that a node can send or receive for migrations."""
    per_cluster: int = 5
    per_node_outbound: int = 2
    timeout_per_gib: Amount = "150s"
    failure_rate: float = 0.0
    """The share of attempts that fail for no other reason."""
    backoff: Amount = "20s"


class ScenarioFile(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a scenario file holds."""

    name: str
    nodes: tuple[NodeGroup, ...]
    vms: tuple[VmGroup, ...]
    api_version: str = API_VERSION
    kind: Literal["Scenario"] = "Scenario"
    description: str = ""
    duration: Amount = "1h"
    seed: int = 0
    events: tuple[EventInFile, ...] = ()
    migration: MigrationModel = MigrationModel()
    pressure: PressureCurve = DEFAULT_PRESSURE
    requests: RequestsModel = "consumption"
