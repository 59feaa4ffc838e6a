"""The next move of a plan that is carried out, and where it may end. Pure.

Each move is judged against the cluster as it is now. It ends on one named node, or in a set of
cool nodes that the scheduler chooses from: KubeVirt takes conditions on a migration's target, not
a name (addedNodeSelector). A condition on the hostname would stay on the VM's new pod for its
whole life, so the balancer labels the nodes that suit, asks for the label, and takes it away
again once the scheduler has chosen.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from trimtab.balance.bounds import ceilings
from trimtab.balance.gains import gains
from trimtab.balance.problem import SLACK, Flags
from trimtab.balance.state import State
from trimtab.balancer.restraint import free_slots, in_flight, left_this_hour, restrained
from trimtab.balancer.situation import Situation
from trimtab.balancer.wire import MoveStatus, PlannedMove, RebalancePlan, migration_name

WORTH = 0.5
"""A node that brings less than this share of the best gain is no target."""
NO_GAIN = "it would bring nothing any more"


class StartMove(Struct, frozen=True):
    """A migration to create; `targets` are the nodes that it may go to."""

    plan: RebalancePlan
    move: PlannedMove
    targets: tuple[str, ...] = ()


class _Judgement(Struct, frozen=True):
    """A move may begin, has to wait, or makes no sense any more."""

    targets: tuple[str, ...] = ()
    waits: bool = False
    refusal: str = ""


def next_move(
    s: Situation, plan: RebalancePlan, moves: tuple[MoveStatus, ...]
) -> tuple[tuple[MoveStatus, ...], StartMove | None]:
    """The first move that may begin now; those that make no sense any more are skipped."""
    problem = in_flight(s.problem, s.migrations)
    limits = s.settings.limits
    if not plan.spec.undoes:  # who asks for the way back knows that it is one
        problem = restrained(problem, s.migrations, limits, s.now)
    may_begin = free_slots(s.migrations, limits) > 0 and not looking_for_target(s)
    if not plan.spec.undoes:
        may_begin &= left_this_hour(len(problem.vms), s.migrations, limits, s.now) > 0
    state, found = State(problem), list(moves)
    for at, move in enumerate(plan.spec.moves):
        if found[at].outcome != "Waiting":
            continue
        judged = _judged(s, plan, move, state, found[:at])
        if judged.refusal:
            found[at] = structs.replace(found[at], outcome="Skipped", reason=judged.refusal)
        elif not judged.waits and may_begin:
            # It stays Waiting in the record until its migration is seen: if we are killed before
            # that exists, the next one begins it, and if after, finds it by its name.
            return tuple(found), StartMove(plan, move, judged.targets)
    return tuple(found), None


def looking_for_target(s: Situation) -> bool:
    """Whether the scheduler still chooses for a move of ours: the labels are that move's.

    By name and not by label: whoever may create migrations may label them as they like.
    """
    choosing = {each.name for each in s.migrations if each.ended is None and not each.scheduled}
    if not s.chooses_from_set or not choosing:
        return False
    return any(
        migration_name(plan.spec.plan_id, move.vm) in choosing
        for plan in s.plans
        if not plan.over
        for move in plan.spec.moves
    )


def _judged(
    s: Situation,
    plan: RebalancePlan,
    move: PlannedMove,
    state: State,
    before: Sequence[MoveStatus],
) -> _Judgement:
    if move.chain:
        earlier = [
            status
            for status, other in zip(before, plan.spec.moves, strict=False)
            if other.chain == move.chain
        ]
        if any(each.outcome in ("Failed", "Cancelled", "Skipped") for each in earlier):
            return _Judgement(refusal="the move that makes room for it did not succeed")
        if any(each.outcome != "Succeeded" for each in earlier):
            return _Judgement(waits=True)
    if refusal := _vm_refusal(move, state):
        return _Judgement(refusal=refusal)
    nodes, refusal = _targets(s, plan, move, state)
    if refusal:
        return _Judgement(refusal=refusal)
    problem = state.problem
    free = nodes & (problem.arriving == 0)
    busy = problem.leaving[problem.nodes.index(move.source)] > 0 or not free.any()
    names = tuple(problem.nodes[node] for node in np.flatnonzero(free).tolist())
    return _Judgement(targets=names, waits=bool(busy))


def _targets(
    s: Situation, plan: RebalancePlan, move: PlannedMove, state: State
) -> tuple[Flags, str]:
    if plan.spec.undoes:  # back to where it was, whatever that brings
        back = structs.replace(move, goal="repair")
        return _suitable_nodes(s, back, state, only_planned=True)
    exact = not s.chooses_from_set or bool(move.chain)
    return _suitable_nodes(s, move, state, only_planned=exact)


def _suitable_nodes(
    s: Situation, move: PlannedMove, state: State, *, only_planned: bool
) -> tuple[Flags, str]:
    """(N,) nodes where the move does what it was planned for; if there is none, the reason.

    only_planned: the node that the plan names, and no other.
    """
    problem = state.problem
    vm, count = problem.vms.index(move.vm), len(problem.nodes)
    everywhere, planned = np.arange(count), np.zeros(count, dtype=np.bool_)
    if move.target in problem.nodes:
        planned[problem.nodes.index(move.target)] = True
    asked = planned if only_planned else np.ones(count, dtype=np.bool_)
    fits = state.fits(np.array([vm]), everywhere)[0] & asked
    if not fits.any():
        return fits, _why_nowhere(state, vm, move.target)
    goals, source = s.settings.goals(), int(state.where[vm])
    ceiling = ceilings(problem, goals.band)
    drop, _, rise = (each[0] for each in gains(state, source, np.array([vm]), everywhere, ceiling))
    if only_planned and (move.goal != "level" or move.chain):
        return fits, ""
    if move.goal in ("level", "relieve"):
        wanted = fits & (drop >= goals.margin - SLACK)
        if not only_planned:
            wanted &= (rise <= SLACK) | planned
            wanted &= drop >= WORTH * float(np.where(wanted, drop, 0.0).max())
        return wanted, "" if wanted.any() else NO_GAIN
    level = fits & (rise <= SLACK)
    return (level if level.any() else fits), ""


def _why_nowhere(state: State, vm: int, target: str) -> str:
    nodes = state.problem.nodes
    if target not in nodes:
        return f"there is no node {target} any more"
    refused = state.refusal(vm, nodes.index(target))
    return refused[1] if refused is not None else "no node may take it"


def _vm_refusal(move: PlannedMove, state: State) -> str:
    problem = state.problem
    if move.vm not in problem.vms:
        return "the VM does not run any more"
    vm = problem.vms.index(move.vm)
    if vm in problem.excluded:
        return problem.excluded[vm].text
    if move.source not in problem.nodes or problem.where[vm] != problem.nodes.index(move.source):
        return f"the VM is not on {move.source} any more"
    return ""
