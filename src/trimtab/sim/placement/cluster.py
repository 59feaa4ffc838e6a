"""Where every VM is in one replica, what its node uses, and what the scheduler has promised.

Sums are kept up to date move by move; they are whole numbers, so this equals counting
again from nothing. Nowhere is one more node behind the last: VMs that wait for a place,
boot or sit on a lost node are there, so its load is the demand that nobody serves.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import Fleet, Floats, Integers, plain
from trimtab.sim.loads import Loads
from trimtab.sim.migration.copies import Copies
from trimtab.sim.migration.marks import Mark, intended
from trimtab.sim.placement.residents import Residents

Places = NDArray[np.intp]
Flags = NDArray[np.bool_]


class Cluster:
    """One replica's placement. `where`, `cpu` and `memory` are rows of the batch's arrays."""

    def __init__(
        self, fleet: Fleet, loads: Loads, where: Places, cpu: Floats, memory: Floats
    ) -> None:
        self.fleet, self.loads = fleet, loads
        self.where, self.cpu, self.memory = where, cpu, memory
        self.nowhere = fleet.nodes
        self.landing: dict[int, int] = {}
        """Target of each VM whose memory is being copied: it fills memory there already."""
        self.requested_cpu: Integers = np.zeros(fleet.nodes, dtype=np.int64)
        self.requested_memory: Integers = np.zeros(fleet.nodes, dtype=np.int64)
        self.pods: Integers = np.zeros(fleet.nodes, dtype=np.int64)
        self.evenness: Integers = np.full(fleet.nodes, 100, dtype=np.int64)
        """How evenly CPU and memory are promised: what BalancedAllocation goes by."""
        self.changed: list[int] = []
        """Every node whose promises changed, again and again, in order."""
        self.freed: set[int] = set()
        """Nodes that may have more room than when the waiting pods were last looked at."""
        self.lost: Flags = np.zeros(fleet.nodes, dtype=np.bool_)
        self.cordoned: Flags = fleet.cordoned.copy()
        self.soft_taints: Integers = fleet.soft_taints.copy()
        self.open = fleet.accepts & ~self.cordoned
        self.where[:] = self.nowhere
        self.residents = Residents(where, fleet.nodes + 1)
        self.marks: dict[int, Mark] = {}
        """VMs that are to leave their node; kept by the replica's migrations."""
        self.copies = Copies(fleet.nodes, 0.0)
        """Pre-copies under way; kept by the replica's migrations."""
        self._plain = _Plain(self)

    def put(self, vm: int, node: int) -> None:
        """Move a VM's load to a node, or to nowhere."""
        before = self._plain.where[vm]
        if before == node:
            return
        cpu, memory = self._plain.cpu, self._plain.memory
        load = self.loads.cpu.item(vm)
        cpu[before] -= load
        cpu[node] += load
        load = self.loads.memory.item(vm)
        memory[before] -= load
        memory[node] += load
        self._plain.where[vm] = node
        self.residents.moves(vm)

    def land(self, vm: int, node: int) -> None:
        """Copying starts: the VM's memory counts on the target too, its CPU does not."""
        self.landing[vm] = node
        self._plain.memory[node] += self.loads.memory.item(vm)

    def stop_landing(self, vm: int) -> None:
        """Copying ended, one way or the other."""
        self._plain.memory[self.landing.pop(vm)] -= self.loads.memory.item(vm)

    def reserve(self, vm: int, node: int) -> None:
        """A pod of this VM was bound to a node."""
        self._request(vm, node, 1)

    def release(self, vm: int, node: int) -> None:
        """A pod of this VM on a node is gone."""
        self._request(vm, node, -1)
        self.freed.add(node)

    def _request(self, vm: int, node: int, sign: int) -> None:
        now = self._plain
        cpu = now.requested_cpu[node] + sign * now.asks_cpu[vm]
        memory = now.requested_memory[node] + sign * now.asks_memory[vm]
        now.requested_cpu[node], now.requested_memory[node] = cpu, memory
        now.pods[node] += sign
        self.changed.append(node)
        cpu_share = min(cpu / now.allocatable_cpu[node], 1.0)
        memory_share = min(memory / now.allocatable_memory[node], 1.0)
        now.evenness[node] = int((1 - abs(cpu_share - memory_share) / 2) * 100)

    def settle(self, vms: Places, nodes: Places) -> None:
        """At the start: reserve for many VMs and put them on their nodes, all at once."""
        fleet, touched = self.fleet, np.unique(nodes)
        for sums, each in (
            (self.requested_cpu, fleet.requested_cpu[vms]),
            (self.requested_memory, fleet.requested_memory[vms]),
            (self.pods, np.ones_like(vms)),
            (self.cpu, self.loads.cpu[vms]),
            (self.memory, self.loads.memory[vms]),
        ):
            np.add.at(sums, nodes, each)
        for sums, load in ((self.cpu, self.loads.cpu), (self.memory, self.loads.memory)):
            np.subtract.at(sums, self.where[vms], load[vms])
        self.where[vms] = nodes
        self.residents.forget()
        self.changed.extend(touched.tolist())
        cpu_share = np.minimum(self.requested_cpu / fleet.allocatable_cpu, 1.0)
        memory_share = np.minimum(self.requested_memory / fleet.allocatable_memory, 1.0)
        evenness = ((1 - abs(cpu_share - memory_share) / 2) * 100).astype(np.int64)
        self.evenness[touched] = evenness[touched]

    def moving(self) -> Floats:
        """Load arriving minus load leaving, as shares of each node: (2, nodes), CPU and memory.

        Memory that is being copied counts on its target already, so none of it arrives.
        """
        fleet, loads = self.fleet, self.loads
        flow = np.zeros((fleet.nodes + 1, 2))
        for mark in self.marks.values():
            if self.where[mark.vm] == mark.source:
                flow[mark.source] -= loads.cpu[mark.vm], loads.memory[mark.vm]
                target = intended(mark)
                if target is not None:
                    flow[target, 0] += loads.cpu[mark.vm]
        flow[:-1, 0] /= fleet.cpu_capacity
        flow[:-1, 1] /= fleet.memory_capacity
        return flow[:-1].T

    def set_lost(self, node: int, lost: bool) -> None:
        self.lost[node] = lost
        self._reopen()

    def set_cordoned(self, node: int, cordoned: bool) -> None:
        self.cordoned[node] = cordoned
        self._reopen()

    def _reopen(self) -> None:
        self.freed.update(range(self.fleet.nodes))
        self.open = self.fleet.accepts & ~self.cordoned & ~self.lost

    def vms_on(self, node: int) -> Places:
        """Numbers of the VMs whose active pod is on a node."""
        return self.residents.on(node)


