"""What happens next: one decision for one observation. Pure.

A decision starts at most one migration; the service then reads the cluster again. Plans of
the mode `act` hold what may begin at once and are made anew after one interval; a plan that
somebody approved is carried out move by move, each checked against the cluster as it is now.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field, structs

from trimtab.balance.bounds import ceilings
from trimtab.balance.document import MoveDocument, document_of
from trimtab.balance.goals import Budget
from trimtab.balance.planner import make_plan
from trimtab.balance.problem import Floats, Problem
from trimtab.balance.state import State
from trimtab.balancer.next_move import StartMove, looking_for_target, next_move
from trimtab.balancer.pauses import Pause, pause_of
from trimtab.balancer.progress import made_by_others, moved_text, moves_of
from trimtab.balancer.restraint import free_slots, in_flight, left_this_hour, restrained
from trimtab.balancer.situation import Situation
from trimtab.balancer.wire import (
    MOST_MOVES,
    MOVED,
    OVER,
    MoveOutcome,
    MoveStatus,
    PlannedMove,
    PlanPhase,
    RebalancePlan,
    RebalancePlanSpec,
    RebalancePlanStatus,
    plan_id,
)

KEPT = 50
"""So many plans that are over stay as the record."""
OUTDATED = "not begun within one interval; what is left is planned anew"


class Decision(Struct, frozen=True, kw_only=True):
    """What to write, in this order, and a sentence on the state of things."""

    text: str
    pause: Pause | None = None
    records: Mapping[str, RebalancePlanStatus] = field(default_factory=dict)
    """By plan: its new status, where it differs."""
    withdraw: tuple[MoveStatus, ...] = ()
    """Moves of cancelled plans whose migrations are to be deleted."""
    create: RebalancePlanSpec | None = None
    cool: frozenset[str] = frozenset()
    """Nodes that are to have the label of targets from now on, before a migration begins."""
    start: StartMove | None = None
    forget: tuple[str, ...] = ()
    """Plans that are over and too many."""


def something_to_do(s: Situation) -> bool:
    """Whether a node is above the band or a VM breaks a rule where it is."""
    problem = in_flight(s.problem, s.migrations)
    if (_above_band(s, problem) > s.settings.goals().margin).any():
        return True
    state = State(problem)
    return any(state.breaks_rule(vm) for vm in np.flatnonzero(problem.movable).tolist())


def _above_band(s: Situation, problem: Problem) -> Floats:
    """(2, N) how far each node is above the band, or below it."""
    return problem.shares() - ceilings(problem, s.settings.goals().band)


def decide(s: Situation) -> Decision:
    """The one decision for this observation."""
    pause = pause_of(s)
    running = [plan for plan in s.plans if not plan.over]
    running.sort(key=lambda plan: (s.times.get(plan.metadata.name, 0.0), plan.metadata.name))
    records: dict[str, RebalancePlanStatus] = {}
    start: StartMove | None = None
    withdraw: tuple[MoveStatus, ...] = ()
    for plan in running:
        status, begun = _advanced(s, plan, pause, may_start=start is None)
        start = start or begun
        if status != plan.status:
            records[plan.metadata.name] = status
        if plan.spec.cancelled:
            withdraw += tuple(m for m in status.moves if m.outcome == "Running")
    text, create = "a plan is under way", None
    if start is not None:
        text = f"moving {start.move.vm} to {start.move.target}"
    elif pause is not None and running:
        text = pause.text
    elif not running:
        text, create = _new_plan(s, pause)
    return Decision(
        text=text,
        pause=pause,
        records=records,
        withdraw=withdraw,
        create=create,
        cool=_cool(s, start),
        start=start,
        forget=_too_many(s),
    )


def _cool(s: Situation, start: StartMove | None) -> frozenset[str]:
    """The labels of the move that begins, or of one whose target is still being looked for."""
    if looking_for_target(s):
        return s.cool
    return frozenset(start.targets) if start is not None and s.chooses_from_set else frozenset()


# A plan under way


def _advanced(
    s: Situation, plan: RebalancePlan, pause: Pause | None, *, may_start: bool
) -> tuple[RebalancePlanStatus, StartMove | None]:
    """The plan's status now, and the move that may begin."""
    moves = moves_of(plan, s.migrations)
    if plan.spec.cancelled:
        moves = tuple(_ended(m, "Cancelled", "the plan was cancelled") for m in moves)
        still = any(m.outcome == "Running" for m in moves)
        phase: PlanPhase = "Running" if still else "Cancelled"
        return _status(s, plan, moves, phase, "Cancelled", "somebody cancelled the plan"), None
    if s.settings.mode == "observe" or not plan.spec.approved:
        return _unapproved(s, plan, moves), None
    # The first look at a plan may begin a move however late it comes, since each is judged again:
    # else a computer that needs longer than an interval for a look would only ever plan.
    is_old = s.times.get(plan.metadata.name, s.now) + s.settings.interval_s < s.now
    if is_old and plan.status.phase:
        moves = _without_outdated(plan, moves)
    start = None
    if may_start and pause is None:
        moves, start = next_move(s, plan, moves)
    if all(m.outcome in MOVED for m in moves):
        return _finished(s, plan, moves), None
    if pause is not None:
        return _status(s, plan, moves, "Paused", pause.reason, pause.text), None
    return _status(s, plan, moves, "Running"), start


