"""`--victims planned`, `best-fit`, `steepest-pair`: planners instead of the descheduler's choice.

All three are functions of the room `balance`. `planned` is what `trimtab balance plan` and
the balancer do: it finds the nodes above the band by itself, counts what is under way at
its target, and keeps the policy's limits and the cooldown; the limit per node is on what
leaves it and on what comes to it, as the balancer's. The other two answer for the nodes that
the policy calls over-utilised.
"""

from collections import Counter
from itertools import repeat
from math import isnan

import numpy as np
from msgspec.structs import replace

from trimtab.balance.baselines import Moves, best_fit, steepest_pair
from trimtab.balance.bounds import ceilings
from trimtab.balance.goals import Budget, Goals
from trimtab.balance.planner import make_plan
from trimtab.balance.price import MigrationCost
from trimtab.balance.problem import Exclusion, Problem
from trimtab.sim.descheduling.restraint import Restrained
from trimtab.sim.fleet import Flags, Fleet, Floats
from trimtab.sim.measures.card import BAND
from trimtab.sim.migration.marks import NONE
from trimtab.sim.problem import problem_at
from trimtab.sim.replica import Replica
from trimtab.sim.spec import VictimChoice
from trimtab.virt.eviction import EvictionEffect

_BASELINES = {"best-fit": best_fit, "steepest-pair": steepest_pair}


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


class PlannedMoves:
    """What stays the same for one fleet is computed once."""

    def __init__(
        self,
        fleet: Fleet,
        limits: tuple[int | None, int | None],
        span: tuple[float, float] | None,
    ) -> None:
        """span: the policy's thresholds; the upper one is the band, 10 points if there is none."""
        self._fleet, self._limits = fleet, limits
        band = BAND if span is None or isnan(span[1]) else span[1] / 100
        self._goals = Goals(band=band, relieve=False, reserve=False)
        self._request = np.stack(
            [fleet.requested_cpu, fleet.requested_memory, np.ones(fleet.vms)]
        ).astype(np.float64)
        self._allocatable = np.stack(
            [fleet.allocatable_cpu, fleet.allocatable_memory, fleet.allocatable_pods]
        ).astype(np.float64)
        self._taken = None
        if (ground := fleet.ground) is not None:
            taken = [ground.requested_cpu, ground.requested_memory, ground.pods]
            self._taken = np.stack(taken).astype(np.float64)
        self._cost = MigrationCost(fleet.scenario.migration.bandwidth, "scenario")
        fixed = np.flatnonzero(fleet.on_eviction != EvictionEffect.MIGRATES)
        reason = Exclusion("not-migratable", "it is not live-migratable")
        self._fixed = dict.fromkeys(fixed.tolist(), reason)

    def moves(
        self, replica: Replica, loads: tuple[Floats, Floats], restrained: Restrained
    ) -> Moves:
        """VMs and targets of this cycle, in their order."""
        problem = self._problem(replica, loads)
        if not (problem.shares() > ceilings(problem, self._goals.band)).any():
            return []
        problem = self._at_rest(problem, replica, restrained)
        sources = restrained.ripe if restrained.restraint.consecutive > 1 else None
        budget = self._budget(replica)
        plan = make_plan(
            problem,
            self._goals,
            replace(budget, into_node=budget.out_of_node),
            self._cost,
            with_bound=False,
            sources=sources,
        )
        return [(move.vm, move.target) for move in plan.moves]

    def baseline_moves(
        self,
        victims: VictimChoice,
        replica: Replica,
        loads: tuple[Floats, Floats],
        restrained: Restrained,
        sources: Flags,
        tolerated: Floats,
    ) -> Moves:
        """What a simpler planner does about the sources (nodes,).

        tolerated: (nodes,) the deviation from the mean load at which each would be just level.
        """
        problem = self._at_rest(self._problem(replica, loads), replica, restrained)
        shares, there = problem.shares(), ~replica.cluster.lost
        ceiling = shares[:, there].mean(axis=1)[:, None] + tolerated
        least_gain = restrained.restraint.minimum_gain
        return _BASELINES[victims](problem, ceiling, sources, self._budget(replica), least_gain)

    def _budget(self, replica: Replica) -> Budget:
        total, per_node = self._limits
        return Budget(
            moves=None if total is None else max(total - len(replica.migrations.marks), 0),
            out_of_node=per_node,
            alternatives=0,
        )

    def _problem(self, replica: Replica, loads: tuple[Floats, Floats]) -> Problem:
        fleet, cluster = self._fleet, replica.cluster
        where = cluster.where.copy()
        excluded = dict(self._fixed)
        leaving, arriving = Counter[int](), Counter[int]()
        marks = replica.migrations.marks
        marked = marks.in_order()
        targets = marks.intended(marked)
        where[marked] = np.where(targets == NONE, cluster.nowhere, targets)
        moving = Exclusion("moving", "it is on its way already")
        excluded.update(zip(marked.tolist(), repeat(moving)))
        leaving.update(marks.source[marked].tolist())
        arriving.update(targets[targets != NONE].tolist())
        return problem_at(
            fleet,
            where,
            loads,
            open_nodes=cluster.open if fleet.rules is None else ~cluster.cordoned & ~cluster.lost,
            resources=("cpu", "memory", "pods"),
            allocatable=self._allocatable,
            taken=self._taken,
            request=self._request,
            leaving=np.array([leaving[node] for node in range(fleet.nodes)], dtype=np.intp),
            arriving=np.array([arriving[node] for node in range(fleet.nodes)], dtype=np.intp),
            excluded=excluded,
        )

    def _at_rest(self, problem: Problem, replica: Replica, restrained: Restrained) -> Problem:
        """The problem without VMs that moved lately."""
        resting = {
            vm: Exclusion("cooldown", "it moved lately and rests")
            for vm in replica.history
            if restrained.spares_vm(vm, replica.now)
        }
        return replace(problem, excluded={**problem.excluded, **resting}) if resting else problem