class _Plain:
    """A cluster's arrays, for one node or VM at a time."""

    __slots__ = (
        "allocatable_cpu",
        "allocatable_memory",
        "asks_cpu",
        "asks_memory",
        "cpu",
        "evenness",
        "memory",
        "pods",
        "requested_cpu",
        "requested_memory",
        "where",
    )

    def __init__(self, cluster: Cluster) -> None:
        fleet = cluster.fleet
        self.where, self.cpu = plain(cluster.where), plain(cluster.cpu)
        self.memory, self.pods = plain(cluster.memory), plain(cluster.pods)
        self.requested_cpu = plain(cluster.requested_cpu)
        self.requested_memory = plain(cluster.requested_memory)
        self.evenness = plain(cluster.evenness)
        self.allocatable_cpu = plain(fleet.allocatable_cpu)
        self.allocatable_memory = plain(fleet.allocatable_memory)
        self.asks_cpu = plain(fleet.requested_cpu)
        self.asks_memory = plain(fleet.requested_memory)


def recount(
    clusters: list[Cluster],
    where: Places,
    cpu: Floats,
    memory: Floats,
    known: tuple[Floats | None, Floats | None] = (None, None),
) -> None:
    """Sum every node of every replica anew: needed whenever loads changed.

    where: (replicas, vms); cpu, memory: (replicas, nodes + 1), filled in place.
    known: the loads (CPU, memory) that the sums hold already; the same arrays are not summed.
    """
    loads = clusters[0].loads
    replicas, width = cpu.shape
    bins = where[0] if replicas == 1 else (where + (np.arange(replicas) * width)[:, None]).ravel()
    for sums, load, before in ((cpu, loads.cpu, known[0]), (memory, loads.memory, known[1])):
        if load is before:
            continue
        weights = load if replicas == 1 else np.tile(load, replicas)
        sums[:] = np.bincount(bins, weights, minlength=replicas * width).reshape(cpu.shape)
        if load is loads.memory:
            for cluster in clusters:
                for vm, node in cluster.landing.items():
                    cluster.memory[node] += load[vm]
