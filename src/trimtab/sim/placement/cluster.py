"""Where every VM is in one replica, what its node uses, and what the scheduler has promised.

Sums are kept up to date move by move; they are whole numbers, so this equals counting
again from nothing. Nowhere is one more node behind the last: VMs that wait for a place,
boot or sit on a lost node are there, so its load is the demand that nobody serves.
"""

import numpy as np

from trimtab.sim.fleet import Flags, Fleet, Floats, Integers, Numbers, plain
from trimtab.sim.loads import Loads
from trimtab.sim.migration.copies import PreCopies
from trimtab.sim.migration.marks import NONE, Marks
from trimtab.sim.placement.residents import Residents
from trimtab.sim.placement.rules import Apart

MANY_MOVES = 8
"""From so many VMs on moving them at once is quicker than one after the other."""


class ReplicaPlacement:
    """One replica's placement. `where`, `cpu` and `memory` are rows of the batch's arrays."""

    def __init__(
        self, fleet: Fleet, loads: Loads, where: Numbers, cpu: Floats, memory: Floats
    ) -> None:
        self.fleet, self.loads = fleet, loads
        self.where, self.cpu, self.memory = where, cpu, memory
        self.nowhere = fleet.nodes
        self.landing: dict[int, int] = {}
        """Target of each VM whose memory is being copied: it fills memory there already."""
        self.requested_cpu: Integers = np.zeros(fleet.nodes, dtype=np.int64)
        self.requested_memory: Integers = np.zeros(fleet.nodes, dtype=np.int64)
        self.pods: Integers = np.zeros(fleet.nodes, dtype=np.int64)
        self.changed: list[int] = []
        """Every node whose promises changed, again and again, in order."""
        self.freed: set[int] = set()
        """Nodes that may have more room than when the waiting pods were last looked at."""
        self.lost: Flags = np.zeros(fleet.nodes, dtype=np.bool_)
        self.cordoned: Flags = fleet.cordoned.copy()
        self.soft_taints: Integers = fleet.soft_taints.copy()
        self.open = fleet.accepts & ~self.cordoned
        self._open_to: dict[int, Flags] = {}
        self.where[:] = self.nowhere
        self.residents = Residents(where, fleet.nodes + 1)
        self.marks = Marks(fleet.vms)
        """VMs that are to leave their node; kept by the replica's migrations."""
        self.copies = PreCopies(fleet.nodes, fleet.vms, fleet.scenario.migration.bandwidth)
        """Pre-copies under way; kept by the replica's migrations."""
        self._plain = _Plain(self)
        groups = None if fleet.rules is None else fleet.rules.groups
        self.apart = None if groups is None else Apart(groups)
        """Numbers of the VMs that keep apart from each other; None if no VM does."""
        if (ground := fleet.ground) is not None:
            self.requested_cpu += ground.requested_cpu
            self.requested_memory += ground.requested_memory
            self.pods += ground.pods

    def open_to(self, kind: int) -> Flags:
        """(nodes,) that take pods with this kind of rules now; one array until that changes."""
        if not kind:
            return self.open
        found, rules = self._open_to.get(kind), self.fleet.rules
        if found is None:
            assert rules is not None
            found = rules.allowed[kind] & ~self.lost
            if not rules.bears_cordons[kind]:
                found &= ~self.cordoned
            self._open_to[kind] = found
        return found

    def soft_taints_to(self, kind: int) -> Integers:
        """(nodes,) PreferNoSchedule taints that pods with this kind of rules do not tolerate."""
        rules = self.fleet.rules
        if not kind or rules is None:
            return self.soft_taints
        if rules.bears_tainter[kind]:
            return np.asarray(rules.soft_taints[kind])
        return np.asarray(self.soft_taints - self.fleet.soft_taints + rules.soft_taints[kind])

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
        self.residents.move((vm,))

    def land(self, vm: int, node: int) -> None:
        """Copying starts: the VM's memory counts on the target too, its CPU does not."""
        self.landing[vm] = node
        self._plain.memory[node] += self.loads.memory.item(vm)

    def land_all(self, vms: Numbers, nodes: Numbers) -> None:
        """Copying starts for these VMs, to these nodes."""
        self.landing.update(zip(vms.tolist(), nodes.tolist(), strict=True))
        np.add.at(self.memory, nodes, self.loads.memory[vms])

    def stop_landing(self, vm: int) -> None:
        """Copying ended, one way or the other."""
        self._plain.memory[self.landing.pop(vm)] -= self.loads.memory.item(vm)

    def reserve(self, vm: int, node: int) -> None:
        """A pod of this VM was bound to a node."""
        self._request(vm, node, 1)

    def reserve_all(self, vms: Numbers, nodes: Numbers) -> None:
        """Pods of these VMs, which need not keep apart from others, were bound to these nodes."""
        np.add.at(self.requested_cpu, nodes, self.fleet.requested_cpu[vms])
        np.add.at(self.requested_memory, nodes, self.fleet.requested_memory[vms])
        np.add.at(self.pods, nodes, 1)
        self.changed.extend(np.unique(nodes).tolist())

    def release(self, vm: int, node: int) -> None:
        """A pod of this VM on a node is gone."""
        self._request(vm, node, -1)
        self.freed.add(node)

    def _request(self, vm: int, node: int, sign: int) -> None:
        now = self._plain
        now.requested_cpu[node] += sign * now.asks_cpu[vm]
        now.requested_memory[node] += sign * now.asks_memory[vm]
        now.pods[node] += sign
        self.changed.append(node)
        if self.apart is not None:
            self.apart.count(vm, node, sign)

    def migrate(self, vms: Numbers, targets: Numbers) -> None:
        """Copies are complete: the VMs run on their targets, their pods on the sources are gone."""
        numbers = vms.tolist()
        if len(vms) < MANY_MOVES:
            for vm, target in zip(numbers, targets.tolist(), strict=True):
                self.stop_landing(vm)
                self.release(vm, self._plain.where[vm])
                self.put(vm, target)
            return
        fleet, sources = self.fleet, self.where[vms]
        np.add.at(self.cpu, targets, self.loads.cpu[vms])
        for sums, each in (
            (self.cpu, self.loads.cpu),
            (self.memory, self.loads.memory),  # the target has had it since the copy began
            (self.requested_cpu, fleet.requested_cpu),
            (self.requested_memory, fleet.requested_memory),
        ):
            np.subtract.at(sums, sources, each[vms])
        np.subtract.at(self.pods, sources, 1)
        self.where[vms] = targets
        if self.apart is not None:
            for vm, source in zip(numbers, sources.tolist(), strict=True):
                self.apart.count(vm, source, -1)
        for vm in numbers:
            del self.landing[vm]
        self.residents.move(numbers)
        touched = np.unique(sources).tolist()
        self.freed.update(touched)
        self.changed.extend(touched)

    def settle(self, vms: Numbers, nodes: Numbers) -> None:
        """At the start: reserve for many VMs and put them on their nodes, all at once."""
        fleet = self.fleet
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
        self.changed.extend(np.unique(nodes).tolist())
        if self.apart is not None:
            for vm, node in zip(vms.tolist(), nodes.tolist(), strict=True):
                self.apart.count(vm, node, 1)

    def moving(self) -> Floats:
        """Load arriving minus load leaving, as shares of each node: (2, nodes), CPU and memory.

        Memory that is being copied counts on its target already, so none of it arrives.
        """
        fleet, loads = self.fleet, self.loads
        flow = np.zeros((fleet.nodes + 1, 2))
        marked = self.marks.in_order()
        marked = marked[self.where[marked] == self.marks.source[marked]]
        targets = self.marks.intended(marked)
        for vm, source, target in zip(
            marked.tolist(), self.where[marked].tolist(), targets.tolist(), strict=True
        ):
            flow[source] -= loads.cpu[vm], loads.memory[vm]
            if target != NONE:
                flow[target, 0] += loads.cpu[vm]
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
        self._open_to.clear()

    def vms_on(self, node: int) -> Numbers:
        """Numbers of the VMs whose active pod is on a node."""
        return self.residents.on(node)


class _Plain:
    """A cluster's arrays, for one node or VM at a time."""

    __slots__ = (
        "asks_cpu",
        "asks_memory",
        "cpu",
        "memory",
        "pods",
        "requested_cpu",
        "requested_memory",
        "where",
    )

    def __init__(self, cluster: ReplicaPlacement) -> None:
        fleet = cluster.fleet
        self.where, self.cpu = plain(cluster.where), plain(cluster.cpu)
        self.memory, self.pods = plain(cluster.memory), plain(cluster.pods)
        self.requested_cpu = plain(cluster.requested_cpu)
        self.requested_memory = plain(cluster.requested_memory)
        self.asks_cpu = plain(fleet.requested_cpu)
        self.asks_memory = plain(fleet.requested_memory)


def recount(
    clusters: list[ReplicaPlacement],
    where: Numbers,
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
        if (ground := clusters[0].fleet.ground) is not None:
            sums[:, :-1] += ground.cpu if sums is cpu else ground.memory
        if load is loads.memory:
            for cluster in clusters:
                for vm, node in cluster.landing.items():
                    cluster.memory[node] += load[vm]
