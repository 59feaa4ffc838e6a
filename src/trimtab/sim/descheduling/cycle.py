"""Descheduling in a batch: the scores all replicas see, and each one's decision and its doing."""

from collections.abc import Sequence

import numpy as np

from trimtab.policy import Policy
from trimtab.scores import Score
from trimtab.sim.descheduling.descheduler import Descheduler, Verdict, limits_of
from trimtab.sim.descheduling.idle_cycles import Glance, glance, span_of
from trimtab.sim.descheduling.planner import Planner, Sight, tolerance
from trimtab.sim.descheduling.replica_view import Wardrobe
from trimtab.sim.descheduling.sensor import Pieces, Sensor
from trimtab.sim.descheduling.soft_taints import taint
from trimtab.sim.fleet import Fleet, Floats
from trimtab.sim.loads import Loads
from trimtab.sim.measures.pieces import Sums
from trimtab.sim.measures.recorder import Recorder
from trimtab.sim.replica import Replica
from trimtab.sim.spec import RunSpec


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
        self._limits = limits_of(policy)
        wardrobe = Wardrobe(fleet)
        every = all(policy.node_selector.matches(node.labels) for node in wardrobe.nodes)
        self._span = span_of(policy) if every else None
        self._columns = 6 if score.reads_migrations else 4
        seeds = [replica.seed for replica in replicas]
        self._sensor = Sensor(score, fleet.node_names, spec.timing, seeds)
        self._deschedulers = [
            Descheduler(spec, policy, fleet, wardrobe, replica) for replica in replicas
        ]
        self._calm = [False for _ in replicas]
        """Nothing was over-utilised in the last cycle, so a glance may do in the next."""
        self.errors: list[list[str]] = [[] for _ in replicas]

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

    def cycle(self, cycle: int, now: float, recorder: Recorder) -> None:
        """One descheduling cycle in every replica."""
        scores = self._sensor.scores(now, recorder.ready[cycle])
        recorder.score[:, cycle] = scores
        seen = self._glance(scores) if any(self._calm) else None
        for r, descheduler in enumerate(self._deschedulers):
            self._replicas[r].sweep()
            if seen is not None and self._calm[r] and seen.idle[r]:
                verdict = Verdict(seen.classes[r], float(seen.low[r]), float(seen.high[r]))
            else:
                verdict = descheduler.decide(cycle, scores[r])
            self._calm[r] = not (verdict.classes > 0).any()
            recorder.classes[r, cycle] = verdict.classes
            recorder.thresholds[r, cycle] = verdict.low, verdict.high
            if verdict.error:
                self.errors[r].append(f"cycle {cycle} at {now:g} s: {verdict.error}")
            self._act(r, verdict, scores[r])

    def _glance(self, scores: Floats) -> Glance | None:
        """One look at all replicas, where the policy's kind and the scores allow it."""
        cluster = self._replicas[0].cluster
        if self._span is None or cluster.lost.any() or scores.shape[1] < 2:
            return None
        if not ((scores >= 0.0) & (scores <= 1.0)).all():
            return None
        return glance(scores, self._span, ~cluster.cordoned)

    def _act(self, r: int, verdict: Verdict, scores: Floats) -> None:
        replica, descheduler = self._replicas[r], self._deschedulers[r]
        descheduler.restrained.learn(verdict.classes)
        if self._spec.victims == "stock":
            for vm in verdict.evicted:
                replica.evict(vm)
        else:
            for vm, target in self._plan(r, verdict, scores):
                replica.move(vm, target)
        if self._spec.placement == "soft-taints" and taint(replica.cluster, verdict.classes):
            descheduler.look_again()

    def _plan(self, r: int, verdict: Verdict, scores: Floats) -> list[tuple[int, int]]:
        """What a planner would do about the same over-utilised nodes."""
        replica, restrained = self._replicas[r], self._deschedulers[r].restrained
        sources = (verdict.classes > 0) & restrained.ripe
        if not sources.any():
            return []
        ready = ~replica.cluster.lost
        tolerated = np.zeros(self._fleet.nodes)
        seen = self._sensor.seen[r][:, ready]
        tolerated[ready] = tolerance(seen, scores[ready], verdict.high)
        sight = Sight(sources, tolerated, *self._loads.measured, self._limits)
        planner = Planner(replica.cluster, replica.migrations.marks, sight, restrained)
        best_fit = self._spec.victims == "best-fit"
        return (planner.best_fit if best_fit else planner.steepest_pair)(replica.now)
