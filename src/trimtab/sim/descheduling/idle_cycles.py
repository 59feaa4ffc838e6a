"""A shortcut for descheduling cycles that evict nothing: all replicas are checked at once.

Once a cluster is level most cycles end with "no node is over-utilised". For the usual policy
(one LowNodeUtilization, deviation thresholds, a Prometheus query) the arrays of `policy.numbers`
show this without the full decision. Where the order of a sum might matter, the full decision is
made instead: the results are the same with and without the shortcut.
"""

from collections.abc import Sequence
from math import nan

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.policy.file.settings import METRIC_RESOURCE, LowNodeUtilization, Policy, UsageSource
from trimtab.policy.numbers import (
    classify_nodes,
    mean_of,
    percent_of,
    thresholds_around,
    usage_of,
)
from trimtab.policy.view import PlainNode
from trimtab.sim.descheduling.descheduler import CycleDecision
from trimtab.sim.fleet import Flags, Floats
from trimtab.sim.replica import Replica

DOUBT = 1e-9  # the order of a sum moves a threshold by far less


class IdleReplicas(Struct, frozen=True, eq=False):
    """Which replicas have nothing to do, and what the policy says of their nodes.

    idle: (replicas,) certainly nothing to do; only there the rest is valid.
    classes: (replicas, nodes); low, high: (replicas,)
    """

    idle: Flags
    classes: NDArray[np.int8]
    low: Floats
    high: Floats


class IdleCycles:
    """Decides for replicas whose last cycle found no over-utilised node, if it certainly can."""

    def __init__(
        self, policy: Policy, nodes: Sequence[PlainNode], replicas: Sequence[Replica]
    ) -> None:
        every = all(policy.node_selector.matches(node.labels) for node in nodes)
        self._span = span_of(policy) if every else None
        self._replicas = replicas
        self._calm = [False for _ in replicas]
        """Nothing was over-utilised in the last cycle."""
        self._found: tuple[int, IdleReplicas | None] = -1, None
        """The cycle that was judged last, and what came of it."""

    def decide(self, r: int, cycle: int, scores: Floats) -> CycleDecision | None:
        """The decision for a replica that has nothing to do; None if that is not certain."""
        if not self._calm[r]:
            return None
        if self._found[0] != cycle:
            self._found = cycle, self._find(scores)
        found = self._found[1]
        if found is None or not found.idle[r]:
            return None
        return CycleDecision(found.classes[r], float(found.low[r]), float(found.high[r]))

    def learn(self, r: int, decision: CycleDecision) -> None:
        self._calm[r] = not (decision.classes > 0).any()

    def _find(self, scores: Floats) -> IdleReplicas | None:
        """Judge all replicas at once, where the policy's kind and the scores allow it."""
        cluster = self._replicas[0].cluster
        if self._span is None or cluster.lost.any() or scores.shape[1] < 2:
            return None
        if not ((scores >= 0.0) & (scores <= 1.0)).all():
            return None
        return find_idle(scores, self._span, ~cluster.cordoned)


def span_of(policy: Policy) -> tuple[float, float] | None:
    """The deviation thresholds of the usual kind of policy; None for any other kind."""
    plugins = [plugin for profile in policy.profiles for _, plugin in profile.plugins]
    if len(plugins) != 1 or not isinstance(plugins[0], LowNodeUtilization):
        return None
    plugin = plugins[0]
    if plugin.source is not UsageSource.PROMETHEUS or plugin.broken or not plugin.deviation:
        return None
    return plugin.low.get(METRIC_RESOURCE, nan), plugin.high.get(METRIC_RESOURCE, nan)


def find_idle(scores: Floats, span: tuple[float, float], schedulable: Flags) -> IdleReplicas:
    """Judge scores (replicas, nodes) within 0..1, all of them of selected nodes."""
    percent = percent_of(usage_of(scores), 100)
    low, high = thresholds_around(mean_of(percent), *span)
    surely_not_over = (percent <= high[:, None] - DOUBT).all(axis=1)
    no_doubt = (np.abs(percent - low[:, None]) > DOUBT).all(axis=1)
    classes = classify_nodes(percent, low, high, schedulable)
    return IdleReplicas(np.asarray(surely_not_over & no_doubt), classes, low, high)
