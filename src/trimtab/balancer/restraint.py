"""What the limits leave of a problem: VMs that rest, nodes that they must not go back to, room."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import structs

from trimtab.balance.problem import NOWHERE, Exclusion, Problem
from trimtab.balancer.settings import Limits
from trimtab.balancer.situation import MigrationSeen
from trimtab.policy.pods.migration_aware import Migrated, MigrationAware, resting_for_s

HOUR_S = 3600.0


def in_flight(problem: Problem, migrations: Iterable[MigrationSeen]) -> Problem:
    """VMs that move already stand at their targets and are nobody's candidates."""
    where, excluded = problem.where.copy(), dict(problem.excluded)
    leaving, arriving = problem.leaving.copy(), problem.arriving.copy()
    nodes = {name: at for at, name in enumerate(problem.nodes)}
    vms = {name: at for at, name in enumerate(problem.vms)}
    for each in migrations:
        at = vms.get(each.vm, NOWHERE)
        if each.ended is not None or at == NOWHERE:
            continue
        stands_at_target = at in problem.excluded and problem.excluded[at].rule == "moving"
        here = NOWHERE if stands_at_target else int(where[at])
        source, target = nodes.get(each.source, here), nodes.get(each.target, NOWHERE)
        excluded[at] = Exclusion("moving", "it is on its way already")
        if source != NOWHERE:
            leaving[source] += 1
        if target != NOWHERE:
            where[at] = target
            arriving[target] += 1
    return structs.replace(
        problem, where=where, excluded=excluded, leaving=leaving, arriving=arriving
    )


def restrained(
    problem: Problem, migrations: Sequence[MigrationSeen], limits: Limits, now: float
) -> Problem:
    """Without VMs that rest after a migration, and without ways back to a node just left."""
    past = defaultdict(list)
    for each in migrations:
        if each.ended is not None:
            past[each.vm].append(each)
    aware = MigrationAware(
        cooldown_s=limits.cooldown_s, longest_cooldown_s=limits.longest_cooldown_s
    )
    excluded, left = dict(problem.excluded), {}
    for at, vm in enumerate(problem.vms):
        mine = past.get(vm, ())
        rest_s = resting_for_s([Migrated(e.begun, e.ended) for e in mine], now, aware)
        if rest_s > 0 and at not in excluded:
            text = f"it rests {rest_s:.0f} s more after {len(mine)} migrations"
            excluded[at] = Exclusion("cooldown", text)
        left[at] = {
            e.source
            for e in mine
            if e.succeeded and now - (e.ended or now) < limits.return_window_s
        }
    return _without_ways_back(structs.replace(problem, excluded=excluded), left)


def _without_ways_back(problem: Problem, left: dict[int, set[str]]) -> Problem:
    nodes = {name: at for at, name in enumerate(problem.nodes)}
    kind, rows = problem.kind.copy(), [problem.allowed]
    count = len(problem.allowed)
    for vm, names in left.items():
        closed = [
            nodes[name] for name in names if name in nodes and nodes[name] != problem.where[vm]
        ]
        if closed:
            row = problem.allowed[problem.kind[vm]].copy()
            row[closed] = False
            rows.append(row[None, :])
            kind[vm], count = count, count + 1
    return structs.replace(problem, kind=kind, allowed=np.concatenate(rows))


def free_slots(migrations: Iterable[MigrationSeen], limits: Limits) -> int:
    """How many moves may begin now with room left for drains, whoever causes the others."""
    under_way = sum(each.ended is None for each in migrations)
    return max(0, limits.parallel - limits.kept_free - under_way)


def left_this_hour(
    vms: int, migrations: Iterable[MigrationSeen], limits: Limits, now: float
) -> int:
    """How many more VMs may be moved by us in this hour."""
    allowed = max(1, int(vms * limits.per_hour / 100)) if limits.per_hour > 0 else 0
    ours = sum(bool(each.plan) and now - each.begun < HOUR_S for each in migrations)
    return max(0, allowed - ours)
