"""Which classes a node may get when the last bit of the mean decides (T5).

Go adds the percentages up in random order. Sums of whole percents are exact in any order,
but eight of them are not whole after division and multiplication (28 becomes
28.000000000000004), and then a node at the threshold may fall on either side.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from trimtab.policy.cycle import Class
from trimtab.policy.numbers import (
    Classes,
    Flags,
    Floats,
    Integers,
    around,
    caps_of,
    combine_classes,
    mean_of,
)

_ULP = 2.0**-53
_MAX_STATES = 2_000
"""Partial sums of up to about ten nodes are enumerated; beyond that the bounds serve."""

Bounds = tuple[float, float]


def mean_bounds(percent: Floats) -> Bounds:
    """An interval that holds the mean for every order of summation."""
    mean = float(mean_of(percent))
    if np.array_equal(percent, np.rint(percent)) and np.abs(percent).sum() < 2**53:
        return mean, mean
    # Two orders differ by at most 2 (n-1) ulp of the sum of magnitudes; dividing adds one more.
    slack = 2 * (percent.size + 2) * _ULP * float(np.abs(percent).mean())
    return mean - slack, mean + slack


def order_matters(
    percent: Mapping[str, Floats],
    capacity: Mapping[str, Integers],
    low: Mapping[str, float],
    high: Mapping[str, float],
) -> bool:
    """Some class or integer cap may depend on the order of the sum. No gaps, no empty arrays."""
    return any(
        _undecided(values, capacity[r], mean_bounds(values), low[r], high[r])
        for r, values in percent.items()
    )


def _undecided(percent: Floats, capacity: Integers, mean: Bounds, low: float, high: float) -> bool:
    if mean[0] == mean[1]:
        return False
    (low_from, high_from), (low_to, high_to) = (around(m, low, high) for m in mean)
    return bool(
        ((percent <= low_from) != (percent <= low_to)).any()
        or ((percent > high_from) != (percent > high_to)).any()
        or (caps_of(high_from, capacity) != caps_of(high_to, capacity)).any()
    )


def possible_classes(
    percent: Mapping[str, Floats],
    known: Mapping[str, Floats],
    low: Mapping[str, float],
    high: Mapping[str, float],
    schedulable: Flags,
) -> Mapping[int, frozenset[Class]]:
    """The nodes with more than one possible class; `known` holds what the mean is made of.

    Exact for one resource and few nodes, where every sum is enumerated; otherwise from the
    bounds, and then it may allow a class that no order really gives.
    """
    means = possible_means(next(iter(known.values()))) if len(known) == 1 else None
    if means is None:
        return _several(_from_bounds(percent, known, low, high, schedulable))
    (name,) = known
    found = []
    for mean in means:
        below, above = around(mean, low[name], high[name])
        found.append(combine_classes(percent[name] <= below, percent[name] > above, schedulable))
    return _several(found)


def possible_means(percent: Floats) -> tuple[float, ...] | None:
    """Every mean that some order gives, or None if there are too many orders to try."""
    return _possible_means(tuple(sorted(percent.tolist())))


@lru_cache(maxsize=64)
def _possible_means(percents: tuple[float, ...]) -> tuple[float, ...] | None:
    """A cluster is assessed again and again while its loads stay; ten nodes take 0.07 s."""
    counts = Counter(percents)
    if np.prod([float(n + 1) for n in counts.values()]) > _MAX_STATES:
        return None
    values, available = list(counts), tuple(counts.values())
    sums = {tuple(0 for _ in values): {0.0}}
    for _ in percents:
        sums = _one_more(sums, values, available)
    return tuple(sorted({total / float(len(percents)) for total in sums[available]}))


def _one_more(
    sums: dict[tuple[int, ...], set[float]], values: list[float], available: tuple[int, ...]
) -> dict[tuple[int, ...], set[float]]:
    longer: dict[tuple[int, ...], set[float]] = {}
    for used, totals in sums.items():
        for at, value in enumerate(values):
            if used[at] < available[at]:
                state = (*used[:at], used[at] + 1, *used[at + 1 :])
                longer.setdefault(state, set()).update(total + value for total in totals)
    return longer


def _from_bounds(
    percent: Mapping[str, Floats],
    known: Mapping[str, Floats],
    low: Mapping[str, float],
    high: Mapping[str, float],
    schedulable: Flags,
) -> list[Classes]:
    """Classes under each combination of low and high thresholds at an end of their interval."""
    shape = schedulable.shape
    below = [np.ones(shape, np.bool_), np.ones(shape, np.bool_)]
    above = [np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)]
    for r, values in known.items():
        for end, mean in enumerate(mean_bounds(values)):
            low_at, high_at = around(mean, low[r], high[r])
            below[end] = below[end] & (percent[r] <= low_at)
            above[end] = above[end] | (percent[r] > high_at)
    return [combine_classes(b, a, schedulable) for b in below for a in above]


def _several(found: list[Classes]) -> dict[int, frozenset[Class]]:
    table = np.stack(found)
    unsure = np.flatnonzero((table != table[0]).any(axis=0))
    return {int(at): frozenset(Class(c) for c in table[:, at].tolist()) for at in unsure}
