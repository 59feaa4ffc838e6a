"""The wrong pieces that mutants are made of: each is a rule of ours with one mistake."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import structs

from trimtab.model.quantity import NANO
from trimtab.policy import decision
from trimtab.policy.cycle import PodOutcome, Reason, VisitedPod, VisitEnd
from trimtab.policy.evict import Destinations, EvictionEngine
from trimtab.policy.file.settings import LowNodeUtilization, UsageSource
from trimtab.policy.pods.taints import counts_as_destination, tolerates_for_scheduling

decide: Any = decision  # Any: mistakes replace what it keeps private
Change = tuple[Any, str, Any]


def usage_by(rounded: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda values, nan: rounded(np.nan_to_num(values) * 100.0).astype(np.int64)


def first_sample(vector: Any, selection: Any) -> Any:
    first: dict[Any, int] = {}
    for at, instance in enumerate(vector.instances):
        first.setdefault(instance, at)
    if any(name not in first for name in selection.names):
        return Reason("P7", "error getting node usage: unable to find metric entry for n00")
    return vector.values[[first[name] for name in selection.names]]


def missing_is_zero(vector: Any, selection: Any) -> Any:
    last = dict(zip(vector.instances, vector.values.tolist(), strict=True))
    return np.array([last.get(name, 0.0) for name in selection.names])


def percent_of(used: Any, capacity: Any) -> Any:
    whole = np.asarray(capacity, dtype=np.float64)
    safe = np.where(whole > 0, whole, 1.0)
    return np.where(whole > 0, used.astype(np.float64) * 100.0 / safe, 0.0)


def classes(
    under: Any = np.less_equal,
    over: Any = np.greater,
    all_below: bool = True,
    any_above: bool = True,
    cordoned_under: bool = False,
    cordoned_takes: bool = False,
) -> Callable[..., Any]:
    """The classification with one operator or quantifier exchanged."""

    def wrong(plugin: Any, percent: Any, low: Any, high: Any, schedulable: Any) -> Any:
        read = {r: np.nan_to_num(percent[r], nan=0.0) for r in low}
        each_below = [under(values, low[r]) for r, values in read.items()]
        each_above = [over(values, high[r]) for r, values in read.items()]
        below = _combined(each_below, schedulable, every=all_below)
        above = _combined(each_above, schedulable, every=not any_above)
        if isinstance(plugin, LowNodeUtilization):
            found = below & (schedulable | cordoned_under)
            return (above & ~found).astype(np.int8) - found.astype(np.int8)
        return (~below & (schedulable | cordoned_takes)).astype(np.int8) - below.astype(np.int8)

    return wrong


def _combined(flags: list[Any], like: Any, *, every: bool) -> Any:
    if not flags:
        return np.full(like.shape, every)
    return np.logical_and.reduce(flags) if every else np.logical_or.reduce(flags)


def fewer_nodes() -> Change:
    real = decide._nothing_to_do

    def wrong(figures: Any, plugin: Any) -> Any:
        fewer = max(plugin.number_of_nodes - 1, 0)
        return real(figures, structs.replace(plugin, number_of_nodes=fewer))

    return decide, "_nothing_to_do", wrong


def never_all_under() -> Change:
    real = decide._nothing_to_do

    def wrong(figures: Any, plugin: Any) -> Any:
        reason = real(figures, plugin)
        if reason is not None and reason.rule == "1.5.3":
            return Reason("1.5.4", "All nodes are under target utilization, nothing to do here")
        return reason

    return decide, "_nothing_to_do", wrong


def sources(changed: Callable[[Any], Any]) -> Change:
    real = decide.order_sources
    return decide, "order_sources", lambda nodes, totals: real(nodes, changed(totals))


def stop(at_cap: bool = False, at_zero: bool = False, any_room: bool = False) -> Callable[..., Any]:
    """The continue condition, too willing."""

    def wrong(
        self: EvictionEngine, used: Mapping[str, int], caps: Mapping[str, int]
    ) -> VisitEnd | None:
        above = any(used[r] > caps[r] or (at_cap and used[r] == caps[r]) for r in used)
        if self.must_be_above_cap and not above:
            return VisitEnd.NOT_ABOVE_CAP
        full = [room < 0 or (room == 0 and not at_zero) for room in self.headroom.values()]
        if all(full) if any_room else any(full):
            return VisitEnd.NO_HEADROOM
        return None

    return wrong


def only_the_source(self: EvictionEngine, usage: Any, used: dict[str, int]) -> None:
    for r in self.headroom:
        used[r] -= NANO if r == "pods" else usage.get(r, 0)


def pods_stay(self: EvictionEngine, usage: Any, used: dict[str, int]) -> None:
    for r in self.headroom:
        used[r] -= usage.get(r, 0)
        self.headroom[r] -= usage.get(r, 0)


def engine_without(rule: str) -> Callable[..., VisitEnd]:
    """The loop over the pods of a source, without one of its rules."""

    def has(name: str) -> bool:
        return rule != name

    def take(
        self: EvictionEngine,
        node: str,
        pods: Iterator[Any],
        used: dict[str, int],
        caps: Mapping[str, int],
        steps: list[VisitedPod],
    ) -> VisitEnd:
        counter = 0
        for pod in pods:
            limit = self.node_limit
            if limit is not None and counter >= limit + (not has("exact_limit")):
                return VisitEnd.PLUGIN_LIMIT
            outcome, usage = self._try(pod, node)
            steps.append(VisitedPod(pod, outcome))
            if outcome is PodOutcome.NODE_LIMIT and has("node_limit_stops"):
                return VisitEnd.NODE_LIMIT
            if outcome is PodOutcome.NAMESPACE_LIMIT and not has("namespace_limit_goes_on"):
                return VisitEnd.NODE_LIMIT
            if outcome is PodOutcome.TOTAL_LIMIT:
                return VisitEnd.TOTAL_LIMIT
            counts = outcome.is_eviction
            counts |= outcome is PodOutcome.IN_FLIGHT and has("in_flight_counts")
            counts |= outcome is PodOutcome.REFUSED and not has("refusal_is_none")
            if not counts:
                continue
            if usage is None and limit is None and has("one_pod"):
                return VisitEnd.ONE_POD
            counter += 1
            if usage is not None:
                self._subtract(usage, used)
                if self._stop(used, caps):
                    return VisitEnd.LEVELLED
        return VisitEnd.EXHAUSTED

    return take


def hard_only(tolerations: Any, taints: Any) -> bool:
    hard = [t for t in taints if t.effect != "PreferNoSchedule"]
    return len(tolerations) >= len(taints) and tolerates_for_scheduling(tolerations, hard)


def all_tolerated(self: Destinations, traits: Any) -> bool:
    return all(counts_as_destination(traits.tolerations, node.taints) for node in self._nodes)


def try_all_namespaces(self: EvictionEngine, pod: Any, node: str) -> Any:
    excluded, self.excluded = self.excluded, frozenset()
    try:
        return _TRY(self, pod, node)
    finally:
        self.excluded = excluded


def fit_first(self: EvictionEngine, pod: Any, node: str) -> Any:
    if self.destinations.tolerated_by(pod.traits) and not self.pre_eviction.passes(pod, node):
        return PodOutcome.PRE_EVICTION_FILTER, None
    return _TRY(self, pod, node)


_TRY = EvictionEngine._try


def usage_or_zero(self: EvictionEngine, pod: Any) -> Any:
    known = _USAGE_OF(self, pod)
    return {} if known is None and self.source is not UsageSource.PROMETHEUS else known


_USAGE_OF = EvictionEngine._usage_of


def every_pod_requests() -> Change:
    return decide, "_only_requesting", lambda plugin: frozenset()
