"""The cluster under one random seed: migrations, restarts, and what the scenario does to it.

A replica is one of many runs of the same scenario that differ only by their seed; it has nothing
to do with a ReplicaSet. Time is continuous between decisions: `advance` goes from one change of
the placement to the next and announces each, so that the time before it can be accounted for.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, repeat
from math import inf

import numpy as np
from numpy.typing import NDArray

from trimtab.policy.inflight import SWEEP_PERIOD_S, InFlightCache, PodEvent, PodState
from trimtab.sim.fleet import DEFAULT_NAMESPACE, Numbers
from trimtab.sim.migration.migrations import Migrations
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler
from trimtab.sim.placement.starts import Starts
from trimtab.sim.spec import Placement, RunSpec
from trimtab.sim.streams import Purpose, stream
from trimtab.sim.timeline import NodeEvent
from trimtab.virt.eviction import EvictionEffect
from trimtab.virt.lost_nodes import LOST_NODE_S
from trimtab.virt.slots import MigrationPriority

MIGRATES = EvictionEffect.MIGRATES
SYSTEM_MAINTENANCE = MigrationPriority.SYSTEM_MAINTENANCE
Change = Callable[[int, float, float], None]
"""Called before the placement of a replica changes: nothing has moved between two moments."""


class Replica:
    """A cluster with its scheduler, its migrations and the descheduler's in-flight cache."""

    def __init__(
        self, spec: RunSpec, seed: int, cluster: ReplicaPlacement, number: int, change: Change
    ) -> None:
        self.seed, self.cluster = seed, cluster
        self.now = 0.0
        self._number, self._change = number, change
        first: Placement = "binpack" if spec.placement == "binpack" else "spread"
        scheduler = Scheduler(cluster, first, stream(seed, Purpose.INITIAL_PLACEMENT))
        self._starts = Starts(cluster, scheduler)
        self.migrations = Migrations(
            cluster,
            scheduler,
            seed,
            left=self._pods_gone,
            arrived=self._arrived,
            reaction_s=spec.timing.reaction_s,
        )
        self._inflight = InFlightCache()
        self._assumed: list[tuple[Numbers, NDArray[np.int32], Numbers, float]] = []
        """Evicted VMs, the pod of each, its node, and when; the cache does not know of them yet."""
        self._pods: NDArray[np.int32] = np.zeros(cluster.fleet.vms, dtype=np.int32)
        """How many pods each VM has had before the active one."""
        self.history: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        """(begun, ended) of the migrations of each VM that has moved, if that keeps it at rest."""
        self._keeps_history = spec.restraint.cooldown_s > 0.0
        self._started = np.full(cluster.fleet.vms, -inf)
        self._stranded: dict[int, int] = {}
        self._lost_at: dict[int, float] = {}
        self._draining: set[int] = set()
        self._next_sweep_s = 0.0
        self.unplaced = self._starts.place_all()
        scheduler.go_on_with(spec.placement, stream(seed, Purpose.SCHEDULER_TIES))

    # --- what a descheduler or a person does ---

    def started_s(self, vm: int) -> float:
        """When its active pod was started; before the run counts as long ago."""
        started_s: float = self._started.item(vm)
        return started_s

    def evict(self, vm: int) -> None:
        """An eviction was granted: the VM migrates, or its pod is gone and it starts anew."""
        if self.cluster.fleet.eviction_effects[vm] is EvictionEffect.RESTARTS:
            self._restart(vm)
            return
        self._evict_together([vm])

    def evict_all(self, vms: Sequence[int]) -> None:
        """The same for one after the other."""
        effects = self.cluster.fleet.eviction_effects
        if all(effects[vm] is MIGRATES for vm in vms):
            self._evict_together(vms)
        else:
            for vm in vms:
                self.evict(vm)

    def _evict_together(self, vms: Sequence[int]) -> None:
        """These can migrate: KubeVirt marks them, and the descheduler takes note of them."""
        numbers = np.asarray(vms, dtype=np.intp)
        sources = self.cluster.where[numbers]
        self._assumed.append((numbers, self._pods[numbers], sources, self.now))
        self.migrations.request_all(numbers, self.now, SYSTEM_MAINTENANCE)

    @property
    def inflight(self) -> InFlightCache:
        """The descheduler's cache. It learns of evictions when somebody looks at it.

        By then most pods are gone, of thousands that were evicted at one moment.
        """
        fleet, names = self.cluster.fleet, self.cluster.fleet.node_names
        for evicted, pods, nodes, at in self._assumed:
            there = self._pods[evicted] == pods
            vms, sources = evicted[there].tolist(), nodes[there].tolist()
            spaces = repeat(DEFAULT_NAMESPACE) if fleet.rules is None else map(fleet.namespace, vms)
            uids = list(map(fleet.vm_names.__getitem__, vms))
            self._inflight.assume_all(uids, map(names.__getitem__, sources), spaces, at)
        self._assumed.clear()
        return self._inflight

    def move(self, vm: int, target: int) -> None:
        """Migrate to a chosen node: what planners ask for and the descheduler cannot."""
        self.migrations.request(vm, self.now, SYSTEM_MAINTENANCE, target)

    def drain(self, node: int) -> None:
        """Cordon a node and evict every VM on it, and those that still land there."""
        self.cluster.set_cordoned(node, True)
        self._draining.add(node)
        for vm in self.cluster.vms_on(node).tolist():
            self._evict_from_drained(vm, node)

    def undrain(self, node: int) -> None:
        """Let VMs come back; those that are leaving go all the same."""
        self.cluster.set_cordoned(node, False)
        self._draining.discard(node)
        self._starts.place(self.now)

    def _evict_from_drained(self, vm: int, node: int) -> None:
        match self.cluster.fleet.eviction_effects[vm]:
            case EvictionEffect.RESTARTS:
                self._restart(vm)
            case EvictionEffect.MIGRATES:
                self.migrations.request(vm, self.now, MigrationPriority.SYSTEM_CRITICAL)
                # KubeVirt annotates the pod, and the descheduler counts what it sees there.
                name = self.cluster.fleet.node_names[node]
                namespace = self.cluster.fleet.namespace(vm)
                pod = PodState(self.cluster.fleet.vm_names[vm], name, namespace, True, True)
                self.inflight.observe(PodEvent("updated", pod))

    # --- what happens to it ---

    def arrive(self, vm: int) -> None:
        """A VM was created; its demand counts from now on, served or not."""
        self._starts.arrive(vm, self.now)

    def depart(self, vm: int) -> None:
        """A VM was deleted, wherever it is."""
        self.migrations.cancel(vm, self.now)
        self._starts.forget(vm)
        node = self._stranded.pop(vm, int(self.cluster.where[vm]))
        if node != self.cluster.nowhere:
            self.cluster.release(vm, node)
        self.cluster.put(vm, self.cluster.nowhere)
        self._pods_gone([vm])
        self._starts.place(self.now)

    def apply(self, what: NodeEvent, node: int) -> None:
        """Do to a node what the scenario says."""
        match what:
            case "fail":
                self.lose(node)
            case "give-up":
                self.give_up_on(node)
            case "recover":
                self.recover(node)
            case "drain":
                self.drain(node)
            case "undrain":
                self.undrain(node)

    def lose(self, node: int) -> None:
        """A node stops answering: nothing on it runs, nothing moves from or to it."""
        self.cluster.set_lost(node, True)
        self._lost_at[node] = self.now
        marks = self.migrations.marks
        for vm in marks.in_order().tolist():
            if marks.target[vm] == node:
                self.migrations.abort(vm, self.now)
            if marks.source[vm] == node and self.cluster.where[vm] == node:
                self.migrations.cancel(vm, self.now)
        for vm in self.cluster.vms_on(node).tolist():
            self.cluster.put(vm, self.cluster.nowhere)
            self._stranded[vm] = node
        for vm in self._starts.take_booting_on(node):
            self._stranded[vm] = node

    def give_up_on(self, node: int) -> None:
        """The pods of a lost node are deleted after `LOST_NODE_S`: its VMs start elsewhere."""
        if not self.cluster.lost[node] or self.now < self._lost_at[node] + LOST_NODE_S:
            return  # it has been back in between
        for vm in self._unstrand(node):
            self.cluster.release(vm, node)
            self._pods_gone([vm])
            self._starts.restart(vm, self.now)

    def recover(self, node: int) -> None:
        """A lost node is back, with the VMs whose pods are still there."""
        self.cluster.set_lost(node, False)
        for vm in self._unstrand(node):
            self.cluster.put(vm, node)
        self._starts.place(self.now)

    def _unstrand(self, node: int) -> list[int]:
        stuck = [vm for vm, where in self._stranded.items() if where == node]
        for vm in stuck:
            del self._stranded[vm]
        return stuck

    # --- time ---

    def next_s(self) -> float:
        """When the placement changes next by itself."""
        return min(self._starts.next_s(), self.migrations.next_s(self.now))

    def advance(self, until: float) -> None:
        """Change by change up to the last one before `until`; `now` is then that moment."""
        while (moment := self.next_s()) < until:
            if moment > self.now:
                self._change(self._number, self.now, moment)
                self.now = moment
            self._settle()

    def catch_up(self) -> None:
        """What is due at this very moment."""
        if self.next_s() <= self.now:
            self._settle()

    def placement(self) -> dict[str, str]:
        """The node of each VM that runs."""
        fleet, where = self.cluster.fleet, self.cluster.where
        names: Iterable[str] = fleet.vm_names
        if not (placed := where != self.cluster.nowhere).all():
            names, where = compress(names, placed), where[placed]
        return dict(zip(names, map(fleet.node_names.__getitem__, where.tolist()), strict=True))

    def sweep(self) -> None:
        """The descheduler's look for evictions that it only assumes to be under way."""
        while self._next_sweep_s <= self.now:
            self.inflight.sweep(self._next_sweep_s)
            self._next_sweep_s += SWEEP_PERIOD_S

    def begin(self) -> None:
        """Start what was asked for at this moment."""
        if self.migrations.marks:
            self.migrations.start(self.now)

    def _settle(self) -> None:
        """Everything that is due now, and what becomes possible through it."""
        for vm, node in self._starts.take_booted(self.now):
            self._land(vm, node)
        if self.migrations.marks:
            self.migrations.settle(self.now)
        self._starts.place(self.now)

    def _arrived(self, vms: Sequence[int], begun_s: Sequence[float]) -> None:
        if self._keeps_history:
            for vm, begun in zip(vms, begun_s, strict=True):
                self.history[vm].append((begun, self.now))
        if self._draining:
            for vm in vms:
                self._land(vm, int(self.cluster.where[vm]))

    def _land(self, vm: int, node: int) -> None:
        """A VM runs on a node from now on, be it for a moment only."""
        self.cluster.put(vm, node)
        if node in self._draining:
            self._evict_from_drained(vm, node)

    def _pods_gone(self, vms: Sequence[int]) -> None:
        if self._inflight.entries:
            self._inflight.forget(map(self.cluster.fleet.vm_names.__getitem__, vms))
        self._pods[vms] += 1
        self._started[vms] = self.now

    def _restart(self, vm: int) -> None:
        self.cluster.release(vm, int(self.cluster.where[vm]))
        self.cluster.put(vm, self.cluster.nowhere)
        self._pods_gone([vm])
        self._starts.restart(vm, self.now)
