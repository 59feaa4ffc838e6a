"""Descheduling in a batch: what all replicas see, what each one's cycle decides and does.

Deciding goes through two strategies: `IdleCycles` answers for replicas that certainly have
nothing to do, the `Descheduler` for all others. Acting is a list of strategies that the spec
chooses: evictions as decided or a planner's moves, and soft taints if the placement wants them.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trimtab.policy.file.settings import Policy
from trimtab.scores import Score
from trimtab.sim.descheduling.descheduler import CycleDecision, Descheduler, limits_of
from trimtab.sim.descheduling.idle_cycles import IdleCycles, span_of
from trimtab.sim.descheduling.planned import PlannedMoves, tolerance
from trimtab.sim.descheduling.replica_view import SharedTraits
from trimtab.sim.descheduling.sensor import Pieces, Sensor
from trimtab.sim.fleet import Fleet, Floats
from trimtab.sim.loads import Loads
from trimtab.sim.measures.pieces import Sums
from trimtab.sim.measures.recorder import CourseRecorder
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.replica import Replica
from trimtab.sim.spec import RunSpec, VictimChoice
from trimtab.virt.soft_taints import NodeClass, keys_of

Action = Callable[[int, CycleDecision, Floats], None]
"""Does something to one replica about its decision; the scores are that replica's (nodes,)."""
_CLASSES: tuple[NodeClass, ...] = ("under", "appropriate", "over")
"""By number: -1, 0, 1."""


class Control:
    """Looks, decides and acts, for every replica of a batch."""

    def __init__(
        self,
        spec: RunSpec,
        score: Score,
        policy: Policy,
        fleet: Fleet,
        loads: Loads,
        replicas: Sequence[Replica],
    ) -> None:
        self._spec, self._fleet, self._loads, self._replicas = spec, fleet, loads, replicas
        self._policy = policy
        shared = SharedTraits(fleet)
        self._columns = 6 if score.reads_migrations else 4
        seeds = [replica.seed for replica in replicas]
        self._sensor = Sensor(score, fleet.node_names, spec.timing, seeds)
        self._idle_cycles = IdleCycles(policy, shared.nodes, replicas)
        self._deschedulers = [
            Descheduler(spec, policy, fleet, shared, replica) for replica in replicas
        ]
        choices: dict[VictimChoice, Action] = {"stock": self._evict, "planned": self._rebalance}
        self._actions: list[Action] = [
            self._count_cycles_over,
            choices.get(spec.victims, self._move_by_baseline),
        ]
        if spec.placement == "soft-taints":
            self._actions.append(self._taint)
        self.errors: list[list[str]] = [[] for _ in replicas]

    @cached_property
    def _planned(self) -> PlannedMoves:
        """Made when a planner is asked for: a million VMs' requests are no small array."""
        return PlannedMoves(self._fleet, limits_of(self._policy), span_of(self._policy))

    def start(self, sums: Sums) -> None:
        """The cluster has been as it is now for a while; nothing moves."""
        inputs = sums.inputs()
        still = np.zeros((len(inputs), self._columns - inputs.shape[1], inputs.shape[2]))
        self._sensor.start_with(np.concatenate([inputs, still], axis=1))

    def remember(self, pieces: Pieces) -> None:
        self._sensor.remember(pieces)

    def look_again(self) -> None:
        """Nodes were lost, came back, were cordoned or uncordoned."""
        for descheduler in self._deschedulers:
            descheduler.look_again()

    def cycle(self, cycle: int, now: float, recorder: CourseRecorder) -> None:
        """One descheduling cycle in every replica: look, decide, write down, act."""
        scores = self._sensor.scores(now, recorder.ready[cycle])
        recorder.score[:, cycle] = scores
        for r in range(len(self._replicas)):
            decision = self._decide(r, cycle, scores)
            recorder.classes[r, cycle] = decision.classes
            recorder.thresholds[r, cycle] = decision.low, decision.high
            if decision.error:
                self.errors[r].append(f"cycle {cycle} at {now:g} s: {decision.error}")
            for act in self._actions:
                act(r, decision, scores[r])

    def _decide(self, r: int, cycle: int, scores: Floats) -> CycleDecision:
        """What the first strategy says that has an answer; the descheduler always has one."""
        self._replicas[r].sweep()
        decision = self._idle_cycles.decide(r, cycle, scores)
        if decision is None:
            decision = self._deschedulers[r].decide(cycle, scores[r])
        self._idle_cycles.learn(r, decision)
        return decision

    # --- actions, in their order ---

    def _count_cycles_over(self, r: int, decision: CycleDecision, _: Floats) -> None:
        self._deschedulers[r].restrained.learn(decision.classes)

    def _evict(self, r: int, decision: CycleDecision, _: Floats) -> None:
        self._replicas[r].evict_all(decision.evicted)

    def _move_by_baseline(self, r: int, decision: CycleDecision, scores: Floats) -> None:
        """What a simple planner would do about the same over-utilised nodes."""
        replica, restrained = self._replicas[r], self._deschedulers[r].restrained
        sources = (decision.classes > 0) & restrained.ripe
        if not sources.any():
            return
        ready = ~replica.cluster.lost
        tolerated = np.zeros(self._fleet.nodes)
        seen = self._sensor.seen[r][:, ready]
        tolerated[ready] = tolerance(seen, scores[ready], decision.high)
        loads, victims = self._loads.measured, self._spec.victims
        moves = self._planned.baseline_moves(
            victims, replica, loads, restrained, sources, tolerated
        )
        for vm, target in moves:
            replica.move(vm, target)

    def _rebalance(self, r: int, _: CycleDecision, __: Floats) -> None:
        """What the balancer would do, whatever the score says."""
        replica, restrained = self._replicas[r], self._deschedulers[r].restrained
        for vm, target in self._planned.moves(replica, self._loads.measured, restrained):
            replica.move(vm, target)

    def _taint(self, r: int, decision: CycleDecision, _: Floats) -> None:
        if taint(self._replicas[r].cluster, decision.classes):
            self._deschedulers[r].look_again()


def taint(cluster: ReplicaPlacement, classes: NDArray[np.int8]) -> bool:
    """Give every node as many soft taints as its class gets; says whether any node changed.

    The soft tainter runs right after each descheduling cycle on the same classes. So the
    descheduler meets taints that are one interval old, and since it counts soft taints like
    hard ones, a node that was not under-utilised a minute ago is no destination to it.
    """
    some_under = bool((classes < 0).any())
    counts = np.array([len(keys_of(kind, some_under=some_under)) for kind in _CLASSES])
    wanted = cluster.fleet.soft_taints + counts[classes.astype(np.int64) + 1]
    if np.array_equal(wanted, cluster.soft_taints):
        return False
    cluster.soft_taints = wanted
    return True
