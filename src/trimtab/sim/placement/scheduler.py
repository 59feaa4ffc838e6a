"""The kube-scheduler for virt-launcher pods: which nodes fit, which one wins.

Filters and scores are those of Kubernetes 1.36 with its default plugins and weights; for
these pods only three of the scores differ between nodes. All arithmetic is in integers
as there, so ties are as frequent as there, and broken at random.
"""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from trimtab.policy.choices import below
from trimtab.sim.fleet import Floats, Integers, Numbers
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.score_cache import NodeScores
from trimtab.sim.spec import Placement

Asks = tuple[int, int, int]
"""CPU, memory and kind of rules: pods that have them in common fit the same nodes."""
TAINT_WEIGHT = 3
# In a large cluster only a part of the nodes is looked at, at least this many.
FEWEST_NODES = 100
FEWEST_PERCENT = 5
# How many points of nodes are remembered, over all sizes of pods.
MOST_POINTS = 1_000_000
# From so many on, counting to one of equal nodes is quicker in an array.
MANY_TIES = 4
# From so many pods alike on a burst pays.
MANY_PODS = 32
# After so many placements of many pods at one moment, more of them pay for loading Numba.
MANY_PLACED = 100_000


def nodes_to_find(nodes: int) -> int:
    """After how many fitting nodes the scheduler stops looking."""
    if nodes < FEWEST_NODES:
        return nodes
    percent = max(50 - nodes // 125, FEWEST_PERCENT)
    return max(nodes * percent // 100, FEWEST_NODES)


class Scheduler:
    """Numbers one pod after the other; remembers where in the list of nodes it stopped."""

    def __init__(self, cluster: ReplicaPlacement, placement: Placement, ties: Random) -> None:
        self._cluster, self._placement = cluster, placement
        self._ties, self._draw = ties, below(ties)
        self._node_scores: dict[Asks, NodeScores] = {}
        self._start, self._nodes, self._placed = 0, cluster.fleet.nodes, 0
        self._wanted = nodes_to_find(self._nodes)
        self._rules, self._apart = cluster.fleet.rules, cluster.apart
        self._taints_known: Integers | None = None
        self._tainted = False

    def go_on_with(self, placement: Placement, ties: Random) -> None:
        """The start is over: place by these rules from now on, with ties from another stream."""
        self._placement, self._ties, self._draw = placement, ties, below(ties)
        self._node_scores.clear()

    def choose(self, vm: int, avoid: int | None = None) -> int | None:
        """The node for a new pod of this VM; None when it fits nowhere."""
        cached = self._scores_for(vm)
        if self._apart is not None and self._apart.touches(vm):
            return self._choose_apart(vm, cached, self._apart.banned(vm), avoid)
        if avoid is None:
            return self._best(vm, cached)
        worth, again = cached.worth, avoid + self._nodes
        kept, worth[avoid], worth[again] = worth[avoid], 0, 0
        chosen = self._best(vm, cached)
        worth[avoid] = worth[again] = kept
        return chosen

    @property
    def reads_loads(self) -> bool:
        """Whether what VMs use decides, not only what they request."""
        return self._placement == "least-loaded"

    def place_all(self, vms: Numbers, sources: Numbers) -> Numbers:
        """Choose a node for each VM but its source and reserve it before the next one's turn.

        -1 for those that fit nowhere.
        """
        self._placed += len(vms)
        if self._placed >= MANY_PLACED and self._apart is None and not self._any_taints():
            asked, kinds = self._asked_by(vms)
            # Here and not above: importing Numba takes longer than most simulations.
            from trimtab.sim.placement import burst

            if burst.COMPILED and len(vms) >= MANY_PODS * len(asked):
                scores = list(map(self._known_scores, asked))
                return self._place_burst(vms, sources, kinds, scores, burst.place_burst)
        chosen = map(self._place, vms.tolist(), sources.tolist())
        return np.array([-1 if node is None else node for node in chosen], dtype=np.intp)

    def _place_burst(
        self,
        vms: Numbers,
        sources: Numbers,
        kinds: Numbers,
        scores: Sequence[NodeScores],
        place: Callable[..., tuple[Numbers, int]],
    ) -> Numbers:
        """The same by `burst.place_burst`; scores: one for each kind of pod."""
        for each in scores:
            each.follow()
        nodes, self._start = place(scores, kinds, sources, self._ties, self._start, self._wanted)
        found = nodes >= 0
        self._cluster.reserve_all(vms[found], nodes[found])
        return nodes

    def _place(self, vm: int, avoid: int) -> int | None:
        node = self.choose(vm, avoid)
        if node is not None:
            self._cluster.reserve(vm, node)
        return node

    def _choose_apart(
        self, vm: int, cached: NodeScores, banned: Numbers, avoid: int | None
    ) -> int | None:
        """The same for a VM that keeps apart from others, or others from it."""
        if avoid is not None:
            banned = np.append(banned, avoid)
        places = np.concatenate([banned, banned + self._nodes])
        kept = cached.levels[places]
        cached.levels[places] = 0
        chosen = self._best(vm, cached)
        cached.levels[places] = kept
        return chosen

    def takes(self, vm: int, node: int) -> bool:
        """Whether a new pod of this VM may be bound to this very node now."""
        if not self._cluster.open_to(self._kind(vm))[node] or not self.fits(vm, node):
            return False
        apart = self._apart
        return apart is None or not apart.touches(vm) or node not in apart.banned(vm)

    def _kind(self, vm: int) -> int:
        return 0 if self._rules is None else self._rules.kind.item(vm)

    def fits(self, vm: int, node: int) -> bool:
        """Whether requests and the number of pods leave room, whatever taints and cordons say."""
        return self._scores_for(vm).has_room(node)

    def scores(self, vm: int) -> Integers | Floats:
        """How much the scheduler likes each node; of use where the VM fits."""
        return self._scores_of(vm, self._scores_for(vm), 0, self._nodes, np.arange(self._nodes))

    def _best(self, vm: int, cached: NodeScores) -> int | None:
        """Of the nodes that are looked at one with the highest score."""
        first, seen = self._search(cached.worth)
        if self._any_taints() or self._placement == "least-loaded":
            found = cached.levels[first : first + seen].nonzero()[0]
            if not len(found):
                return None
            scores = self._scores_of(vm, cached, first, seen, found)
            best = (scores == np.maximum.reduce(scores)).nonzero()[0]
            chosen = best[self._draw(len(best))] if len(best) > 1 else best[0]
            return (first + found.item(chosen)) % self._nodes
        most, count = cached.best(first, first + seen)
        if not most:
            return None
        chosen = self._draw(count) if count > 1 else 0
        return _find(cached, most, chosen, first, first + seen) % self._nodes

    def _scores_of(
        self, vm: int, cached: NodeScores, first: int, seen: int, found: Numbers
    ) -> Integers | Floats:
        """Of the nodes `found`, as a search saw them that went over `seen` nodes from `first`."""
        nodes = (first + found) % self._nodes
        taints = _untainted(self._cluster.soft_taints_to(self._kind(vm))[nodes])
        if self._placement == "least-loaded":
            return taints - 100.0 * self._use(vm, nodes)
        points = cached.levels[first : first + seen][found].astype(np.int64) - 1
        return np.asarray(taints + points)

    def _any_taints(self) -> bool:
        """Whether any node has a soft taint; looked at again when they change."""
        if self._taints_known is not self._cluster.soft_taints:
            self._taints_known = self._cluster.soft_taints
            self._tainted = bool(self._taints_known.any())
        return self._tainted

    def _scores_for(self, vm: int) -> NodeScores:
        """For pods like this VM's, as of now."""
        fleet = self._cluster.fleet
        cpu, memory = fleet.requested_cpu.item(vm), fleet.requested_memory.item(vm)
        known = self._known_scores((cpu, memory, self._kind(vm)))
        known.follow()
        return known

    def _asked_by(self, vms: Numbers) -> tuple[list[Asks], Numbers]:
        """What their pods ask for, each once, and the number of that for every VM."""
        fleet, rules = self._cluster.fleet, self._rules
        columns = [fleet.requested_cpu[vms], fleet.requested_memory[vms]]
        columns.append(np.zeros(len(vms), dtype=np.int64) if rules is None else rules.kind[vms])
        asked = np.stack(columns)
        if (asked == asked[:, :1]).all():
            asked, kinds = asked[:, :1], np.zeros(len(vms), dtype=np.intp)
        else:
            asked, kinds = np.unique(asked, axis=1, return_inverse=True)
        return [(cpu, memory, kind) for cpu, memory, kind in asked.T.tolist()], kinds

    def _known_scores(self, asks: Asks) -> NodeScores:
        """For pods that ask for so much; the oldest is forgotten when there are too many."""
        known = self._node_scores.get(asks)
        if known is None:
            if (len(self._node_scores) + 1) * self._nodes > MOST_POINTS and self._node_scores:
                del self._node_scores[next(iter(self._node_scores))]
            cpu, memory, kind = asks
            pack = self._placement == "binpack"
            known = NodeScores(self._cluster, cpu, memory, pack=pack, kind=kind)
            self._node_scores[asks] = known
        return known

    def _search(self, worth: bytearray) -> tuple[int, int]:
        """The first node and the number of nodes that are looked at, fitting or not.

        All nodes in a small cluster; in a large one from where the last one stopped, until enough
        nodes fit.
        """
        nodes, start, wanted = self._nodes, self._start, self._wanted
        if wanted == nodes:
            return 0, nodes
        end, missing = start, wanted
        while missing and end < start + nodes:
            looked, end = end, min(end + missing, start + nodes)
            missing += worth.count(0, looked, end) - (end - looked)
        self._start = end % nodes
        return start, end - start

    def _use(self, vm: int, nodes: Numbers) -> Floats:
        """Real use with the VM and those on their way there, mean of CPU and memory."""
        cluster, fleet, loads = self._cluster, self._cluster.fleet, self._cluster.loads
        cpu, memory = cluster.cpu[:-1].copy(), cluster.memory[:-1]
        for moving, target in cluster.landing.items():
            cpu[target] += loads.cpu[moving]
        cpu_share = (cpu[nodes] + loads.cpu[vm]) / fleet.cpu_capacity[nodes]
        memory_share = (memory[nodes] + loads.memory[vm]) / fleet.memory_capacity[nodes]
        return np.asarray((cpu_share + memory_share) / 2)


def _untainted(taints: Integers) -> Integers | int:
    """TaintToleration: 300 for nodes without soft taints, down to 0 for those with the most."""
    most = int(np.maximum.reduce(taints))
    if most == 0:
        return TAINT_WEIGHT * 100
    return np.asarray(TAINT_WEIGHT * (100 - 100 * taints // most))


def _find(cached: NodeScores, worth: int, number: int, first: int, last: int) -> int:
    """Where, from `first` to `last`, the nodes are worth so much: of these places, by number."""
    if number >= MANY_TIES:
        return first + int((cached.levels[first:last] == worth).nonzero()[0].item(number))
    place = first - 1
    for _ in range(number + 1):
        place = cached.worth.find(worth, place + 1, last)
    return place
