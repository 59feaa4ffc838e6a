"""Is another setting better than the policy in use, or was it lucky?

Settings are compared by one number, their cost in points of the nodes' CPU. What a migration
and demand that is not served weigh in it is a judgement, so a setting counts as better only if
it is so at a third and at three times of both weights. Two kinds of luck are tested apart: what
runs leave to chance (the choice of victims and of nodes) and which days were recorded. Each test
is of all settings together: who tries twenty settings finds a lucky one.
"""

from collections.abc import Sequence
from itertools import product
from typing import Literal

import numpy as np
from msgspec import Struct

from trimtab.study.results.statistics import (
    LEVEL,
    Floats,
    intervals,
    jointly_better_p_values,
    resampling,
)

Interval = tuple[float, float, float]
Sureness = Literal["days", "runs", "none"]
"""Better whatever the days and the runs' chance, better on the recorded time only, or neither."""

CHANCE = 0.025
"""A setting counts as better if luck brings forth a best one like it more rarely than this: half
of the 5 % that readers are used to, so that 19 of 20 answers stay right also where the tests'
assumption (signs as good as tossed) holds roughly."""
FEWEST = 7
"""Runs, or days: with six of them a setting that is better in all is within chance as soon as
another one is worse in all, so nothing is said."""
RANGE = 3.0


class Weights(Struct, frozen=True):
    """Points of the nodes' CPU."""

    unserved: float = 10.0
    """For a percent of the CPU demand that was not served."""
    migration: float = 1.0
    """For one migration of every VM in a day."""


WEIGHTS = Weights()


class Measured(Struct, frozen=True):
    """(settings, runs, days) each."""

    level: Floats
    unserved: Floats
    migrations: Floats
    """Of a VM, in a day."""

    def costs(self, weights: Weights) -> Floats:
        return np.asarray(
            self.level + weights.unserved * self.unserved + weights.migration * self.migrations
        )


class Versus(Struct, frozen=True, rename="camel"):
    """One setting beside the policy in use; a difference below 0 is better."""

    name: str
    difference: Interval
    """Of the cost, with an interval that is wide enough for all settings together."""
    runs_p: float
    """Chance of a best setting like it by the luck of runs, were none better."""
    days_p: float | None
    """The same by the luck of days; None if the recording has too few of them."""
    sureness: Sureness
    break_even: float | None
    """The weight of a migration at which the two cost the same; None if none above 0 does."""


class Luck(Struct, frozen=True):
    """How likely luck alone brings forth a best setting like each, were none better."""

    runs: Floats
    """(settings but the policy in use,) by the chance in runs"""
    days: Floats | None
    """the same by the choice of days; None if there are too few of them"""

    def sureness(self, setting: int) -> Sureness:
        if self.runs[setting] >= CHANCE:
            return "none"
        if self.days is None:
            return "runs"
        return "days" if self.days[setting] < CHANCE else "none"


def beside_mine(names: Sequence[str], measured: Measured, mine: int) -> tuple[Versus, ...]:
    """Every setting but `mine` beside it."""
    others = [at for at in range(len(names)) if at != mine]
    if not others:
        return ()
    luck = luck_in(measured, mine)
    costs = measured.costs(WEIGHTS)
    rows = _blocks(np.asarray(costs[others] - costs[mine]))
    ends = intervals_of(rows, 1 - (1 - LEVEL) / len(others))
    return tuple(
        Versus(
            names[at],
            _three(ends[place]),
            float(luck.runs[place]),
            None if luck.days is None else float(luck.days[place]),
            luck.sureness(place),
            _break_even(measured, at, mine),
        )
        for place, at in enumerate(others)
    )


def luck_in(measured: Measured, mine: int) -> Luck:
    """Of every setting but `mine`: the largest chance of all weights, since all must agree."""
    others = [at for at in range(len(measured.level)) if at != mine]
    _, runs, days = measured.level.shape
    if runs < FEWEST:
        return Luck(np.ones(len(others)), None)
    over_runs, over_days = [], []
    for weights in _corners():
        costs = measured.costs(weights)
        differences = costs[others] - costs[mine]
        over_runs.append(jointly_better_p_values(differences.mean(axis=2)))
        if days >= FEWEST:
            over_days.append(jointly_better_p_values(differences.mean(axis=1)))
    return Luck(np.max(over_runs, axis=0), np.max(over_days, axis=0) if over_days else None)


def _corners() -> list[Weights]:
    """The weights, and the ends of what they might be: costs are linear in between."""
    ends = product((1 / RANGE, RANGE), repeat=2)
    return [WEIGHTS, *(Weights(WEIGHTS.unserved * u, WEIGHTS.migration * m) for u, m in ends)]


def _break_even(measured: Measured, at: int, mine: int) -> float | None:
    moves = float((measured.migrations[at] - measured.migrations[mine]).mean())
    gain = float(
        (measured.level[mine] - measured.level[at]).mean()
        + WEIGHTS.unserved * (measured.unserved[mine] - measured.unserved[at]).mean()
    )
    if moves == 0 or gain / moves <= 0:
        return None
    return gain / moves


def _blocks(values: Floats) -> Floats:
    """(settings, blocks): days if there are enough of them, because they differ more than runs."""
    return np.asarray(values.mean(axis=1 if values.shape[2] >= FEWEST else 2))


def intervals_of(rows: Floats, level: float = LEVEL) -> Floats:
    """(settings, 3): a mean and its ends each; the ends are the mean where one block is all."""
    if rows.shape[1] < 2:
        return np.repeat(rows, 3, axis=1)
    return intervals(rows, resampling(rows.shape[1]), level)


def interval(values: Floats) -> Interval:
    """Of (runs, days) of one setting."""
    return _three(intervals_of(_blocks(values[None]))[0])


def _three(values: Floats) -> Interval:
    mean, low, high = values.tolist()
    return mean, low, high