def _unapproved(
    s: Situation, plan: RebalancePlan, moves: tuple[MoveStatus, ...]
) -> RebalancePlanStatus:
    """A plan that nobody carries out: the account of what happened without it."""
    age_s = s.now - s.times.get(plan.metadata.name, s.now)
    if age_s >= s.settings.limits.expires_s:
        text = (
            "nobody approved it in time" if plan.spec.mode == "propose" else "nobody carried it out"
        )
        return _status(s, plan, moves, "Expired", "TooOld", text)
    if not something_to_do(s) and not plan.spec.undoes:
        return _status(s, plan, moves, "Expired", "Level", "the cluster is level without it")
    if plan.spec.mode == "propose" and plan.spec.approved:
        text = "the balancer runs in mode observe and carries out no plan"
        return _status(s, plan, moves, "Approved", "Observing", text)
    wanted = f"trimtab balance approve {plan.metadata.name}" if plan.spec.mode == "propose" else ""
    return _status(s, plan, moves, "Proposed", message=f"waits for: {wanted}" if wanted else "")


def _without_outdated(plan: RebalancePlan, moves: tuple[MoveStatus, ...]) -> tuple[MoveStatus, ...]:
    """What an old plan of our own has not begun, it does not begin any more."""
    if plan.spec.mode != "act":
        return moves
    return tuple(_ended(m, "Skipped", OUTDATED) for m in moves)


def _ended(move: MoveStatus, outcome: MoveOutcome, why: str) -> MoveStatus:
    if move.outcome != "Waiting":
        return move
    return structs.replace(move, outcome=outcome, reason=why)


def _finished(
    s: Situation, plan: RebalancePlan, moves: tuple[MoveStatus, ...]
) -> RebalancePlanStatus:
    failed = any(m.outcome == "Failed" for m in moves)
    succeeded = any(m.outcome == "Succeeded" for m in moves)
    phase: PlanPhase = "Failed" if failed and not succeeded else "Completed"
    return _status(s, plan, moves, phase, message=moved_text(moves))


def _status(
    s: Situation,
    plan: RebalancePlan,
    moves: tuple[MoveStatus, ...],
    phase: PlanPhase,
    reason: str = "",
    message: str = "",
) -> RebalancePlanStatus:
    """The status; once the plan is over, also what it brought."""
    over = phase in OVER
    now = _excess(s) if over else plan.status.excess_now
    return RebalancePlanStatus(
        phase=phase,
        reason=reason,
        message=message[:1024],
        moves=moves,
        moved=moved_text(moves),
        excess_now=now,
        gained=round(plan.spec.excess_before - now, 2) if over else 0.0,
        moves_by_others=made_by_others(s.times.get(plan.metadata.name, s.now), s.migrations),
        ended_at=s.moment if over else None,
    )


def _excess(s: Situation) -> float:
    """How far nodes are above the band now, in points, as plans count it."""
    over = _above_band(s, in_flight(s.problem, s.migrations))
    return round(100 * float(over.clip(min=0).sum()), 2)


# A new plan


def _new_plan(s: Situation, pause: Pause | None) -> tuple[str, RebalancePlanSpec | None]:
    if not something_to_do(s):
        return "level: no node is above the band", None
    if pause is not None:
        return pause.text, None
    mode, limits = s.settings.mode, s.settings.limits
    problem = restrained(in_flight(s.problem, s.migrations), s.migrations, limits, s.now)
    if not is_urgent(s, problem) and sum(s.to_do[-limits.hold_of :]) < limits.hold:
        return f"above the band, but not in {limits.hold} of {limits.hold_of} rounds yet", None
    budget = Budget(moves=MOST_MOVES, alternatives=0)
    if mode == "act":
        room = min(
            free_slots(s.migrations, limits),
            left_this_hour(len(problem.vms), s.migrations, limits, s.now),
        )
        if not room:
            return "no migration may begin now: the limits are reached", None
        budget = Budget(moves=room, out_of_node=1, into_node=1, alternatives=0)
    made = make_plan(problem, s.settings.goals(), budget, s.cost)
    shown = document_of(problem, made)
    if not shown.moves:
        return _why_no_move(problem), None
    moves = tuple(map(_planned, shown.moves))
    return f"planned: {len(moves)} to move", RebalancePlanSpec(
        mode=mode,
        plan_id=plan_id(mode, s.moment, moves),
        made_at=s.moment,
        moves=moves,
        excess_before=shown.excess_before,
        excess_after=shown.excess_after,
        least_moves=shown.bound.moves if shown.bound else 0,
        transfer_rate=round(s.cost.bandwidth),
        rate_from=s.cost.source,
    )


def _why_no_move(problem: Problem) -> str:
    """Nodes that VMs leave or come to are out of the question for the moment, not for good."""
    if problem.leaving.any() or problem.arriving.any():
        return "above the band; what may help waits for migrations under way"
    return "above the band, but no move would help"


def is_urgent(s: Situation, problem: Problem) -> bool:
    """A node that suffers does not wait until it has suffered often enough."""
    goals = s.settings.goals()
    overloaded = (problem.shares() > goals.overload).any()
    return bool(overloaded or (problem.pressure > goals.pressure).any())


def _planned(move: MoveDocument) -> PlannedMove:
    return PlannedMove(
        vm=move.vm,
        source=move.source,
        target=move.target,
        goal=move.goal,
        why=move.why[:512],
        gain=move.gain,
        seconds=move.seconds,
        bytes=move.bytes,
        chain=move.chain,
    )


def _too_many(s: Situation) -> tuple[str, ...]:
    over = [plan for plan in s.plans if plan.over]
    over.sort(key=lambda plan: s.ended.get(plan.metadata.name, 0.0), reverse=True)
    return tuple(plan.metadata.name for plan in over[KEPT:])
