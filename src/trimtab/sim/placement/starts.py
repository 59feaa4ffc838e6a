"""VMs that are to start: waiting for a node with room, then booting on it.

When the VMs of a lost node come here is decided in `sim.replica` (`give_up_on`), by the 300 s
of `virt.lost_nodes`.
"""

from math import inf

import numpy as np

from trimtab.sim.fleet import Flags, Numbers
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler

BOOT_S = 5.0
"""From binding to running when a VM is started anew: arrivals, restarts, `recreate`."""


class Starts:
    """The new pods of one replica, oldest first."""

    def __init__(self, cluster: ReplicaPlacement, scheduler: Scheduler) -> None:
        self._cluster, self._scheduler = cluster, scheduler
        self._waiting: dict[int, int | None] = {}
        """The only node that a VM's first pod accepts; None if any will do."""
        self._booting: dict[int, tuple[int, float]] = {}

    def place_all(self) -> tuple[int, ...]:
        """Put every VM where its scenario or the scheduler wants it; returns those that wait.

        A node that is cordoned from the start has the VMs that it was given before.
        """
        vms = np.flatnonzero(self._cluster.fleet.present)
        named = self._cluster.fleet.first_node[vms] >= 0
        # Stretches of VMs that all name a node, or that all do not.
        turns = np.flatnonzero(named[1:] != named[:-1]) + 1
        for some in np.split(vms, turns):
            if len(some) and self._first_node(some[0]) is not None:
                some = some[~self._place_at_once(some)]
            for vm in some.tolist():
                self._place_first(vm)
        return tuple(self._waiting)

    def _place_at_once(self, vms: Numbers) -> Flags:
        """Place those that name a node with room for all who name it; says who they are.

        In whatever order they come, each of them fits. One by one they took a quarter of a run
        with 100,000 VMs.
        """
        cluster, fleet = self._cluster, self._cluster.fleet
        nodes = fleet.first_node[vms]
        roomy = np.ones(fleet.nodes, dtype=np.bool_)
        for asked, used, whole in (
            (fleet.requested_cpu[vms], cluster.requested_cpu, fleet.allocatable_cpu),
            (fleet.requested_memory[vms], cluster.requested_memory, fleet.allocatable_memory),
            (np.ones_like(vms), cluster.pods, fleet.allocatable_pods),
        ):
            total = np.zeros(fleet.nodes, dtype=np.int64)
            np.add.at(total, nodes, asked)
            roomy &= used + total <= whole
        settled = roomy[nodes]
        cluster.settle(vms[settled], nodes[settled])
        return np.asarray(settled)

    def _place_first(self, vm: int) -> None:
        """Put one VM where its scenario or the scheduler wants it."""
        only = self._first_node(vm)
        kept = only if only is not None and self._scheduler.fits(vm, only) else None
        node = self._scheduler.choose(vm) if only is None else kept
        if node is None:
            self._waiting[vm] = only
        else:
            self._cluster.reserve(vm, node)
            self._cluster.put(vm, node)

    def arrive(self, vm: int, now: float) -> None:
        """A VM was created; its first pod may name a node."""
        self._wait(vm, self._first_node(vm), now)

    def restart(self, vm: int, now: float) -> None:
        """A VM lost its pod and gets another one, anywhere."""
        self._wait(vm, None, now)

    def place(self, now: float) -> None:
        """Bind every waiting pod that fits by now; only freed nodes can have become fit."""
        freed, self._cluster.freed = self._cluster.freed, set()
        hopeful = [vm for vm, only in self._waiting.items() if only is None or only in freed]
        for vm in hopeful if freed else []:
            node = self._find(vm, self._waiting[vm])
            if node is not None:
                del self._waiting[vm]
                self._cluster.reserve(vm, node)
                self._booting[vm] = (node, now + BOOT_S)

    def next_s(self) -> float:
        """When the next VM has booted."""
        return min((at for _, at in self._booting.values()), default=inf)

    def take_booted(self, now: float) -> list[tuple[int, int]]:
        """VMs that run from now on, with their nodes."""
        booted = [(vm, node) for vm, (node, at) in self._booting.items() if at <= now]
        for vm, _ in booted:
            del self._booting[vm]
        return booted

    def take_booting_on(self, node: int) -> list[int]:
        """VMs that will not get to run there: the node is lost."""
        stuck = [vm for vm, (target, _) in self._booting.items() if target == node]
        for vm in stuck:
            del self._booting[vm]
        return stuck

    def forget(self, vm: int) -> None:
        """The VM was deleted before it ran."""
        self._waiting.pop(vm, None)
        if vm in self._booting:
            self._cluster.release(vm, self._booting.pop(vm)[0])

    def _first_node(self, vm: int) -> int | None:
        first = int(self._cluster.fleet.first_node[vm])
        return None if first < 0 else first

    def _wait(self, vm: int, only: int | None, now: float) -> None:
        self._waiting[vm] = only
        self._cluster.freed.update(range(self._cluster.fleet.nodes) if only is None else [only])
        self.place(now)

    def _find(self, vm: int, only: int | None) -> int | None:
        if only is None:
            return self._scheduler.choose(vm)
        return only if self._scheduler.takes(vm, only) else None
