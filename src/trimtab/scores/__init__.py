"""Node scores: each written once as an expression, evaluated by NumPy, printed as PromQL.

The simulator and the study use the names below. Nodes are in name order everywhere.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.scores.arrays.evaluate import (
        evaluate,
        evaluate_many,
        evaluate_means,
        evaluate_means_many,
    )
    from trimtab.scores.arrays.window import Window, window
    from trimtab.scores.catalog import CATALOG, CLASSIC, find_score
    from trimtab.scores.own import choose_score, load_score_file
    from trimtab.scores.prometheus.files import rule_groups
    from trimtab.scores.prometheus.rules import RuleSettings
    from trimtab.scores.score import MEAN_WINDOW_S, Mode, Score, define

__all__ = [
    "CATALOG",
    "CLASSIC",
    "MEAN_WINDOW_S",
    "Mode",
    "RuleSettings",
    "Score",
    "Window",
    "choose_score",
    "define",
    "evaluate",
    "evaluate_many",
    "evaluate_means",
    "evaluate_means_many",
    "find_score",
    "load_score_file",
    "rule_groups",
    "window",
]

_NAMES = {
    "arrays.evaluate": ("evaluate", "evaluate_many", "evaluate_means", "evaluate_means_many"),
    "arrays.window": ("Window", "window"),
    "catalog": ("CATALOG", "CLASSIC", "find_score"),
    "own": ("choose_score", "load_score_file"),
    "prometheus.files": ("rule_groups",),
    "prometheus.rules": ("RuleSettings",),
    "score": ("MEAN_WINDOW_S", "Mode", "Score", "define"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: rules for Prometheus need no NumPy."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
