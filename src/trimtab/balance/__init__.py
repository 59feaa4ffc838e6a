"""Which VM moves where, at what price, and how close that is to the best possible.

`Problem` is a cluster as it is: nodes, VMs, loads, requests, what may go where. `make_plan`
answers with moves in an order that can be carried out one after the other, each with its
goal, gain, price and the alternatives that were refused. `bounds` proves how many moves
and bytes any balancer needs at least. Pure: simulator, commands and service use the same
functions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.balance.bounds import Bound, StuckNode, best_level_by_moves, bound
    from trimtab.balance.explain import VmExplanation, explain_vm
    from trimtab.balance.goals import Budget, Goals
    from trimtab.balance.plan import Alternative, Goal, Move, Plan
    from trimtab.balance.planner import make_plan
    from trimtab.balance.price import MigrationCost, predicted_seconds
    from trimtab.balance.problem import NOWHERE, Exclusion, Groups, Problem, problem_of

__all__ = [
    "NOWHERE",
    "Alternative",
    "Bound",
    "Budget",
    "Exclusion",
    "Goal",
    "Goals",
    "Groups",
    "MigrationCost",
    "Move",
    "Plan",
    "Problem",
    "StuckNode",
    "VmExplanation",
    "best_level_by_moves",
    "bound",
    "explain_vm",
    "make_plan",
    "predicted_seconds",
    "problem_of",
]

_NAMES = {
    "bounds": ("Bound", "StuckNode", "best_level_by_moves", "bound"),
    "explain": ("VmExplanation", "explain_vm"),
    "goals": ("Budget", "Goals"),
    "plan": ("Alternative", "Goal", "Move", "Plan"),
    "planner": ("make_plan",),
    "price": ("MigrationCost", "predicted_seconds"),
    "problem": ("Exclusion", "Groups", "NOWHERE", "Problem", "problem_of"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: goals and budgets need no NumPy."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
