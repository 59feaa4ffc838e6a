"""What a person writes in a scenario file: groups, units, durations (docs/reference/scenario.md).

The line below a field is its documentation, in the reference and in the JSON Schema.
`check` says what is wrong with a file; `expand` turns it into the `Scenario` that programs use.
"""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from trimtab.model.load.curve import Curve
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE, PressureCurve
from trimtab.model.nodes_and_vms import (
    DEFAULT_CPU_UTILISATION,
    DEFAULT_MEMORY_UTILISATION,
    RequestsModel,
)
from trimtab.model.pod_rules import Constraints, Taint
from trimtab.virt.eviction import EvictionStrategy
from trimtab.virt.migration_backoff import BACKOFF_S, COMPLETION_S_PER_GIB
from trimtab.virt.slots import MigrationLimits

API_VERSION: Final = "trimtab.dev/v1alpha1"
Amount: TypeAlias = str | int | float
"""A Kubernetes quantity: `500m`, `2`, `1.5Gi`."""
Duration: TypeAlias = str | int | float
"""A time: `90s`, `10m`, `1h30m`, `2d`, or a number of seconds."""


class Between(Struct, frozen=True, forbid_unknown_fields=True):
    """A number drawn for each VM of a group, evenly between two limits, by the scenario's seed."""

    min: float
    """The smallest value that is drawn."""
    max: float
    """The largest."""


class Utilisation(Struct, frozen=True, forbid_unknown_fields=True):
    """The share of its allocation that a VM uses all the time."""

    cpu: float | Between = DEFAULT_CPU_UTILISATION
    """Of the allocated cores; may exceed 1."""
    memory: float | Between = DEFAULT_MEMORY_UTILISATION
    """Of the allocated memory; at most 1."""


class Load(Struct, frozen=True, forbid_unknown_fields=True):
    """Curves over time that replace the constant utilisation."""

    cpu: Curve | None = None
    """The share of the allocated cores over time; may exceed 1."""
    memory: Curve | None = None
    """The share of the allocated memory over time; at most 1."""


