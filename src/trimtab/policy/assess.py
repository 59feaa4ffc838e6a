"""From usage to classes: percentages, mean, thresholds and the class of every node (T, C).

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab.policy.choices import Choose, Tie
from trimtab.policy.cycle import Class, CycleFigures
from trimtab.policy.doubt import order_matters, possible_classes
from trimtab.policy.file.settings import METRIC_RESOURCE, LowNodeUtilization, Plugin, Thresholds
from trimtab.policy.numbers import (
    NO_NUMBER,
    Classes,
    Flags,
    Floats,
    Integers,
    around,
    cap,
    combine_classes,
    mean_of,
    percent_of,
)
from trimtab.policy.usage import Usage, capacity_of, shown, unit_of
from trimtab.policy.view import NodeView, Selection

Percent = Mapping[str, Floats]
_HUNDRED = np.array([100], dtype=np.int64)


def assess(selection: Selection, usage: Usage, plugin: Plugin, choose: Choose) -> CycleFigures:
    """The figures of one run: levels as given, or distances from the mean (T3, T4)."""
    if isinstance(plugin, LowNodeUtilization) and plugin.deviation:
        return _around_the_mean(selection, usage, plugin, choose)
    percent = _percentages(plugin.resources, selection, usage)
    return CycleFigures(
        usage=usage.shown,
        percent=percent,
        average=None,
        low=plugin.low,
        high=plugin.high,
        classes=_classes(plugin, percent, plugin.low, plugin.high, selection.schedulable),
    )


def _around_the_mean(
    selection: Selection, usage: Usage, plugin: LowNodeUtilization, choose: Choose
) -> CycleFigures:
    percent = _percentages(tuple(plugin.low), selection, usage)
    known = _present(percent)
    doubtful: Mapping[int, frozenset[Class]] = {}
    capacity = {r: _capacity(r, selection.nodes) for r in known}
    if order_matters(known, capacity, plugin.low, plugin.high):
        doubtful = possible_classes(
            _read(percent), known, plugin.low, plugin.high, selection.schedulable
        )
        order = list(choose(Tie.MEAN, range(len(selection))))
        known = _present({r: values[order] for r, values in percent.items()})
    average = {r: float(mean_of(values)) for r, values in known.items()}
    low, high = _thresholds(average, plugin)
    return CycleFigures(
        usage=usage.shown,
        percent=percent,
        average=average,
        low=low,
        high=high,
        classes=_classes(plugin, percent, low, high, selection.schedulable),
        doubtful=doubtful,
    )


def _percentages(resources: Sequence[str], selection: Selection, usage: Usage) -> Percent:
    """By resource; NaN for nodes without that capacity (T1)."""
    return {r: _percent(r, usage.shown[r], selection.nodes) for r in resources}


def _percent(resource: str, used: Integers, nodes: Sequence[NodeView]) -> Floats:
    percent = percent_of(used, _capacity(resource, nodes))
    if resource != METRIC_RESOURCE:
        percent[[resource not in capacity_of(node) for node in nodes]] = np.nan
    return percent


def _capacity(resource: str, nodes: Sequence[NodeView]) -> Integers:
    """(nodes,) whole units; a query's percents are of 100."""
    if resource == METRIC_RESOURCE:
        return _HUNDRED
    amounts = [capacity_of(node).get(resource, 0) for node in nodes]
    return np.array([shown(resource, amount) for amount in amounts], dtype=np.int64)


def _present(percent: Percent) -> Percent:
    """Without gaps; a resource that no node has is left out, and so has no thresholds."""
    known = {}
    for r, values in percent.items():
        gaps = np.isnan(values)
        known[r] = values[~gaps] if gaps.any() else values
    return {r: values for r, values in known.items() if values.size}


def _read(percent: Percent) -> Percent:
    """What is missing reads as 0 where classes are decided (C6)."""
    return {
        r: values if r == METRIC_RESOURCE else np.nan_to_num(values, nan=0.0)
        for r, values in percent.items()
    }


