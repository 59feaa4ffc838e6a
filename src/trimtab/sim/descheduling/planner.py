"""What a rebalancer could do that knows each VM's load and names the target: two what-ifs.

The descheduler can do neither (it takes any VM of a class, and the scheduler picks the
node), so these say what better choices would be worth. Both start from the nodes that the
policy calls over-utilised and keep its limits.

best-fit       from each such node the smallest VM that takes its excess away, else the
               largest, to the least loaded node, until the excess is gone
steepest-pair  of all VMs on such nodes and all targets the pair that levels the cluster
               most, again and again
"""

from collections import Counter

import numpy as np
from msgspec import Struct

from trimtab.sim.descheduling.restraint import Restrained
from trimtab.sim.fleet import Floats
from trimtab.sim.migration.marks import Mark, intended
from trimtab.sim.placement.cluster import Cluster, Flags, Places
from trimtab.virt.eviction import EvictionEffect


class PlannerInputs(Struct, frozen=True, eq=False):
    """What the planner knows besides the cluster.

    sources: (nodes,) over-utilised nodes that may be relieved now.
    tolerance: (nodes,) the deviation from the mean load at which each would be just level.
    cpu, memory: (vms,) loads that were measured last, in units.
    limits: moves per cycle in all and per node, those under way included.
    """

    sources: Flags
    tolerance: Floats
    cpu: Floats
    memory: Floats
    limits: tuple[int | None, int | None]


def tolerance(seen: Floats, scores: Floats, high: float) -> Floats:
    """The deviation of a node's load at which its score would be at the upper threshold.

    Between the mean (no deviation, the mean score) and what was seen the score is taken as
    a straight line. seen: (columns, nodes) of the score's inputs; scores: (nodes,) in [0, 1].
    """
    loads = seen[[0, 2]]
    deviation = (loads - loads.mean(axis=1)[:, None]).max(axis=0)
    above = scores * 100.0 - scores.mean() * 100.0
    room = high - scores.mean() * 100.0
    share = np.divide(room, above, out=np.ones_like(above), where=above > 0)
    return np.asarray(np.maximum(deviation, 0.0) * np.clip(share, 0.0, 1.0))


