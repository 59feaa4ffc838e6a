"""Why a move was planned, and why its best alternatives were not."""

import numpy as np
from msgspec import Struct

from trimtab.balance.goals import Goals
from trimtab.balance.plan import Alternative, Goal
from trimtab.balance.problem import CPU, MEMORY, RESOURCES, SLACK, Floats, Places
from trimtab.balance.state import State

_LIMITS: dict[Goal, str] = {"relieve": "is overloaded above", "level": "is level up to"}


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
