"""The covering problem of one node, solved exactly by branch and bound.

min Σ w·y  with  Σ cpu·y ≥ excess of CPU, Σ memory·y ≥ excess of memory, y ∈ {0, 1}

A node has a dozen to a hundred VMs and an excess of a few, so a depth-first search with the
bound of one weighted sum of both constraints ends after some hundred steps. A solver's
start alone costs more: HiGHS took 45 ms of CPU a node, this about 1 ms. The judge in the
tests is a search through all choices. Where the search does not end within its limit, the
bound that it has proved by then is returned, which is valid and only weaker.
"""

from bisect import bisect_left
from itertools import accumulate
from math import ceil, inf
from typing import Any

import numpy as np
from msgspec import Struct

from trimtab.balance.problem import CPU, MEMORY, SLACK, Floats

STEPS, STEPS_WEIGHED = 20_000, 2_000
"""Weights that are not whole prune less; their last two per mille are not worth ten times."""
WEIGHTS = np.linspace(0.0, 1.0, 33)


# A list that grows at its head and is shared by the branches that begin alike.
_Chosen = Any
_NOBODY: _Chosen = None


class Covering(Struct, frozen=True):
    """The answer: a proved lower bound, and whether a choice of VMs of that weight exists."""

    least: float
    exact: bool
    chosen: tuple[int, ...] = ()
    """Columns of the loads that reach the excess with that weight, if such were found."""


def fewest(loads: Floats, excess: Floats, *, steps: int = STEPS) -> Covering:
    """The smallest number of VMs whose loads (2, M) reach the excess (2,)."""
    return least_weight(loads, np.ones(loads.shape[1]), excess, whole=True, steps=steps)


def least_weight(
    loads: Floats,
    weights: Floats,
    excess: Floats,
    *,
    whole: bool = False,
    steps: int = STEPS_WEIGHED,
) -> Covering:
    """The smallest sum of weights (M,) whose loads reach the excess; `whole`: all are integers."""
    if not (excess > SLACK).any():
        return Covering(0.0, True)
    if (loads.sum(axis=1) < excess - SLACK).any():
        return Covering(inf, True)
    return _Search(loads, weights, excess, whole, steps).run()


def best_mix(
    loads: Floats, weights: Floats, excess: Floats, mixes: Floats = WEIGHTS
) -> tuple[Floats, Floats]:
    """The weighted sum of both constraints that demands most, and what it demands.

    One fractional knapsack for each of the mixes, all at once. Nodes with as many VMs each
    may be stacked: loads (..., 2, M), weights (..., M), excess (..., 2).
    """
    mixed, wanted = mix(loads, excess, mixes)
    weights = np.broadcast_to(weights[..., None, :], mixed.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(mixed > 0, weights / mixed, inf)
    order = np.argsort(ratio, axis=-1, kind="stable")
    reached = np.cumsum(np.take_along_axis(mixed, order, axis=-1), axis=-1)
    carried = np.cumsum(np.take_along_axis(weights, order, axis=-1), axis=-1)
    demands = _fraction(reached, carried, wanted)
    best = demands.argmax(axis=-1)
    return mixes[best], np.take_along_axis(demands, best[..., None], axis=-1)[..., 0]


def mix(loads: Floats, excess: Floats, mixes: Floats) -> tuple[Floats, Floats]:
    """Loads (..., 2, M) and excess (..., 2) of both resources as one, for each of the mixes."""
    rest = 1 - mixes
    mixed = mixes[:, None] * loads[..., None, CPU, :] + rest[:, None] * loads[..., None, MEMORY, :]
    return mixed, mixes * excess[..., CPU, None] + rest * excess[..., MEMORY, None]


def _fraction(reached: Floats, carried: Floats, wanted: Floats) -> Floats:
    """What is carried where `wanted` is reached, the last VM in part: `np.interp` row by row."""
    start = np.zeros((*reached.shape[:-1], 1))
    reached = np.concatenate([start, reached], axis=-1)
    carried = np.concatenate([start, carried], axis=-1)
    whole = np.count_nonzero(reached <= wanted[..., None], axis=-1)[..., None] - 1
    part = np.minimum(whole + 1, reached.shape[-1] - 1)
    before, after = (np.take_along_axis(reached, at, axis=-1) for at in (whole, part))
    least, most = (np.take_along_axis(carried, at, axis=-1) for at in (whole, part))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (most - least) / (after - before) * (wanted[..., None] - before) + least
    found = np.where(part > whole, between, most)[..., 0]
    return np.where(wanted <= SLACK, 0.0, found)


class _Search:
    """Depth first over the VMs in the order of weight for each unit of the mixed load."""

    def __init__(
        self, loads: Floats, weights: Floats, excess: Floats, whole: bool, steps: int
    ) -> None:
        share, self._root = map(float, best_mix(loads, weights, excess))
        mixed = share * loads[CPU] + (1 - share) * loads[MEMORY]
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(np.where(mixed > 0, weights / mixed, inf), kind="stable")
        self._mix, self._whole = share, whole
        self._most = steps
        self._order = order.tolist()
        self._cpu, self._memory = loads[CPU, order].tolist(), loads[MEMORY, order].tolist()
        self._weight = weights[order].tolist()
        self._reached = [0.0, *accumulate(mixed[order].tolist())]
        self._carried = [0.0, *accumulate(self._weight)]
        self._cpu_left = [*accumulate(reversed(self._cpu), initial=0.0)][::-1]
        self._memory_left = [*accumulate(reversed(self._memory), initial=0.0)][::-1]
        self._excess = float(excess[CPU]), float(excess[MEMORY])

    def run(self) -> Covering:
        best, chosen, steps = inf, _NOBODY, 0
        stack: list[tuple[int, float, float, float, _Chosen]] = [(0, 0.0, *self._excess, _NOBODY)]
        while stack:
            steps += 1
            if steps > self._most:
                return Covering(self._rounded(self._root), False, self._columns(chosen))
            at, spent, cpu, memory, taken = stack.pop()
            if cpu <= SLACK and memory <= SLACK:
                if spent < best:
                    best, chosen = spent, taken
                continue
            if cpu > self._cpu_left[at] + SLACK or memory > self._memory_left[at] + SLACK:
                continue
            if self._rounded(spent + self._demand(at, cpu, memory)) >= best - SLACK:
                continue
            stack.append((at + 1, spent, cpu, memory, taken))
            more = spent + self._weight[at]
            if more < best - SLACK:
                left = cpu - self._cpu[at], memory - self._memory[at]
                stack.append((at + 1, more, *left, (at, taken)))
        return Covering(best, True, self._columns(chosen))

    def _columns(self, chosen: "_Chosen") -> tuple[int, ...]:
        found = []
        while chosen is not None:
            at, chosen = chosen
            found.append(int(self._order[at]))
        return tuple(found)

    def _demand(self, at: int, cpu: float, memory: float) -> float:
        """What the rest costs at least: a fractional knapsack of the mixed load from `at` on."""
        wanted = self._mix * cpu + (1 - self._mix) * memory
        if wanted <= SLACK:
            return 0.0
        goal = self._reached[at] + wanted - SLACK
        last = bisect_left(self._reached, goal)
        if last >= len(self._reached):
            return inf
        part = (goal - self._reached[last - 1]) / (self._reached[last] - self._reached[last - 1])
        whole = self._carried[last - 1] - self._carried[at]
        return float(whole + part * self._weight[last - 1])

    def _rounded(self, value: float) -> float:
        return ceil(value - 1e-6) if self._whole and value < inf else value
