"""Why a move was planned and its best alternatives were not; why a VM goes or stays."""

import numpy as np
from msgspec import Struct

from trimtab.balance.gains import gains
from trimtab.balance.goals import Goals
from trimtab.balance.plan import Alternative, Goal, Move, Plan
from trimtab.balance.price import MigrationCost, predicted_seconds
from trimtab.balance.problem import CPU, MEMORY, RESOURCES, SLACK, Floats, Places, Problem
from trimtab.balance.state import State

MOST_TARGETS = 8
_LIMITS: dict[Goal, str] = {"relieve": "is overloaded above", "level": "is level up to"}


# One move of a plan


def why_source(state: State, goals: Goals, source: int, ceiling: Floats, goal: Goal) -> str:
    """The sentence that says what is wrong with a node that a VM leaves."""
    problem, node = state.problem, state.problem.nodes[source]
    if goal == "relieve" and problem.pressure[source] > goals.pressure:
        waiting = 100 * problem.pressure[source]
        return f"{node} waits for CPU or memory {waiting:.0f} % of the time"
    row = CPU if state.hottest_resource(source, ceiling) == RESOURCES[CPU] else MEMORY
    share, limit = 100 * state.share[row, source], 100 * ceiling[row, source]
    return f"{node} has {share:.1f} % {RESOURCES[row]} and {_LIMITS.get(goal, '')} {limit:.1f} %"


class Considered(Struct, frozen=True, eq=False):
    """Every pair that one step looked at: (vms, targets) arrays, and seconds of each VM."""

    vms: Places
    targets: Places
    value: Floats
    drop: Floats
    rise: Floats
    seconds: Floats

    def refused(
        self, state: State, chosen: tuple[int, int], count: int, margin: float
    ) -> tuple[Alternative, ...]:
        """The best `count` pairs that were not taken, each with the rule that refused it."""
        if count <= 0:
            return ()
        ranked = self.value.copy()
        ranked[chosen] = -np.inf
        flat = np.argsort(-ranked, axis=None, kind="stable")[:count]
        found = []
        for at, to in (divmod(int(i), len(self.targets)) for i in flat):
            if ranked[at, to] == -np.inf:
                break
            vm, target = int(self.vms[at]), int(self.targets[to])
            drop, rise = float(self.drop[at, to]), float(self.rise[at, to])
            rule = state.refusal(vm, target) or _outdone(drop, rise, margin)
            found.append(Alternative(vm, target, drop, float(self.seconds[at]), *rule))
        return tuple(found)


def _outdone(drop: float, rise: float, margin: float) -> tuple[str, str]:
    if rise > SLACK:
        return "target-limit", f"the target would be {100 * rise:.1f} points above its limit"
    if drop < margin:
        return "margin", "its gain is below the margin"
    return "rank", "its gain less its price is lower"


# One VM, whatever the plan does with it


class VmExplanation(Struct, frozen=True):
    """The answer for one VM."""

    vm: int
    node: int
    move: Move | None
    text: str
    targets: tuple[Alternative, ...]
    """The best targets there were, each with its gain and what refused it."""


def explain_vm(
    problem: Problem, plan: Plan, vm: int, cost: MigrationCost | None = None
) -> VmExplanation:
    """What the plan does with a VM, judged on the cluster before the plan."""
    node = int(problem.where[vm])
    move = next((move for move in plan.moves if move.vm == vm), None)
    if node < 0:
        return VmExplanation(vm, node, None, "it runs on no node", ())
    seconds = predicted_seconds(problem.resident, problem.dirty_rate, cost or MigrationCost())
    targets = _targets(problem, plan, vm, float(seconds[vm]))
    return VmExplanation(vm, node, move, _text(problem, plan, vm, node, move), targets)


def _text(problem: Problem, plan: Plan, vm: int, node: int, move: Move | None) -> str:
    if move is not None:
        return f"it goes to {problem.nodes[move.target]}: {move.why}"
    if vm in plan.excluded:
        return f"it stays: {plan.excluded[vm].text}"
    over = (plan.before - plan.ceiling)[:, node].max()
    if over <= 0:
        return f"it stays: {problem.nodes[node]} is level, {-100 * over:.1f} points below its limit"
    left = next((left for left in plan.left if left.node == node), None)
    if left is not None:
        return f"it stays: {left.why}"
    return f"it stays: other moves bring {problem.nodes[node]} below its limit"


def _targets(problem: Problem, plan: Plan, vm: int, seconds: float) -> tuple[Alternative, ...]:
    state, one = State(problem), np.array([vm])
    everywhere = np.arange(len(problem.nodes))
    drop, squares, _ = gains(state, int(problem.where[vm]), one, everywhere, plan.ceiling)
    value = drop[0] + 0.001 * squares[0]
    value[problem.where[vm]] = -np.inf
    order = np.argsort(-value, kind="stable")[:MOST_TARGETS]
    return tuple(
        Alternative(vm, target, float(drop[0, target]), seconds, *_judged(state, plan, vm, target))
        for target in order.tolist()
        if value[target] > -np.inf
    )


def _judged(state: State, plan: Plan, vm: int, target: int) -> tuple[str, str]:
    """The rule that decides about a target: the VM's own, the target's, or none."""
    if vm in plan.excluded:
        return plan.excluded[vm].rule, plan.excluded[vm].text
    if refused := state.refusal(vm, target):
        return refused
    then = state.share[:, target] + state.share_of(vm, target)
    if (over := float((then - plan.ceiling[:, target]).max())) > 0:
        return "target-limit", f"it would be {100 * over:.1f} points above its limit"
    return "possible", "nothing forbids it"
