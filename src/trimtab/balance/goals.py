"""What a plan is for, and how much it may do."""

from math import inf

import numpy as np
from msgspec import Struct

from trimtab.balance.problem import Flags, Places, Problem


class Goals(Struct, frozen=True, kw_only=True):
    """The targets of a plan; shares of a node unless a name says otherwise.

    The goals come in this order, each with its own reasons: repair broken rules, relieve
    nodes that suffer, level the cluster, keep room for the loss of any one node.
    """

    band: float = 0.05
    """A node is level while its CPU and memory demand are at most this far above the mean."""
    overload: float = 0.9
    """Above this demand a node suffers, whatever the mean is."""
    pressure: float = 0.2
    """Above this share of waiting time (PSI, CPU delay) a node suffers."""
    margin: float = 0.005
    """The least drop of excess that is worth a move; less is no move."""
    price_per_s: float = 1e-5
    """What a second of predicted pre-copy costs, in the unit of the gain."""
    convergence: float = 0.8
    """A VM that dirties memory faster than this share of the bandwidth is not chosen."""
    levelling_weight: float = 0.001
    """How much a gain in the sum of squares counts beside the drop of excess: 0 asks for the
    fewest moves, 1 for the most level cluster."""
    repair: bool = True
    relieve: bool = True
    level: bool = True
    reserve: bool = True


class Budget(Struct, frozen=True, kw_only=True):
    """The most that one plan may move; None is no limit."""

    moves: int | None = None
    out_of_node: int | None = None
    into_node: int | None = None
    alternatives: int = 3
    """How many refused alternatives each move keeps."""


class BudgetLeft:
    """What is left of a budget while a plan is made; migrations under way count at their nodes."""

    def __init__(self, budget: Budget, problem: Problem) -> None:
        self._budget, self._planned = budget, 0
        self._out, self._into = problem.leaving.copy(), problem.arriving.copy()

    @property
    def moves(self) -> float:
        """How many more moves there may be."""
        return inf if self._budget.moves is None else self._budget.moves - self._planned

    def may_leave(self, node: int) -> bool:
        limit = self._budget.out_of_node
        return self.moves > 0 and (limit is None or int(self._out[node]) < limit)

    def accepts(self, targets: Places) -> Flags:
        """(targets,): one more VM may come there now."""
        limit = self._budget.into_node
        if limit is None:
            return np.ones(len(targets), dtype=np.bool_)
        return np.asarray(self._into[targets] < limit)

    def count(self, source: int, target: int) -> None:
        """One more move is planned."""
        self._planned += 1
        self._out[source] += 1
        self._into[target] += 1
