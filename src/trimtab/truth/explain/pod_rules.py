"""Why a pod may or may not be evicted, rule by rule: what `explain` shows.

`decide` stops at the first reason; here all of them are collected, for any pod on any
node, whether the cycle came to it or not.
"""

from collections.abc import Iterator, Sequence

from trimtab.policy.cycle import Reason
from trimtab.policy.evict import Destinations
from trimtab.policy.file.settings import HighNodeUtilization, Plugin, Profile
from trimtab.policy.pods.filters import Filter
from trimtab.policy.pods.fit import PreEviction
from trimtab.policy.view import ClusterView, NodeView, PodView


class Judge:
    """Judges the pods of one view for one plugin of one profile."""

    def __init__(
        self,
        view: ClusterView,
        profile: Profile,
        plugin: Plugin,
        destinations: Sequence[NodeView],
    ) -> None:
        self._plugin = plugin
        self._filter = Filter(profile.evictor, view)
        self._pre_eviction = PreEviction(profile.evictor, view)
        self._destinations = Destinations(destinations)

    def reasons(self, pod: PodView, node: str) -> tuple[Reason, ...]:
        """Everything that keeps the pod on `node`, in the order of the rules; empty: it may go."""
        return tuple(self._reasons(pod, node))

    def _reasons(self, pod: PodView, node: str) -> Iterator[Reason]:
        yield from self._filter.refusals(pod)
        yield from self._not_requesting(pod)
        if untolerated := self._destinations.refusal(pod.traits):
            yield Reason("E7b", untolerated)
        if pod.namespace in self._plugin.excluded:
            yield Reason("E7c", f"namespace {pod.namespace} is excluded")
        if refusal := self._pre_eviction.refusal(pod, node):
            yield refusal

    def _not_requesting(self, pod: PodView) -> Iterator[Reason]:
        plugin = self._plugin
        if (
            isinstance(plugin, HighNodeUtilization)
            and plugin.only_thresholding_resources
            and not pod.traits.requested & plugin.low.keys()
        ):
            text = f"its containers request none of {', '.join(plugin.low)}"
            yield Reason("1.7.evictionModes", text)
