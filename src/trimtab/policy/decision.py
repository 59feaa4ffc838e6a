"""One descheduling cycle as a function: what the descheduler would do with this cluster.

Nothing is read but the view and nothing is changed: the caller applies the evictions, and
tells the in-flight cache of those in background (`InFlight.assume`).

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trimtab.policy.assess import Caps, assess
from trimtab.policy.choices import Answers, Choose, Tie, as_given, willing
from trimtab.policy.cycle import Class, Cycle, CycleFigures, PluginRun, Reason, Visit, VisitEnd
from trimtab.policy.evict import Destinations, EvictionEngine, Evictions, order_sources
from trimtab.policy.file.settings import LowNodeUtilization, Plugin, Policy, Profile, UsageSource
from trimtab.policy.inflight import EMPTY, InFlight
from trimtab.policy.pods.filters import Filter
from trimtab.policy.pods.fit import PreEviction
from trimtab.policy.usage import Usage, measure
from trimtab.policy.view import ClusterView, Selection

_UNDER, _OVER = int(Class.UNDER), int(Class.OVER)  # NumPy compares with an enum slowly


def decide(
    view: ClusterView,
    policy: Policy,
    inflight: InFlight = EMPTY,
    choose: Choose = as_given,
    *,
    background: bool = True,
    answer: Answers = willing,
    nan: Literal["raise", "amd64"] = "raise",
) -> Cycle:
    """Decide one cycle.

    `choose` puts ties in order; `answer` says what the API server makes of an eviction;
    `background` is the feature gate EvictionsInBackground. A NaN sample raises
    `NotANumberError` unless `nan` asks for what amd64 does with it (P8).
    """
    selection = view.selected(policy.node_selector)
    if len(selection) <= 1:
        text = f"Skipping descheduling cycle: requires >=2 nodes, found {len(selection)}"
        return Cycle(
            nodes=selection.names, skipped=Reason("R4", text), unmodelled=policy.unmodelled
        )
    cycle = _Cycle(view, selection, Evictions(policy, inflight, answer, background), choose, nan)
    runs = tuple(
        cycle.run(profile, name, plugin)
        for profile in policy.profiles
        for name, plugin in profile.plugins
    )
    return Cycle(nodes=selection.names, runs=runs, unmodelled=policy.unmodelled)


class _Cycle:
    """The cycle under way."""

    def __init__(
        self,
        view: ClusterView,
        selection: Selection,
        evictions: Evictions,
        choose: Choose,
        nan: Literal["raise", "amd64"],
    ) -> None:
        self._view, self._selection, self._evictions = view, selection, evictions
        self._choose, self._nan = choose, nan

    def run(self, profile: Profile, name: str, plugin: Plugin) -> PluginRun:
        source = plugin.source if isinstance(plugin, LowNodeUtilization) else UsageSource.REQUESTS
        if isinstance(plugin, LowNodeUtilization) and plugin.broken:
            error = Reason("P11", f"error initializing usage client: {plugin.broken}")
            return PluginRun(profile=profile.name, plugin=name, error=error)
        usage = measure(self._view, self._selection, plugin, source, self._nan)
        if isinstance(usage, Reason):
            return PluginRun(profile=profile.name, plugin=name, error=usage)
        figures = assess(self._selection, usage, plugin, self._choose)
        if reason := _nothing_to_do(figures, plugin):
            return PluginRun(profile=profile.name, plugin=name, exit=reason, figures=figures)
        return self._balance(profile, name, plugin, source, usage, figures)

    def _balance(
        self,
        profile: Profile,
        name: str,
        plugin: Plugin,
        source: UsageSource,
        usage: Usage,
        figures: CycleFigures,
    ) -> PluginRun:
        low_to_high = not isinstance(plugin, LowNodeUtilization)
        under, over = (np.flatnonzero(figures.classes == c) for c in (_UNDER, _OVER))
        sources, targets = (under, over) if low_to_high else (over, under)
        caps = Caps(self._selection.nodes, usage, plugin.resources, figures.high)
        headroom = caps.headroom(targets)
        totals = np.stack([figures.usage[r][sources] for r in plugin.resources]).sum(axis=0)
        groups = order_sources(sources, totals if low_to_high else -totals)
        engine = self._engine(profile, plugin, source, targets, dict(headroom))
        return PluginRun(
            profile=profile.name,
            plugin=name,
            figures=figures,
            headroom=caps.in_units(headroom),
            sources=groups,
            targets=targets,
            visits=tuple(self._visits(engine, groups, caps)),
        )

    def _engine(
        self,
        profile: Profile,
        plugin: Plugin,
        source: UsageSource,
        targets: NDArray[np.intp],
        headroom: dict[str, int],
    ) -> EvictionEngine:
        low = plugin if isinstance(plugin, LowNodeUtilization) else None
        return EvictionEngine(
            view=self._view,
            filter=Filter(profile.evictor, self._view),
            pre_eviction=PreEviction(profile.evictor, self._view),
            evictions=self._evictions,
            destinations=Destinations(self._selection.nodes, targets),
            choose=self._choose,
            source=source,
            resources=plugin.resources,
            headroom=headroom,
            must_be_above_cap=low is not None,
            excluded=plugin.excluded,
            node_limit=None if low is None else low.node_limit,
            only_requesting=_only_requesting(plugin),
        )

    def _visits(
        self, engine: EvictionEngine, groups: tuple[tuple[int, ...], ...], caps: Caps
    ) -> Iterator[Visit]:
        names = self._selection.names
        for group in groups:
            for node in self._choose(Tie.SOURCES, group) if len(group) > 1 else group:
                visit = engine.visit(names[node], caps.used(node), caps.caps(node))
                yield visit
                if visit.stop is VisitEnd.TOTAL_LIMIT:
                    return


def _only_requesting(plugin: Plugin) -> frozenset[str]:
    if isinstance(plugin, LowNodeUtilization) or not plugin.only_thresholding_resources:
        return frozenset()
    return frozenset(plugin.low)


def _nothing_to_do(figures: CycleFigures, plugin: Plugin) -> Reason | None:
    """The early exits, in their order (1.5, 1.7)."""
    classes = figures.classes
    under = int(np.count_nonzero(classes == _UNDER))
    if under == 0:
        return Reason("1.5.1", "No node is underutilized, nothing to do here")
    if under <= plugin.number_of_nodes:
        return Reason(
            "1.5.2",
            f"Number of nodes underutilized ({under}) is less or equal than NumberOfNodes "
            f"({plugin.number_of_nodes}), nothing to do here",
        )
    if under == classes.size:
        return Reason("1.5.3", "All nodes are underutilized, nothing to do here")
    if np.count_nonzero(classes == _OVER):
        return None
    if isinstance(plugin, LowNodeUtilization):
        return Reason("1.5.4", "All nodes are under target utilization, nothing to do here")
    return Reason("1.7.4", "No node is available to schedule the pods, nothing to do here")
