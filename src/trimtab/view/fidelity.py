"""What a person sees of a verdict on fidelity."""

from collections.abc import Sequence
from math import isinf
from typing import Protocol

from trimtab.view.terminal import err, out, show_table


class StepsShown(Protocol):
    """One run of the lab beside its predictions."""

    @property
    def scores(self) -> int: ...
    @property
    def largest_error(self) -> float: ...
    @property
    def steps(self) -> Sequence[object]: ...
    @property
    def evictions(self) -> int: ...
    @property
    def unsure(self) -> int: ...
    @property
    def passed(self) -> bool: ...


class RangeShown(Protocol):
    """One figure of all runs beside the simulator's interval."""

    @property
    def name(self) -> str: ...
    @property
    def low(self) -> float: ...
    @property
    def median(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def lab(self) -> Sequence[float]: ...
    @property
    def outside(self) -> int: ...


class SubjectShown(Protocol):
    @property
    def scenario(self) -> str: ...
    @property
    def score(self) -> str: ...
    @property
    def reaction_s(self) -> float: ...


class BalancerVerdictShown(Protocol):
    """Labs of the balancer beside simulated runs."""

    @property
    def scenario(self) -> str: ...
    @property
    def span_s(self) -> float: ...
    @property
    def seeds(self) -> int: ...
    @property
    def reaction_s(self) -> float: ...
    @property
    def plan_s(self) -> float: ...
    @property
    def ranges(self) -> Sequence[RangeShown]: ...
    @property
    def problems(self) -> Sequence[str]: ...
    @property
    def passed(self) -> bool: ...


class VerdictShown(Protocol):
    @property
    def subject(self) -> SubjectShown: ...
    @property
    def steps(self) -> Sequence[StepsShown]: ...
    @property
    def ranges(self) -> Sequence[RangeShown]: ...
    @property
    def seeds(self) -> int: ...
    @property
    def problems(self) -> Sequence[str]: ...
    @property
    def passed(self) -> bool: ...


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


def show_verdict(verdict: VerdictShown) -> None:
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


def show_balancer_verdict(verdict: BalancerVerdictShown) -> None:
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


def _show_ranges(ranges: Sequence[RangeShown], title: str) -> None:
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