class GroundLoad(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What pods that are not VMs take of each node; they never move."""

    cpu: Amount = 0
    """Cores that they use."""
    memory: Amount = 0
    """Memory that they use."""
    requested_cpu: Amount = 0
    """Cores that they request."""
    requested_memory: Amount = 0
    """Memory that they request."""
    pods: int = 0
    """How many there are."""
    without_cpu: int = 0
    """Containers that request no CPU: the scheduler's scores count 100m for each."""
    without_memory: int = 0
    """Containers that request no memory: the scheduler's scores count 200Mi for each."""


class NodeGroup(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Nodes that are alike."""

    name: str
    """The node's name; with a `count` above 1 they are called name-1, name-2, …"""
    count: int = 1
    """How many."""
    cpu: Amount = 32
    """Allocatable cores of each."""
    memory: Amount = "128Gi"
    """Allocatable memory of each."""
    pods: int = 110
    """How many pods each can hold."""
    labels: dict[str, str] = {}
    """Labels of the node objects."""
    taints: tuple[Taint, ...] = ()
    """Taints of the node objects."""
    unschedulable: bool = False
    """Whether they start cordoned."""
    ground: GroundLoad = GroundLoad()
    """What pods that are not VMs take of each."""


class TraceSource(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A recorded workload: each of its machines becomes a VM of the group."""

    file: str
    """A file, or a directory with a file for each machine, relative to the scenario file."""
    format: Literal["auto", "planetlab", "bitbrains", "table", "npz"] = "auto"
    """How it is written; `auto` looks at names and first lines."""
    limit: int | None = None
    """Take only this many machines, the first ones by name."""
    cpu_factor: float = 1.0
    """Multiplies the recorded CPU shares, e.g. to make an idle recording busy."""


class VmGroup(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """VMs that are alike."""

    name: str
    """The VM's name; with a `count` above 1 they are called name-1, name-2, …"""
    count: int = 1
    """How many; a trace decides it by its machines."""
    cpu: Amount = 2
    """Allocated cores of each."""
    memory: Amount = "4Gi"
    """Allocated memory of each."""
    utilization: Utilisation = Utilisation()
    """The constant share that is used, where `load` and `trace` say nothing."""
    load: Load = Load()
    """Curves over time."""
    stagger: Duration = 0
    """Each further VM of the group follows the same curves this much later."""
    trace: TraceSource | None = None
    """Recorded curves; they replace `load.cpu`, and memory unless `load.memory` is given."""
    node: str | None = None
    """The node they start on; without it the scheduler decides."""
    priority: int = 0
    """The pods' priority; the descheduler evicts low ones first."""
    eviction_strategy: EvictionStrategy = "LiveMigrate"
    """What an eviction does: migrate (or be refused), migrate if possible (or restart), restart."""
    live_migratable: bool = True
    """Whether it can move; a VM with a passed-through device cannot."""
    dirty_rate: Amount = 0
    """Bytes of memory it changes per second: what makes a migration long."""
    constraints: Constraints = Constraints()
    """What restricts where they may run, and whether they may be evicted."""


class VmsArrive(Struct, frozen=True, tag="vmsArrive", tag_field="type", forbid_unknown_fields=True):
    """VMs that are created at a moment."""

    at: Duration
    """When, from the start."""
    vms: VmGroup
    """The VMs; their curves count from the scenario's start, too."""


class VmDeparts(Struct, frozen=True, tag="vmDeparts", tag_field="type", forbid_unknown_fields=True):
    """A VM that is deleted at a moment."""

    at: Duration
    """When, from the start."""
    vm: str
    """Its name, e.g. web-3."""


class NodeFails(Struct, frozen=True, tag="nodeFails", tag_field="type", forbid_unknown_fields=True):
    """A node that becomes NotReady."""

    at: Duration
    """When, from the start."""
    node: str
    """Its name."""
    lasts: Duration | None = None
    """It is Ready again after this time; without it, never."""


class NodeDrains(
    Struct, frozen=True, tag="nodeDrains", tag_field="type", forbid_unknown_fields=True
):
    """A node that is cordoned and emptied by evictions."""

    at: Duration
    """When, from the start."""
    node: str
    """Its name."""
    lasts: Duration | None = None
    """It is uncordoned after this time; without it, never."""


EventInFile: TypeAlias = VmsArrive | VmDeparts | NodeFails | NodeDrains


class MigrationModel(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How VMs move: KubeVirt's limits, and a network shared by the migrations of a node."""

    mode: Literal["live", "recreate"] = "live"
    """`live` starts the target first; `recreate` deletes and creates again."""
    bandwidth: Amount = "1Gi"
    """Bytes per second that a node can send or receive for migrations."""
    per_cluster: int = MigrationLimits().cluster
    """Migrations at the same time in the cluster."""
    per_node_outbound: int = MigrationLimits().node
    """Migrations at the same time away from one node."""
    timeout_per_gib: Duration = f"{COMPLETION_S_PER_GIB:g}s"
    """A migration fails after this time for each GiB of memory."""
    failure_rate: float = 0.0
    """The share of attempts that fail for no other reason."""
    backoff: Duration = f"{BACKOFF_S:g}s"
    """The wait before a failed migration is tried again; it doubles each time, up to 16-fold."""


class ScenarioFile(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A cluster, its VMs, and what happens to them."""

    name: str
    """What reports call it."""
    nodes: tuple[NodeGroup, ...]
    """The nodes, in groups."""
    vms: tuple[VmGroup, ...]
    """The VMs that are there at the start, in groups."""
    api_version: str = API_VERSION
    """The format's version."""
    kind: Literal["Scenario"] = "Scenario"
    """Always Scenario."""
    description: str = ""
    """A sentence for whoever lists scenarios."""
    duration: Duration = "1h"
    """How long a run lasts."""
    seed: int = 0
    """Decides every number that is drawn in this file (`min`/`max`), not the run's own chance."""
    events: tuple[EventInFile, ...] = ()
    """What happens during the run."""
    migration: MigrationModel = MigrationModel()
    """How VMs move."""
    pressure: PressureCurve = DEFAULT_PRESSURE
    """How a node's pressure (PSI) follows from its use."""
    requests: RequestsModel = "consumption"
    """What pods request: what the VM uses on average, or KubeVirt's vCPU/10 and all memory."""
