"""A scenario: VMs on the two or three nodes of a place, and what is done to them, when.

Steps wait for something that both worlds show, never for a time: KubeVirt's delays are its own.
"""

from typing import Literal

from msgspec import Struct

from trimtab.virt.eviction import EvictionStrategy

Kind = Literal["now", "settled", "scheduling", "copying", "failed"]
Deed = Literal[
    "evict",
    "evict-target",
    "migrate",
    "cancel",
    "delete",
    "stop",
    "start",
    "kill-target",
    "kill-pod",
    "cordon",
    "uncordon",
    "drain",
    "lose",
    "revive",
]
LIMITS = "limits"
"""The theme of scenarios that are played one at a time, because of slots of the cluster."""
ON_NODES: frozenset[Deed] = frozenset(("cordon", "uncordon", "drain", "lose", "revive"))


class Machine(Struct, frozen=True):
    """A VM and the node of the place that it starts on."""

    node: int = 0
    strategy: EvictionStrategy = "LiveMigrate"
    migratable: bool = True


class Moment(Struct, frozen=True):
    """When a step is due.

    now: as soon as the step before it is done.
    settled: no migration is under way or wanted anywhere in the scenario.
    scheduling: a migration of the VM has a target pod that does not run.
    copying: the VM's memory is being copied.
    failed: so many migrations of the VM have failed.
    """

    kind: Kind = "settled"
    vm: int = 0
    count: int = 1

    def __str__(self) -> str:
        if self.kind in ("now", "settled"):
            return "at once" if self.kind == "now" else "when all is settled"
        times = f" {self.count}" if self.kind == "failed" else ""
        return f"when VM {self.vm} is {self.kind}{times}"


class Step(Struct, frozen=True):
    """One deed; `on` is a VM, or a node for what is done to nodes; `to` is a node to go to."""

    deed: Deed
    on: int = 0
    when: Moment = Moment()
    to: int | None = None

    def __str__(self) -> str:
        what = "node" if self.deed in ON_NODES else "VM"
        where = "" if self.to is None else f" to node {self.to}"
        return f"{self.deed} {what} {self.on}{where} {self.when}"


class Scenario(Struct, frozen=True):
    seed: int
    number: int
    theme: str
    nodes: int
    machines: tuple[Machine, ...]
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        return f"{self.theme} {self.seed}/{self.number}"

    def told(self) -> str:
        """The scenario in words."""
        vms = ", ".join(
            f"VM {at} on node {vm.node} ({vm.strategy}"
            f"{'' if vm.migratable else ', cannot migrate'})"
            for at, vm in enumerate(self.machines)
        )
        return f"{self.nodes} nodes; {vms}; " + "; ".join(str(step) for step in self.steps)
