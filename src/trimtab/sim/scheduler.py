"""The kube-scheduler for virt-launcher pods: which nodes fit, which one wins.

Filters and scores are those of Kubernetes 1.36 with its default plugins and weights; for
these pods only three of the scores differ between nodes. All arithmetic is in integers
as there, so ties are as frequent as there, and broken at random.
"""

import numpy as np

from trimtab.sim.cluster import Cluster, Places
from trimtab.sim.fleet import Floats, Integers
from trimtab.sim.spec import Placement

TAINT_WEIGHT = 3
# In a large cluster only a part of the nodes is looked at, at least this many.
FEWEST_NODES = 100
FEWEST_PERCENT = 5
# What a pod without requests counts for in LeastAllocated and MostAllocated.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024**2


def nodes_to_find(nodes: int) -> int:
    """After how many fitting nodes the scheduler stops looking."""
    if nodes < FEWEST_NODES:
        return nodes
    percent = max(50 - nodes // 125, FEWEST_PERCENT)
    return max(nodes * percent // 100, FEWEST_NODES)


class Scheduler:
    """Places one pod after the other; remembers where in the list of nodes it stopped."""

    def __init__(self, cluster: Cluster, placement: Placement, ties: np.random.Generator) -> None:
        self._cluster, self._placement, self._ties = cluster, placement, ties
        self._start = 0
        self._wanted = nodes_to_find(cluster.fleet.nodes)

    def go_on_with(self, placement: Placement, ties: np.random.Generator) -> None:
        """The start is over: place by these rules from now on, with ties from another stream."""
        self._placement, self._ties = placement, ties

    def choose(self, vm: int, avoid: int | None = None) -> int | None:
        """The node for a new pod of this VM; None when it fits nowhere."""
        nodes = self._fitting(vm, avoid)
        if not len(nodes):
            return None
        scores = self.scores(vm, nodes)
        best = nodes[scores == scores.max()]
        return int(best[self._ties.integers(len(best))] if len(best) > 1 else best[0])

    def fits(self, vm: int, node: int) -> bool:
        """Whether requests and the number of pods leave room, whatever taints and cordons say."""
        return bool(self._has_room(vm, np.array([node]))[0])

    def scores(self, vm: int, nodes: Places) -> Integers | Floats:
        """How much the scheduler likes each of the nodes."""
        taints = TAINT_WEIGHT * _untainted(self._cluster.soft_taints[nodes])
        if self._placement == "least-loaded":
            return taints - 100.0 * self._use(vm, nodes)
        free = 1 if self._placement != "binpack" else -1
        return taints + self._allocation(vm, nodes, free) + self._balance(vm, nodes)

    def _fitting(self, vm: int, avoid: int | None) -> Places:
        """Fitting nodes in order, from where the last search stopped, until there are enough."""
        nodes, start = self._cluster.fleet.nodes, self._start
        looked_at = nodes if self._wanted == nodes else min(nodes, 2 * self._wanted)
        while True:
            order = (np.arange(start, start + looked_at)) % nodes
            mask = self._cluster.open[order] & self._has_room(vm, order)
            if avoid is not None:
                mask &= order != avoid
            found = np.flatnonzero(mask)
            if len(found) >= self._wanted or looked_at == nodes:
                break
            looked_at = min(nodes, 2 * looked_at)
        taken = found[: self._wanted]
        processed = int(taken[-1]) + 1 if len(found) >= self._wanted else nodes
        self._start = (start + processed) % nodes
        return np.asarray(order[taken])

    def _has_room(self, vm: int, nodes: Places) -> Places:
        cluster, fleet = self._cluster, self._cluster.fleet
        cpu = cluster.requested_cpu[nodes] + fleet.requested_cpu[vm]
        memory = cluster.requested_memory[nodes] + fleet.requested_memory[vm]
        room = (cpu <= fleet.allocatable_cpu[nodes]) & (memory <= fleet.allocatable_memory[nodes])
        return np.asarray(room & (cluster.pods[nodes] < fleet.allocatable_pods[nodes]))

    def _allocation(self, vm: int, nodes: Places, free: int) -> Integers:
        """LeastAllocated (free = 1) or MostAllocated (-1): the mean over CPU and memory, 0–100."""
        cluster, fleet = self._cluster, self._cluster.fleet
        total = np.zeros(len(nodes), dtype=np.int64)
        for requested, own, least, capacity in (
            (cluster.requested_cpu, fleet.requested_cpu, DEFAULT_MILLI_CPU, fleet.allocatable_cpu),
            (
                cluster.requested_memory,
                fleet.requested_memory,
                DEFAULT_MEMORY,
                fleet.allocatable_memory,
            ),
        ):
            whole = capacity[nodes]
            used = np.minimum(requested[nodes] + (int(own[vm]) or least), whole)
            total += ((whole - used) if free > 0 else used) * 100 // whole
        return total // 2

    def _balance(self, vm: int, nodes: Places) -> Integers:
        """BalancedAllocation: whether the pod brings CPU and memory closer, 50–100."""
        cluster, fleet = self._cluster, self._cluster.fleet
        own_cpu, own_memory = fleet.requested_cpu[vm], fleet.requested_memory[vm]
        if own_cpu == 0 and own_memory == 0:
            return np.zeros(len(nodes), dtype=np.int64)
        cpu, memory = cluster.requested_cpu[nodes], cluster.requested_memory[nodes]
        whole_cpu, whole_memory = fleet.allocatable_cpu[nodes], fleet.allocatable_memory[nodes]
        after = _evenness((cpu + own_cpu) / whole_cpu, (memory + own_memory) / whole_memory)
        before = _evenness(cpu / whole_cpu, memory / whole_memory)
        return 50 + (50 + after - before) // 2

    def _use(self, vm: int, nodes: Places) -> Floats:
        """Real use with the VM and those on their way there, mean of CPU and memory."""
        cluster, fleet, loads = self._cluster, self._cluster.fleet, self._cluster.loads
        cpu = cluster.cpu[:-1].copy()
        for moving, target in cluster.landing.items():
            cpu[target] += loads.cpu[moving]
        cpu_share = (cpu[nodes] + loads.cpu[vm]) / fleet.cpu_capacity[nodes]
        memory_share = (cluster.memory[nodes] + loads.memory[vm]) / fleet.memory_capacity[nodes]
        return np.asarray((cpu_share + memory_share) / 2)


def _evenness(cpu: Floats, memory: Floats) -> Integers:
    """100 minus half the distance between the two shares, in whole points."""
    distance = np.abs(np.minimum(cpu, 1.0) - np.minimum(memory, 1.0)) / 2
    return np.asarray((1 - distance) * 100).astype(np.int64)


def _untainted(taints: Integers) -> Integers:
    """100 for nodes without soft taints, down to 0 for those with the most."""
    most = int(taints.max())
    if most == 0:
        return np.full(len(taints), 100, dtype=np.int64)
    return np.asarray(100 - 100 * taints // most)
