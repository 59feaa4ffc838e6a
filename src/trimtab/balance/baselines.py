"""Two simpler planners to compare with: both choose VM and target, neither weighs a price.

best-fit       from each source the smallest VM that takes its excess away, else the largest,
               to the least loaded node, until the excess is gone
steepest-pair  of all VMs on the sources and all targets the pair that levels the cluster
               most, again and again

The descheduler can do neither: it takes any VM of a class, and the scheduler picks the node.
So they say what better choices would be worth. All moves of a plan are started together.
"""

import numpy as np

from trimtab.balance.gains import gains
from trimtab.balance.goals import Budget, BudgetLeft
from trimtab.balance.problem import SLACK, Flags, Floats, Places, Problem
from trimtab.balance.state import State

Moves = list[tuple[int, int]]
"""VM and target, in their order."""


def best_fit(
    problem: Problem, ceiling: Floats, sources: Flags, budget: Budget, least_gain: float = 0.0
) -> Moves:
    """Relieve the sources (N,) one by one, the one most above its ceiling (2, N) first."""
    choice = _Choice(problem, ceiling, budget, least_gain)
    order = np.argsort(-(choice.state.share - ceiling).max(axis=0), kind="stable")
    for source in order[sources[order]].tolist():
        while choice.budget.may_leave(source) and (move := choice.fitting_move(source)):
            choice.do(*move)
    return choice.moves


def steepest_pair(
    problem: Problem, ceiling: Floats, sources: Flags, budget: Budget, least_gain: float = 0.0
) -> Moves:
    """The move from a source that levels most, until none brings more than the least gain."""
    choice = _Choice(problem, ceiling, budget, least_gain)
    while move := choice.steepest_move(sources):
        choice.do(*move)
    return choice.moves


class _Choice:
    """The cluster while one plan is made; everything planned counts as done."""

    def __init__(
        self, problem: Problem, ceiling: Floats, budget: Budget, least_gain: float
    ) -> None:
        self.problem, self.state = problem, State(problem, at_once=True)
        self.moves: Moves = []
        self._ceiling, self._least_gain = ceiling, least_gain
        self.budget = BudgetLeft(budget, problem)
        self._movable = problem.movable
        self._everywhere: Places = np.arange(len(problem.nodes))

    def fitting_move(self, source: int) -> tuple[int, int] | None:
        excess = self.state.share[:, source] - self._ceiling[:, source]
        resource = int(excess.argmax())
        vms = self._movable_on(source)
        if excess[resource] <= 0.0 or not len(vms):
            return None
        relief = self.problem.load[resource, vms] / self.problem.capacity[resource, source]
        enough = relief >= excess[resource] - SLACK
        vm = int(vms[enough][relief[enough].argmin()] if enough.any() else vms[relief.argmax()])
        fitting = self._levelling(np.array([vm]), source)[0] > self._least_gain
        if not fitting.any():
            return None
        load = np.where(fitting, self.state.share.sum(axis=0), np.inf)
        return vm, int(load.argmin())

    def steepest_move(self, sources: Flags) -> tuple[int, int] | None:
        best, chosen = self._least_gain, None
        over = (self.state.share - self._ceiling).max(axis=0) > 0.0
        for source in np.flatnonzero(sources & over).tolist():
            vms = self._movable_on(source)
            if not len(vms) or not self.budget.may_leave(source):
                continue
            levelling = self._levelling(vms, source)
            vm, target = divmod(int(levelling.argmax()), levelling.shape[1])
            if levelling[vm, target] > best:
                best, chosen = float(levelling[vm, target]), (int(vms[vm]), target)
        return chosen

    def do(self, vm: int, target: int) -> None:
        self.budget.count(int(self.state.where[vm]), target)
        self.state.move(vm, target)
        self._movable[vm] = False
        self.moves.append((vm, target))

    def _levelling(self, vms: Places, source: int) -> Floats:
        """(vms, N) by how much each move lowers the sum of squares; -inf where it may not go."""
        squares = gains(self.state, source, vms, self._everywhere, self._ceiling).squares
        return np.where(self.state.fits(vms, self._everywhere), squares, -np.inf)

    def _movable_on(self, source: int) -> Places:
        vms = np.sort(np.array(self.state.on_node[source], dtype=np.intp))
        return np.asarray(vms[self._movable[vms]])
