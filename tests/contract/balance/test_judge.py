"""Plans and bounds before a judge: HiGHS solves the same cluster as a mixed-integer program.

The product has no solver. What it calls proved is checked here by one that shares no line
with it: the fewest moves to a level cluster, and the fewest VMs that carry a node's excess.
"""

from collections.abc import Callable

import numpy as np
import pytest

from builders.values.grown_clusters import a_grown_cluster, an_unlike_cluster
from trimtab.balance import exact
from trimtab.balance.bounds import bound, ceilings
from trimtab.balance.goals import Goals
from trimtab.balance.planner import make_plan
from trimtab.balance.problem import Floats, Places, Problem

# Installed with requirements/dev.lock; a .venv from before needs `make setup` once more.
highspy = pytest.importorskip("highspy")
GOALS = Goals(margin=0.0, price_per_s=0.0, relieve=False, reserve=False)
EXACT = "Optimal"
Make = Callable[[int, int, int], Problem]


class Judge:
    """A program of 0-or-1 variables with the least weighted sum; one thread, no output."""

    def __init__(self, costs: Floats) -> None:
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("mip_rel_gap", 0.0)
        count = len(costs)
        self._solver.addVars(count, np.zeros(count), np.ones(count))
        at = np.arange(count, dtype=np.int32)
        self._solver.changeColsCost(count, at, costs)
        self._solver.changeColsIntegrality(
            count, at, np.full(count, highspy.HighsVarType.kInteger, dtype=object)
        )

    def demand(self, least: float, most: float, at: Places, values: Floats) -> None:
        """least ≤ the sum of `values` over the variables `at` ≤ most."""
        chosen = at.astype(np.int32)
        self._solver.addRow(least, most, len(chosen), chosen, values.astype(np.float64))

    def least(self) -> int | None:
        """The proved least sum; None if nothing fulfils all demands."""
        self._solver.run()
        status = self._solver.modelStatusToString(self._solver.getModelStatus())
        if status == "Infeasible":
            return None
        assert status == EXACT, status
        least: float = self._solver.getInfo().objective_function_value
        return round(least)


def fewest_moves(problem: Problem, ceiling: Floats) -> int | None:
    """Of all level assignments the one that leaves most VMs where they are."""
    nodes, vms = len(problem.nodes), len(problem.vms)
    costs = np.ones((vms, nodes))
    costs[np.arange(vms), problem.where] = 0.0
    judge = Judge(costs.ravel())
    number = np.arange(vms * nodes).reshape(vms, nodes)
    allowed = problem.allowed[problem.kind].copy()
    for vm in problem.excluded:
        allowed[vm] = False
    allowed[np.arange(vms), problem.where] = True
    for vm in range(vms):
        judge.demand(1.0, 1.0, number[vm, allowed[vm]], np.ones(int(allowed[vm].sum())))
        if not allowed[vm].all():
            judge.demand(0.0, 0.0, number[vm, ~allowed[vm]], np.ones(int((~allowed[vm]).sum())))
    most = ceiling * problem.capacity + 1e-9
    for row in (0, 1):
        for node in range(nodes):
            judge.demand(-np.inf, most[row, node], number[:, node], problem.load[row])
    return judge.least()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [a_grown_cluster, an_unlike_cluster])
def test_a_plan_needs_at_most_one_move_more_than_the_judge(make: Make, seed: int) -> None:
    problem = make(8, 96, seed)
    ceiling = ceilings(problem, GOALS.band)
    optimum = fewest_moves(problem, ceiling)
    plan = make_plan(problem, GOALS)
    assert plan.bound is not None
    if optimum is None:
        assert plan.left
        return
    assert plan.bound.moves <= optimum
    assert not plan.left
    assert optimum <= len(plan.moves) <= optimum + 1, (plan.bound.moves, optimum)


def fewest_vms(loads: Floats, excess: Floats) -> int | None:
    judge = Judge(np.ones(loads.shape[1]))
    for row in (0, 1):
        judge.demand(excess[row] - 1e-9, np.inf, np.arange(loads.shape[1]), loads[row])
    return judge.least()


@pytest.mark.parametrize("make", [a_grown_cluster, an_unlike_cluster])
def test_the_exact_bound_is_the_sum_of_what_the_judge_finds_for_each_node(
    make: Make,
) -> None:
    problem = make(40, 640, 7)
    ceiling = ceilings(problem, GOALS.band)
    over = problem.shares() - ceiling
    judged = 0
    for node in np.flatnonzero((over > 1e-9).any(axis=0)).tolist():
        vms = np.flatnonzero((problem.where == node) & problem.movable)
        loads = problem.load[:, vms] / problem.capacity[:, node, None]
        excess = np.minimum(over[:, node].clip(min=0.0), loads.sum(axis=1))
        found = fewest_vms(loads, excess)
        assert found is not None
        assert exact.fewest(loads, excess).least == found
        judged += found
    assert judged > 40
    assert bound(problem, ceiling, method="exact").moves == judged
