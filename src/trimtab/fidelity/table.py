"""A verdict on fidelity on a terminal."""

from collections.abc import Sequence
from math import isinf

from trimtab.fidelity.balancer import BalancerVerdict
from trimtab.fidelity.runs import Range
from trimtab.fidelity.verdict import ScenarioVerdict
from trimtab.view.terminal import err, out, show_table

WORDS = {
    "evictions": "evictions",
    "converged_s": "converged after, s",
    "deviation": "deviation at the end",
    "migrations": "migrations",
    "settled_s": "last migration over after, s",
    "cpu_mean": "imbalance of CPU, mean",
    "cpu_last": "imbalance of CPU, at the end",
    "memory_mean": "imbalance of memory, mean",
    "memory_last": "imbalance of memory, at the end",
}


def show_verdict(verdict: ScenarioVerdict) -> None:
    """Tables of both parts, then what is wrong, if anything is."""
    subject = verdict.subject
    title = f"{subject.scenario} with {subject.score}: each cycle beside its prediction"
    columns = ("run", "cycles", "evictions", "scores", "largest error", "unsure", "right")
    rows = [
        (
            number,
            len(each.steps),
            each.evictions,
            each.scores,
            f"{each.largest_error:.1e}",
            each.unsure,
            "yes" if each.passed else "NO",
        )
        for number, each in enumerate(verdict.steps, 1)
    ]
    show_table(columns, rows, title=title, right=columns[:-1], drop=("scores", "unsure"))
    if verdict.ranges:
        out.print()
        title = (
            f"runs beside {verdict.seeds} simulated ones (99 % interval), whose migrations begin "
            f"{subject.reaction_s:g} s after the eviction"
        )
        _show_ranges(verdict.ranges, title)
    _show_outcome(verdict.problems, passed=verdict.passed)


def show_balancer_verdict(verdict: BalancerVerdict) -> None:
    """One table, then what is wrong, if anything is."""
    title = (
        f"{verdict.scenario}: {verdict.span_s:g} s from the first plan on, beside {verdict.seeds} "
        f"simulated runs (99 % interval); a plan every {verdict.plan_s:g} s, its copies begin "
        f"{verdict.reaction_s:g} s after it, as in the labs"
    )
    _show_ranges(verdict.ranges, title)
    _show_outcome(verdict.problems, passed=verdict.passed)


def _show_outcome(problems: Sequence[str], *, passed: bool) -> None:
    for text in problems:
        out.print(text, markup=False)
    err.print("the lab does what was predicted" if passed else "the prediction is wrong")


def _show_ranges(ranges: Sequence[Range], title: str) -> None:
    columns = ("figure", "low", "median", "high", "inside", "in the lab")
    rows = [
        (
            WORDS[each.name],
            number(each.low),
            number(each.median),
            number(each.high),
            f"{len(each.lab) - each.outside} of {len(each.lab)}",
            "  ".join(map(number, each.lab)),
        )
        for each in ranges
    ]
    show_table(columns, rows, title=title, right=columns[1:5])


def number(value: float) -> str:
    return "never" if isinf(value) else f"{value:.4g}"
