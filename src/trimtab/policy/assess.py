"""From usage to classes: percentages, mean, thresholds and the class of every node (T, C)."""

from collections.abc import Mapping, Sequence

import numpy as np

from trimtab.policy.choices import Choose, Tie
from trimtab.policy.cycle import Class, Figures
from trimtab.policy.doubt import order_matters, possible_classes
from trimtab.policy.file.settings import METRIC_RESOURCE, LowNodeUtilization, Plugin, Thresholds
from trimtab.policy.numbers import (
    Classes,
    Flags,
    Floats,
    Integers,
    around,
    combine_classes,
    mean_of,
    percent_of,
)
from trimtab.policy.usage import Usage, capacity_of, shown
from trimtab.policy.view import NodeView, Selection

Percent = Mapping[str, Floats]
_HUNDRED = np.array([100], dtype=np.int64)


def assess(selection: Selection, usage: Usage, plugin: Plugin, choose: Choose) -> Figures:
    """The figures of one run: levels as given, or distances from the mean (T3, T4)."""
    if isinstance(plugin, LowNodeUtilization) and plugin.deviation:
        return _around_the_mean(selection, usage, plugin, choose)
    percent = _percentages(plugin.resources, selection, usage)
    return Figures(
        usage=usage.shown,
        percent=percent,
        average=None,
        low=plugin.low,
        high=plugin.high,
        classes=_classes(plugin, percent, plugin.low, plugin.high, selection.schedulable),
    )


def _around_the_mean(
    selection: Selection, usage: Usage, plugin: LowNodeUtilization, choose: Choose
) -> Figures:
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
    return Figures(
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