def _thresholds(
    average: Mapping[str, float], plugin: LowNodeUtilization
) -> tuple[Thresholds, Thresholds]:
    both = {r: around(mean, plugin.low[r], plugin.high[r]) for r, mean in average.items()}
    return {r: low for r, (low, _) in both.items()}, {r: high for r, (_, high) in both.items()}


def _classes(
    plugin: Plugin, percent: Percent, low: Thresholds, high: Thresholds, schedulable: Flags
) -> Classes:
    """Under if all resources are, over if any is (C2, C3)."""
    below = np.ones(schedulable.shape, dtype=np.bool_)
    above = np.zeros(schedulable.shape, dtype=np.bool_)
    read = _read({r: percent[r] for r in low})
    for r, values in read.items():
        below &= values <= low[r]
        above |= values > high[r]
    if isinstance(plugin, LowNodeUtilization):
        return combine_classes(below, above, schedulable)
    # HighNodeUtilization: a cordoned node may be a source; every other schedulable node is
    # a destination, however full it is (1.7).
    return (~below & schedulable).astype(np.int8) - below.astype(np.int8)


# How far nodes are from their caps, and what the destinations can take in all (E1, E6).
#
# Amounts here are exact integers: whole percents with a Prometheus query, nano-units
# otherwise. A cap, though, is truncated to a milli-core or a whole unit first.
_MAX = 2**63


class Caps:
    """Usage and cap of each node, by resource."""

    def __init__(
        self,
        nodes: Sequence[NodeView],
        usage: Usage,
        resources: Sequence[str],
        high: Mapping[str, float],
    ) -> None:
        self._nodes, self._usage, self.resources, self._high = nodes, usage, resources, high

    def used(self, node: int) -> dict[str, int]:
        if self._usage.exact is None:
            return {r: int(values[node]) for r, values in self._usage.shown.items()}
        return dict(self._usage.exact[node])

    def caps(self, node: int) -> dict[str, int]:
        return {r: self._cap(node, r) for r in self.resources}

    def _cap(self, node: int, resource: str) -> int:
        if self._usage.exact is None:
            return self._threshold(resource, 100)
        if resource == METRIC_RESOURCE:
            return self._threshold(resource, 100) * unit_of(resource)
        capacity = capacity_of(self._nodes[node])
        if resource not in capacity:
            return 0
        if resource not in self._high:
            return capacity[resource]
        whole = shown(resource, capacity[resource])
        return self._threshold(resource, whole) * unit_of(resource)

    def _threshold(self, resource: str, capacity: int) -> int:
        high = self._high.get(resource)
        return capacity if high is None else cap(high, capacity)

    def headroom(self, destinations: NDArray[np.intp]) -> dict[str, int]:
        """Sum of cap less usage over the destinations; computed once, shared by all sources."""
        if self._usage.exact is None:
            return {r: self._percents(r, destinations) for r in self.resources}
        total = dict.fromkeys(self.resources, 0)
        for node in destinations.tolist():
            used, caps = self.used(node), self.caps(node)
            for r in self.resources:
                total[r] += caps[r] - used[r]
        return total

    def _percents(self, resource: str, destinations: NDArray[np.intp]) -> int:
        used = self._usage.shown[resource][destinations]
        each = self._threshold(resource, 100)
        if used.min() == NO_NUMBER:
            return _as_quantity(each, used.tolist())
        return each * len(used) - int(used.sum())

    def in_units(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """As the log prints them."""
        if self._usage.exact is None:
            return dict(amounts)
        return {r: shown(r, amount) for r, amount in amounts.items()}


def _as_quantity(each: int, used: Iterable[int]) -> int:
    """The sum as Kubernetes' Quantity computes it with what amd64 makes of NaN (P8).

    Subtracting the smallest integer adds it instead, as long as the result fits into 64
    bits; where it does not, the sum goes on in exact arithmetic.
    """
    total, exact = 0, False
    for one in used:
        for step, negated in ((each, each), (-one, one if one == NO_NUMBER else -one)):
            if not exact and -_MAX <= total + negated < _MAX:
                total += negated
            else:
                exact = True
                total += step
    return total
