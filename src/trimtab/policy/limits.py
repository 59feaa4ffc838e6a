"""How many evictions are left: limits over this cycle and everything in flight (2.3)."""

from collections.abc import Callable

from trimtab.policy.choices import Answer
from trimtab.policy.cycle import PodOutcome
from trimtab.policy.file.settings import Policy
from trimtab.policy.inflight import EMPTY, InFlight
from trimtab.policy.view import PodView


class Evictions:
    """The counters of one cycle; plugins and profiles share them.

    An eviction in background counts like one that happened: the descheduler adds both
    before it compares. Without the feature gate nothing is ever in flight.
    """

    def __init__(
        self,
        policy: Policy,
        inflight: InFlight,
        answer: Callable[[PodView], Answer],
        background: bool,
    ) -> None:
        known = inflight if background else EMPTY
        self._policy, self._answer, self._background = policy, answer, background
        self._total = known.total
        self._nodes, self._namespaces = dict(known.per_node), dict(known.per_namespace)
        self._flying = set(known.entries)
        self.gone: set[str] = set()
        """Uids of pods evicted outright in this cycle; a later plugin finds them terminating."""

    def evict(self, pod: PodView, node: str) -> PodOutcome:
        """Ask for one eviction, in the descheduler's order of checks."""
        if not pod.uid:
            return PodOutcome.NO_UID
        in_background = self._background and pod.traits.request_evict_only
        if in_background and pod.uid in self._flying:
            return PodOutcome.IN_FLIGHT
        if limit := self._reached(node, pod.namespace):
            return limit
        return self._ask(pod, node, in_background)

    def _reached(self, node: str, namespace: str) -> PodOutcome | None:
        policy = self._policy
        if policy.max_total is not None and self._total + 1 > policy.max_total:
            return PodOutcome.TOTAL_LIMIT
        on_node = self._nodes.get(node, 0)
        if policy.max_per_node is not None and on_node + 1 > policy.max_per_node:
            return PodOutcome.NODE_LIMIT
        in_namespace = self._namespaces.get(namespace, 0)
        if policy.max_per_namespace is not None and in_namespace + 1 > policy.max_per_namespace:
            return PodOutcome.NAMESPACE_LIMIT
        return None

    def _ask(self, pod: PodView, node: str, in_background: bool) -> PodOutcome:
        answer = self._answer(pod)
        if answer is Answer.REFUSED or (answer is Answer.BACKGROUND and not in_background):
            return PodOutcome.REFUSED
        self._total += 1
        self._nodes[node] = self._nodes.get(node, 0) + 1
        self._namespaces[pod.namespace] = self._namespaces.get(pod.namespace, 0) + 1
        if answer is Answer.BACKGROUND:
            self._flying.add(pod.uid)
            return PodOutcome.BACKGROUND
        self.gone.add(pod.uid)
        return PodOutcome.EVICTED
