"""What became of a plan's moves: its status, computed anew from the migrations each time."""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import structs

from trimtab.balancer.situation import MigrationSeen
from trimtab.balancer.wire import (
    MOVED,
    MoveOutcome,
    MoveStatus,
    RebalancePlan,
    RebalancePlanStatus,
    migration_name,
)

GONE = "its migration was deleted"


def moves_of(plan: RebalancePlan, migrations: Iterable[MigrationSeen]) -> tuple[MoveStatus, ...]:
    """The status of each move, in the plan's order.

    A migration is found by the name that it must have, so also one that was created just
    before its creator was killed.
    """
    known = {each.name: each for each in migrations}
    told = {each.vm: each for each in plan.status.moves}
    return tuple(_move(plan, move.vm, told, known) for move in plan.spec.moves)


def _move(
    plan: RebalancePlan, vm: str, told: Mapping[str, MoveStatus], known: Mapping[str, MigrationSeen]
) -> MoveStatus:
    before = told.get(vm, MoveStatus(vm=vm))
    if before.outcome in MOVED:
        return before
    name = migration_name(plan.spec.plan_id, vm)
    found = known.get(name)
    if found is None:
        if before.outcome == "Running":  # somebody deleted it, or it was forgotten as the oldest
            return structs.replace(before, outcome="Cancelled", reason=GONE)
        return before
    if found.ended is None:
        return structs.replace(before, outcome="Running", migration=name)
    outcome: MoveOutcome = "Succeeded" if found.succeeded else "Failed"
    began = found.begun if found.copying is None else found.copying
    return MoveStatus(
        vm=vm,
        outcome=outcome,
        migration=name,
        node=found.target if found.succeeded else found.source,
        actual_seconds=round(max(0.0, found.ended - began), 1) if found.is_timed else 0.0,
        reason=found.reason,
    )


def with_refusal(status: RebalancePlanStatus, vm: str, refusal: str) -> RebalancePlanStatus:
    """The status after the API server refused the migration of this VM."""
    moves = tuple(
        structs.replace(each, outcome="Failed", reason=refusal[:512]) if each.vm == vm else each
        for each in status.moves
    )
    return structs.replace(status, moves=moves, moved=moved_text(moves))


def moved_text(moves: Iterable[MoveStatus]) -> str:
    """`3/5`, and what did not succeed."""
    counted = Counter(each.outcome for each in moves)
    text = f"{counted['Succeeded']}/{sum(counted.values())}"
    others = [f"{counted[w]} {w.lower()}" for w in ("Failed", "Cancelled", "Skipped") if counted[w]]
    return ", ".join([text, *others])


def made_by_others(made: float, migrations: Iterable[MigrationSeen]) -> int:
    """Migrations since the plan was made that no plan of ours asked for."""
    return sum(not each.plan and each.begun >= made for each in migrations)
