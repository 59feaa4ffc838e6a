"""One lab in which the balancer acts, looked at from its first plan on."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from trimtab.balancer.wire import REBALANCE_PLANS, RebalancePlan
from trimtab.errors import TrimtabError
from trimtab.fidelity.balancer import BalancerMove, BalancerPlan, BalancerRun
from trimtab.fidelity.lab import LOOK_S, Note, recorded_series
from trimtab.fidelity.recording import ByNode
from trimtab.kube.virtual_machines import VirtualMachineMigration
from trimtab.scores.prometheus.rules import EXPORTED
from trimtab.stacks.loop.connection import Loop

FIRST_PLAN_S = 300.0
"""Real seconds in which a new lab has its VMs and the balancer its first plan."""
LATE_S = 1.0
"""Real seconds until the last scrape and the last record are there."""


async def watch_balancer(loop: Loop, scenario: str, span_s: float, note: Note) -> BalancerRun:
    """Wait for the first plan, then for so many seconds of the lab; what happened."""
    scale, looked = loop.spec.clock.scale, time.time()
    note("waiting for the first plan")
    first = await _first_plan(loop, looked + FIRST_PLAN_S)
    left_s = first + span_s / scale - time.time()
    note(f"{max(0.0, left_s):.0f} s to look at")
    await asyncio.sleep(max(0.0, left_s) + LATE_S)
    plans = await _plans(loop)
    done = [each for each in await loop.migrations() if each.finished]
    moved = [each for each in done if each.status.phase == "Succeeded"]
    window = f"{int(time.time() - looked) + 60}s"
    cpu = await recorded_series(loop, EXPORTED["cpu_usage"], window, "node")
    memory = await recorded_series(loop, EXPORTED["memory_usage"], window, "node")
    counts = await recorded_series(loop, "node_vm_count", window, "node")
    times = [at for at in next(iter(cpu.values())).times if at >= first]

    def since(at: float) -> float:
        return round((at - first) * scale, 2)

    return BalancerRun(
        scenario=scenario,
        plans=tuple(_plan(plan, made, since) for made, plan in plans),
        moves=tuple(sorted((_move(each, since) for each in moved), key=lambda move: move.ended)),
        failed=len(done) - len(moved),
        vms=round(sum(values[0] for values in _at(counts, [first]).values())),
        times=tuple(map(since, times)),
        cpu=_at(cpu, times),
        memory=_at(memory, times),
    )


async def _first_plan(loop: Loop, deadline: float) -> float:
    while not (plans := await _plans(loop)):
        if time.time() > deadline:
            raise TrimtabError("the balancer makes no plan; look at: trimtab lab logs balancer")
        await asyncio.sleep(LOOK_S)
    return plans[0][0]


async def _plans(loop: Loop) -> list[tuple[float, RebalancePlan]]:
    """By the time when each was made."""
    plans = await loop.api.list(REBALANCE_PLANS)
    made = [(each.spec.made_at.timestamp(), each) for each in plans if each.spec.made_at]
    return sorted(made, key=lambda pair: pair[0])


def _plan(plan: RebalancePlan, made: float, since: Callable[[float], float]) -> BalancerPlan:
    outcomes = Counter(move.outcome for move in plan.status.moves)
    return BalancerPlan(
        made=since(made),
        begun=outcomes["Running"] + outcomes["Succeeded"] + outcomes["Failed"],
        skipped=outcomes["Skipped"],
    )


def _move(each: VirtualMachineMigration, since: Callable[[float], float]) -> BalancerMove:
    status = each.status

    def at(moment: datetime | None) -> float:
        return since(moment.timestamp()) if moment is not None else -1.0

    return BalancerMove(
        vm=each.spec.vm_name,
        target=status.target_node,
        copying=at(status.precopy_start_time),
        ended=at(status.completion_time),
    )


def _at(courses: ByNode, times: Sequence[float]) -> dict[str, tuple[float, ...]]:
    """By node: the newest scrape at each moment; 0 before the first."""
    return {
        node: tuple(
            course.values[at] if (at := course.before(time)) >= 0 else 0.0 for time in times
        )
        for node, course in sorted(courses.items())
    }