class Planner:
    """One cycle's plan; everything planned counts as done for what is planned next."""

    def __init__(
        self,
        cluster: Cluster,
        marks: dict[int, Mark],
        inputs: PlannerInputs,
        restrained: Restrained,
    ) -> None:
        self._cluster, self._inputs = cluster, inputs
        self._restrained = restrained
        fleet, loads = cluster.fleet, np.stack([inputs.cpu, inputs.memory])
        self._loads = loads
        self._capacity = np.stack([fleet.cpu_capacity, fleet.memory_capacity])
        self._where = cluster.where.copy()
        self._marked = set(marks)
        self._leaving = Counter(mark.source for mark in marks.values())
        for mark in marks.values():
            target = intended(mark)
            self._where[mark.vm] = cluster.nowhere if target is None else target
        sums = [np.bincount(self._where, load, minlength=fleet.nodes + 1)[:-1] for load in loads]
        self._shares: Floats = np.stack(sums) / self._capacity
        self._requested = np.stack([cluster.requested_cpu, cluster.requested_memory, cluster.pods])
        self._allocatable = np.stack(
            [fleet.allocatable_cpu, fleet.allocatable_memory, fleet.allocatable_pods]
        )
        self.moves: list[tuple[int, int]] = []

    def best_fit(self, now: float) -> list[tuple[int, int]]:
        """Relieve the nodes one by one, the most loaded first."""
        order = np.argsort(-self._deviation().max(axis=0), kind="stable")
        for source in order[self._inputs.sources[order]].tolist():
            while self._may_leave(source) and (move := self._fitting_move(source, now)):
                self._do(*move)
        return self.moves

    def steepest_pair(self, now: float) -> list[tuple[int, int]]:
        """The move that levels most, until none does enough."""
        while move := self._steepest_move(now):
            self._do(*move)
        return self.moves

    def _fitting_move(self, source: int, now: float) -> tuple[int, int] | None:
        deviation = self._deviation()[:, source]
        resource = int(deviation.argmax())
        excess = float(deviation[resource] - self._inputs.tolerance[source])
        vms = self._movable(source, now)
        if excess <= 0.0 or not len(vms):
            return None
        relief = self._loads[resource, vms] / self._capacity[resource, source]
        enough = relief >= excess
        vm = int(vms[enough][relief[enough].argmin()] if enough.any() else vms[relief.argmax()])
        gains = self._gains(np.array([vm]), source)[0]
        fitting = gains > self._restrained.restraint.minimum_gain
        if not fitting.any():
            return None
        load = np.where(fitting, self._shares.sum(axis=0), np.inf)
        return vm, int(load.argmin())

    def _steepest_move(self, now: float) -> tuple[int, int] | None:
        best, chosen = self._restrained.restraint.minimum_gain, None
        excess = self._deviation().max(axis=0) - self._inputs.tolerance
        for source in np.flatnonzero(self._inputs.sources & (excess > 0.0)).tolist():
            vms = self._movable(source, now) if self._may_leave(source) else np.zeros(0, np.intp)
            if not len(vms):
                continue
            gains = self._gains(vms, source)
            vm, target = divmod(int(gains.argmax()), gains.shape[1])
            if gains[vm, target] > best:
                best, chosen = float(gains[vm, target]), (int(vms[vm]), target)
        return chosen

    def _gains(self, vms: Places, source: int) -> Floats:
        """By how much each move lowers the sum of squared loads: (vms, nodes).

        Minus infinity where a VM has no room. With nodes alike it is 2·v·(a - b - v) in each
        resource, for a load v that goes from a node at a to one at b.
        """
        gains = np.zeros((len(vms), self._cluster.fleet.nodes))
        for load, capacity, share in zip(self._loads, self._capacity, self._shares, strict=True):
            here = load[vms, None] / capacity[source]
            there = load[vms, None] / capacity
            gains += here * (2 * share[source] - here) - there * (2 * share + there)
        return np.where(self._room(vms, source), gains, -np.inf)

    def _room(self, vms: Places, source: int) -> Flags:
        fleet = self._cluster.fleet
        wanted = (fleet.requested_cpu[vms], fleet.requested_memory[vms], np.ones_like(vms))
        room = np.tile(self._cluster.open, (len(vms), 1))
        for used, whole, own in zip(self._requested, self._allocatable, wanted, strict=True):
            room &= used + own[:, None] <= whole
        room[:, source] = False
        return room

    def _movable(self, source: int, now: float) -> Places:
        """VMs on a node that can migrate and may do so now."""
        vms = np.flatnonzero(self._where == source)
        vms = vms[self._cluster.fleet.on_eviction[vms] == EvictionEffect.MIGRATES]
        free = [
            vm not in self._marked and not self._restrained.spares_vm(vm, now)
            for vm in vms.tolist()
        ]
        return np.asarray(vms[np.array(free, dtype=np.bool_)])

    def _may_leave(self, source: int) -> bool:
        total, per_node = self._inputs.limits
        if total is not None and sum(self._leaving.values()) >= total:
            return False
        return per_node is None or self._leaving[source] < per_node

    def _deviation(self) -> Floats:
        """(2, nodes): CPU and memory above the mean of the nodes that are there."""
        there = ~self._cluster.lost
        return np.asarray(self._shares - self._shares[:, there].mean(axis=1)[:, None])

    def _do(self, vm: int, target: int) -> None:
        source, fleet = int(self._where[vm]), self._cluster.fleet
        for node, sign in ((source, -1.0), (target, 1.0)):
            self._shares[:, node] += sign * self._loads[:, vm] / self._capacity[:, node]
        self._where[vm] = target
        self._requested[:, target] += (fleet.requested_cpu[vm], fleet.requested_memory[vm], 1)
        self._marked.add(vm)
        self._leaving[source] += 1
        self.moves.append((vm, target))
