"""Nodes and VMs as values: what they have, and what a VM uses over time."""

from fractions import Fraction
from typing import Literal

from msgspec import Struct

from trimtab.model.load.curve import Constant, Curve, overall_mean
from trimtab.model.pod_rules import Constraints
from trimtab.model.pod_rules import Taint as Taint
from trimtab.model.quantity import Quantity, cores, gib
from trimtab.virt.eviction import EvictionStrategy

RequestsModel = Literal["consumption", "overcommit"]

# The node that the consumption fractions of node-classifier-sim refer to.
REFERENCE_CPU = cores(32)
REFERENCE_MEMORY = gib(128)
DEFAULT_CPU_UTILISATION = 0.5
DEFAULT_MEMORY_UTILISATION = 0.8
CPU_OVERCOMMIT = 10
"""Cores of VMs per requested core where requests follow KubeVirt (its cpuAllocationRatio)."""


class Ground(Struct, frozen=True):
    """What pods that are not VMs take of a node: they use it, request it, and never move."""

    cpu: Quantity = Quantity(0)
    memory: Quantity = Quantity(0)
    requested_cpu: Quantity = Quantity(0)
    requested_memory: Quantity = Quantity(0)
    pods: int = 0
    without_cpu: int = 0
    """Containers that request no CPU; the scheduler's scores count 100m for each."""
    without_memory: int = 0
    """Containers that request no memory; the scheduler's scores count 200Mi for each."""


class Node(Struct, frozen=True):
    """A node with what it can give to pods."""

    name: str
    cpu: Quantity = REFERENCE_CPU
    memory: Quantity = REFERENCE_MEMORY
    pods: int = 110
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ground: Ground | None = None


class Vm(Struct, frozen=True):
    """A VM: its size, and how much of that it uses at each moment."""

    name: str
    cpu: Quantity
    memory: Quantity
    cpu_load: Curve = Constant(DEFAULT_CPU_UTILISATION)
    memory_load: Curve = Constant(DEFAULT_MEMORY_UTILISATION)
    node: str | None = None
    """Where it starts; None lets the scheduler decide."""
    priority: int = 0
    eviction_strategy: EvictionStrategy = "LiveMigrate"
    live_migratable: bool = True
    dirty_rate: Quantity = Quantity(0)
    """Bytes of memory it changes per second: what makes a pre-copy long."""
    constraints: Constraints | None = None
    """None: any node that takes VMs will do. VMs with the same rules share one object."""

    @property
    def can_migrate(self) -> bool:
        """Whether a live migration is possible, wherever to."""
        return self.live_migratable and not (self.constraints and self.constraints.not_movable)


def requested(vm: Vm, model: RequestsModel) -> tuple[Quantity, Quantity]:
    """What the VM's pod asks the scheduler for: whole milli-cores and bytes, rounded up."""
    if model == "overcommit":
        cpu, memory = vm.cpu.times(Fraction(1, CPU_OVERCOMMIT)), vm.memory
    else:
        cpu = vm.cpu.times(overall_mean(vm.cpu_load))
        memory = vm.memory.times(overall_mean(vm.memory_load))
    return Quantity(cpu.milli_value() * 10**6), Quantity(memory.value() * 10**9)
