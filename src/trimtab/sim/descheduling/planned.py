"""`--victims planned`: the balancer's own planner instead of the descheduler's choice.

The same function as `trimtab balance plan`: it finds the nodes above the band by itself,
counts what is under way at its target, and keeps the policy's limits and the cooldown.
"""

from collections import Counter
from math import isnan

import numpy as np
from msgspec.structs import replace

from trimtab.balance import Budget, Exclusion, Goals, MigrationCost, Problem, make_plan, problem_of
from trimtab.balance.bounds import ceilings
from trimtab.sim.descheduling.restraint import Restrained
from trimtab.sim.fleet import BYTES_PER_UNIT, Fleet, Floats
from trimtab.sim.measures.bounds import BAND
from trimtab.sim.migration.marks import intended
from trimtab.sim.replica import Replica
from trimtab.virt.eviction import EvictionEffect


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
        self._capacity = np.stack([fleet.cpu_capacity, fleet.memory_capacity])
        self._request = np.stack(
            [fleet.requested_cpu, fleet.requested_memory, np.ones(fleet.vms)]
        ).astype(np.float64)
        self._allocatable = np.stack(
            [fleet.allocatable_cpu, fleet.allocatable_memory, fleet.allocatable_pods]
        ).astype(np.float64)
        self._cost = MigrationCost(fleet.scenario.migration.bandwidth, "scenario")
        fixed = np.flatnonzero(fleet.on_eviction != EvictionEffect.MIGRATES)
        reason = Exclusion("not-migratable", "it is not live-migratable")
        self._fixed = dict.fromkeys(fixed.tolist(), reason)

    def moves(
        self, replica: Replica, loads: tuple[Floats, Floats], restrained: Restrained
    ) -> list[tuple[int, int]]:
        """VMs and targets of this cycle, in their order."""
        problem = self._problem(replica, loads)
        if not (problem.shares() > ceilings(problem, self._goals.band)).any():
            return []
        total, per_node = self._limits
        budget = Budget(
            moves=None if total is None else max(total - len(replica.migrations.marks), 0),
            out_of_node=per_node,
            alternatives=0,
        )
        problem = self._at_rest(problem, replica, restrained)
        sources = restrained.ripe if restrained.restraint.consecutive > 1 else None
        plan = make_plan(
            problem, self._goals, budget, self._cost, with_bound=False, sources=sources
        )
        return [(move.vm, move.target) for move in plan.moves]

    def _problem(self, replica: Replica, loads: tuple[Floats, Floats]) -> Problem:
        fleet, cluster = self._fleet, replica.cluster
        where = np.where(cluster.where == cluster.nowhere, -1, cluster.where)
        moving = dict(self._fixed)
        leaving: Counter[int] = Counter()
        for mark in replica.migrations.marks.values():
            target = intended(mark)
            where[mark.vm] = -1 if target is None else target
            moving[mark.vm] = Exclusion("moving", "it is on its way already")
            leaving[mark.source] += 1
        return problem_of(
            nodes=fleet.node_names,
            vms=fleet.vm_names,
            capacity=self._capacity,
            where=where,
            load=np.stack(loads),
            open_nodes=cluster.open & ~cluster.lost,
            resources=("cpu", "memory", "pods"),
            allocatable=self._allocatable,
            request=self._request,
            resident=loads[1] * BYTES_PER_UNIT,
            dirty_rate=fleet.dirty_rate,
            leaving=np.array([leaving[node] for node in range(fleet.nodes)], dtype=np.intp),
            excluded=moving,
        )

    def _at_rest(self, problem: Problem, replica: Replica, restrained: Restrained) -> Problem:
        """The problem without VMs that moved lately."""
        resting = {
            vm: Exclusion("cooldown", "it moved lately and rests")
            for vm in replica.history
            if restrained.spares_vm(vm, replica.now)
        }
        return replace(problem, excluded={**problem.excluded, **resting}) if resting else problem
