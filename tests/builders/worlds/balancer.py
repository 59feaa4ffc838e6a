"""Situations of the balancer: small clusters, plans, moves and migrations, all at one moment."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from trimtab.balance.problem import Problem, problem_of
from trimtab.balancer.settings import BalancerSettings, Limits
from trimtab.balancer.situation import MigrationSeen, Situation
from trimtab.balancer.wire import (
    Mode,
    PlannedMove,
    RebalancePlan,
    RebalancePlanSpec,
    RebalancePlanStatus,
    plan_id,
    plan_name,
)
from trimtab.kube.resources import ObjectMeta

NOW = 100_000.0
MOMENT = datetime(2026, 11, 1, tzinfo=UTC)
ACT = BalancerSettings(mode="act", limits=Limits(hold=1, hold_of=1, per_hour=100.0))


def a_cluster(*loads: Sequence[float]) -> Problem:
    """Nodes of one core with VMs of these loads; `a0` is the first VM of the first node."""
    names = [f"n{at}" for at in range(len(loads))]
    vms = [
        (f"d/{chr(97 + n)}{i}", n, load)
        for n, all_ in enumerate(loads)
        for i, load in enumerate(all_)
    ]
    load = np.array([[each[2] for each in vms]] * 2)
    return problem_of(
        nodes=names,
        vms=[each[0] for each in vms],
        capacity=np.ones((2, len(names))),
        where=[each[1] for each in vms],
        load=load,
    )


HOT = a_cluster([0.2, 0.2, 0.2, 0.1], [0.1], [0.1])
LEVEL = a_cluster([0.2], [0.2], [0.2])


def a_situation(
    problem: Problem = HOT,
    settings: BalancerSettings = ACT,
    *,
    plans: tuple[RebalancePlan, ...] = (),
    times: dict[str, float] | None = None,
    **known: Any,
) -> Situation:
    values: dict[str, Any] = {"now": NOW, "moment": MOMENT, "to_do": (True,)}
    return Situation(
        problem=problem,
        settings=settings,
        plans=plans,
        times={plan.metadata.name: NOW - 1.0 for plan in plans} | (times or {}),
        ended={plan.metadata.name: NOW - 60.0 for plan in plans if plan.over},
        **values | known,
    )


def a_plan(spec: RebalancePlanSpec, status: RebalancePlanStatus | None = None) -> RebalancePlan:
    meta = ObjectMeta(name=plan_name(spec.plan_id))
    return RebalancePlan(metadata=meta, spec=spec, status=status or RebalancePlanStatus())


def proposed(*moves: PlannedMove, mode: Mode = "act", approved: bool = True) -> RebalancePlan:
    identity = plan_id(mode, MOMENT, moves)
    spec = RebalancePlanSpec(
        mode=mode,
        plan_id=identity,
        made_at=MOMENT,
        moves=moves,
        excess_before=40.0,
        approved_plan=identity if approved else "",
    )
    return a_plan(spec)


def a_move(vm: str = "d/a0", source: str = "n0", target: str = "n1", **more: Any) -> PlannedMove:
    return PlannedMove(vm=vm, source=source, target=target, gain=20.0, **more)


def a_migration(vm: str, source: str, target: str, **more: Any) -> MigrationSeen:
    values: dict[str, Any] = {"name": f"m-{vm}", "begun": NOW - 10.0} | more
    return MigrationSeen(vm=vm, source=source, target=target, **values)
