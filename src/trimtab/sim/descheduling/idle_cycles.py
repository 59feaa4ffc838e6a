"""Which replicas have nothing to do this cycle: one look at all of them at once.

Once a cluster is level most cycles end with "no node is over-utilised". For the usual
policy (one LowNodeUtilization, deviation thresholds, a Prometheus query) that is visible in
the numbers of `policy.numbers` alone. Wherever the order of a sum might matter the full
decision is taken instead, so nothing depends on whether a glance was enough.
"""

from math import nan

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.policy import Policy
from trimtab.policy.file.settings import METRIC_RESOURCE, LowNodeUtilization, Source
from trimtab.policy.numbers import (
    classify_nodes,
    mean_of,
    percent_of,
    thresholds_around,
    usage_of,
)
from trimtab.sim.fleet import Floats
from trimtab.sim.placement.cluster import Flags

DOUBT = 1e-9  # the order of a sum moves a threshold by far less


class Glance(Struct, frozen=True, eq=False):
    """What was seen of all replicas.

    idle: (replicas,) certainly nothing to do; only there the rest is valid.
    classes: (replicas, nodes); low, high: (replicas,)
    """

    idle: Flags
    classes: NDArray[np.int8]
    low: Floats
    high: Floats


def span_of(policy: Policy) -> tuple[float, float] | None:
    """The deviation thresholds of the usual kind of policy; None for any other kind."""
    plugins = [plugin for profile in policy.profiles for _, plugin in profile.plugins]
    if len(plugins) != 1 or not isinstance(plugins[0], LowNodeUtilization):
        return None
    plugin = plugins[0]
    if plugin.source is not Source.PROMETHEUS or plugin.broken or not plugin.deviation:
        return None
    return plugin.low.get(METRIC_RESOURCE, nan), plugin.high.get(METRIC_RESOURCE, nan)


def glance(scores: Floats, span: tuple[float, float], schedulable: Flags) -> Glance:
    """Look at scores (replicas, nodes) within 0..1, all of them of selected nodes."""
    percent = percent_of(usage_of(scores), 100)
    low, high = thresholds_around(mean_of(percent), *span)
    surely_not_over = (percent <= high[:, None] - DOUBT).all(axis=1)
    no_doubt = (np.abs(percent - low[:, None]) > DOUBT).all(axis=1)
    classes = classify_nodes(percent, low, high, schedulable)
    return Glance(np.asarray(surely_not_over & no_doubt), classes, low, high)
