"""The eviction engine: visit sources in order, take pods until something says stop (E4–E9).

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from sys import maxsize
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.quantity import NANO
from trimtab.policy.choices import Answer, Choose, Tie
from trimtab.policy.cycle import PodOutcome, StepsTogether, Visit, VisitedPod, VisitEnd
from trimtab.policy.file.settings import Policy, UsageSource
from trimtab.policy.inflight import EMPTY, InFlight
from trimtab.policy.numbers import Integers
from trimtab.policy.pods.filters import Filter
from trimtab.policy.pods.fit import PreEviction
from trimtab.policy.pods.taints import counts_as_destination, too_few_tolerations
from trimtab.policy.view import Amounts, ClusterView, NodeView, PodsAlike, PodView, Traits

Item = TypeVar("Item")
MANY_ALIKE = 8
"""From so many pods alike on evicting them together is quicker than one after the other."""

# How many evictions are left: limits over this cycle and everything in flight (2.3).


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
        self._known = known.entries
        self._flying: set[str] = set()
        """Uids of pods that are in flight since this cycle."""
        self._flying_alike: list[PodsAlike] = []
        """Others of them, whose uids nobody has asked for yet."""
        self.gone: set[str] = set()
        """Uids of pods evicted outright in this cycle; a later plugin finds them terminating."""

    def evict(self, pod: PodView, node: str) -> PodOutcome:
        """Ask for one eviction, in the descheduler's order of checks."""
        if not pod.uid:
            return PodOutcome.NO_UID
        in_background = self._background and pod.traits.request_evict_only
        if in_background and self._is_flying(pod.uid):
            return PodOutcome.IN_FLIGHT
        for limit, left in self._left(node, pod.namespace):
            if left <= 0:
                return limit
        return self._ask(pod, node, in_background)

    def _is_flying(self, uid: str) -> bool:
        if self._flying_alike:
            self._flying.update(pod.uid for pods in self._flying_alike for pod in pods)
            self._flying_alike.clear()
        return uid in self._known or uid in self._flying

    def _left(self, node: str, namespace: str) -> Iterator[tuple[PodOutcome, int]]:
        """How many more each limit allows, in the order in which they are looked at."""
        policy = self._policy
        if policy.max_total is not None:
            yield PodOutcome.TOTAL_LIMIT, policy.max_total - self._total
        if policy.max_per_node is not None:
            yield PodOutcome.NODE_LIMIT, policy.max_per_node - self._nodes.get(node, 0)
        if policy.max_per_namespace is not None:
            in_namespace = self._namespaces.get(namespace, 0)
            yield PodOutcome.NAMESPACE_LIMIT, policy.max_per_namespace - in_namespace

    def allowed_together(self, first: PodView, node: str) -> int:
        """How many pods like this one could be asked for, one after the other, to go in background.

        None if one of them may be in flight already: that one would be no eviction.
        """
        in_background = self._background and first.traits.request_evict_only
        if not in_background or self._nodes.get(node) or self._answer(first) != Answer.BACKGROUND:
            return 0
        return min((left for _, left in self._left(node, first.namespace)), default=maxsize)

    def evict_together(self, pods: PodsAlike, node: str) -> None:
        """Ask for the evictions of as many pods alike as are allowed; they go in background."""
        self._count(node, pods[0].namespace, len(pods))
        self._flying_alike.append(pods)

    def _ask(self, pod: PodView, node: str, in_background: bool) -> PodOutcome:
        answer = self._answer(pod)
        if answer is Answer.REFUSED or (answer is Answer.BACKGROUND and not in_background):
            return PodOutcome.REFUSED
        self._count(node, pod.namespace, 1)
        if answer is Answer.BACKGROUND:
            self._flying.add(pod.uid)
            return PodOutcome.BACKGROUND
        self.gone.add(pod.uid)
        return PodOutcome.EVICTED

    def _count(self, node: str, namespace: str, evictions: int) -> None:
        self._total += evictions
        self._nodes[node] = self._nodes.get(node, 0) + evictions
        self._namespaces[namespace] = self._namespaces.get(namespace, 0) + evictions


# A pod already in flight succeeds without a call, and counts all the same (E8).
_COUNTED = (PodOutcome.BACKGROUND, PodOutcome.EVICTED, PodOutcome.IN_FLIGHT)


class EvictionEngine(Struct, kw_only=True):
    """What stays the same during one run of a plugin, and the headroom that shrinks."""

    view: ClusterView
    filter: Filter
    pre_eviction: PreEviction
    evictions: Evictions
    destinations: "Destinations"
    choose: Choose
    source: UsageSource
    resources: Sequence[str]
    headroom: dict[str, int]
    must_be_above_cap: bool
    """LowNodeUtilization also stops when a source is down to its caps; HNU does not (E6)."""
    excluded: frozenset[str] = frozenset()
    node_limit: int | None = None
    only_requesting: frozenset[str] = frozenset()
    """HNU's OnlyThresholdingResources: pods must request one of these."""

    def visit(self, node: str, used: dict[str, int], caps: Mapping[str, int]) -> Visit:
        """Evict from one source. `used` shrinks with each eviction whose usage is known."""
        removable = self.filter.passing(self.view.pods_on(node))
        if self.only_requesting or self.evictions.gone:
            removable = [pod for pod in removable if self._removable(pod)]
        if not removable:
            return Visit(node, (), (), VisitEnd.NO_CANDIDATES)
        classes = order_candidates(removable)
        if stop := self._stop(used, caps):
            return Visit(node, classes, (), stop)
        steps: list[VisitedPod] = []
        if isinstance(removable, PodsAlike) and (many := self._certain(removable, node)):
            numbers = iter(self._in_any_order(removable.numbers))
            together = PodsAlike(list(islice(numbers, many)), removable.make)
            self.evictions.evict_together(together, node)
            stop = self._take(node, map(removable.make, numbers), used, caps, steps, many)
            return Visit(node, classes, StepsTogether(together, steps), stop)
        stop = self._take(node, self._in_order(classes), used, caps, steps)
        return Visit(node, classes, tuple(steps), stop)

    def _removable(self, pod: PodView) -> bool:
        if self.only_requesting and not self.only_requesting & pod.traits.requested:
            return False
        gone = self.evictions.gone
        return not gone or pod.uid not in gone or pod.traits.evict

    def _in_order(self, classes: tuple[Sequence[PodView], ...]) -> Iterator[PodView]:
        for equals in classes:
            yield from self._in_any_order(equals)

    def _in_any_order(self, equals: Sequence[Item]) -> Iterable[Item]:
        return self.choose(Tie.CANDIDATES, equals) if len(equals) > 1 else equals

    def _stop(self, used: Mapping[str, int], caps: Mapping[str, int]) -> VisitEnd | None:
        """The continue condition, negated (E6)."""
        if self.must_be_above_cap and not any(used[r] > caps[r] for r in used):
            return VisitEnd.NOT_ABOVE_CAP
        if any(room <= 0 for room in self.headroom.values()):
            return VisitEnd.NO_HEADROOM
        return None

    def _certain(self, pods: PodsAlike, node: str) -> int:
        """How many are evicted in background, whichever of them are taken; 0 where few are.

        That is so where their usage is unknown, so that nothing but limits ends the visit, and
        where what is true of one of them before its eviction is true of all.
        """
        limit, unknown = self.node_limit, self.source is UsageSource.PROMETHEUS
        if limit is None or not unknown or not self.pre_eviction.refuses_nobody:
            return 0
        many, first = min(len(pods), limit), pods[0]
        if many < MANY_ALIKE or self._unfit(first, node) is not None:
            return 0
        many = min(many, self.evictions.allowed_together(first, node))
        return many if many >= MANY_ALIKE else 0

    def _take(
        self,
        node: str,
        pods: Iterator[PodView],
        used: dict[str, int],
        caps: Mapping[str, int],
        steps: list[VisitedPod],
        counter: int = 0,
    ) -> VisitEnd:
        """One after the other; `counter` have been taken together before."""
        for pod in pods:
            if self.node_limit is not None and counter >= self.node_limit:
                return VisitEnd.PLUGIN_LIMIT
            outcome, usage = self._try(pod, node)
            steps.append(VisitedPod(pod, outcome))
            if outcome not in _COUNTED:
                if outcome is PodOutcome.NODE_LIMIT:
                    return VisitEnd.NODE_LIMIT
                if outcome is PodOutcome.TOTAL_LIMIT:
                    return VisitEnd.TOTAL_LIMIT
                continue
            if usage is None:
                if self.node_limit is None:
                    return VisitEnd.ONE_POD
                counter += 1
                continue
            counter += 1
            self._subtract(usage, used)
            if self._stop(used, caps):
                return VisitEnd.LEVELLED
        return VisitEnd.EXHAUSTED

    def _try(self, pod: PodView, node: str) -> tuple[PodOutcome, Amounts | None]:
        """All checks of one pod (E7b–e); the usage is None where it cannot be known."""
        if unfit := self._unfit(pod, node):
            return unfit, None
        usage = self._usage_of(pod)
        if usage is None and self.source is not UsageSource.PROMETHEUS:
            return PodOutcome.NO_USAGE, None
        return self.evictions.evict(pod, node), usage

    def _unfit(self, pod: PodView, node: str) -> PodOutcome | None:
        """Why its eviction is not even asked for (E7b, E7c, 2.2)."""
        if not self.destinations.tolerated_by(pod.traits):
            return PodOutcome.NOT_TOLERATED
        if pod.namespace in self.excluded:
            return PodOutcome.NAMESPACE_EXCLUDED
        if not self.pre_eviction.passes(pod, node):
            return PodOutcome.PRE_EVICTION_FILTER
        return None

    def _usage_of(self, pod: PodView) -> Amounts | None:
        if self.source is UsageSource.REQUESTS:
            return pod.traits.requests
        if self.source is UsageSource.PROMETHEUS:
            return None
        containers = self.view.pod_metrics(pod)
        if containers is None:
            return None
        wanted = [r for r in self.resources if r != "pods"]
        if any(r not in container for container in containers for r in wanted):
            return None
        return {r: sum(container[r] for container in containers) for r in wanted}

    def _subtract(self, usage: Amounts, used: dict[str, int]) -> None:
        """What left the source is less room for the next (E7h); shared by all sources (E9)."""
        for r in self.headroom:
            amount = NANO if r == "pods" else usage.get(r, 0)
            used[r] -= amount
            self.headroom[r] -= amount


class Destinations:
    """The taints of the destinations; a pod must tolerate all those of at least one (E7b)."""

    def __init__(
        self, nodes: Sequence[NodeView], numbers: Iterable[int] | NDArray[np.intp] | None = None
    ) -> None:
        """Those of `nodes` with these numbers; all of them if none are given."""
        self._all = nodes
        self._numbers = range(len(nodes)) if numbers is None else numbers
        self._known: dict[Traits, bool] = {}

    @property
    def _nodes(self) -> Iterator[NodeView]:
        """One after the other: the first one decides, as a rule, and there may be 100,000."""
        return (self._all[number] for number in self._numbers)

    def tolerated_by(self, traits: Traits) -> bool:
        try:
            return self._known[traits]
        except KeyError:
            tolerated = any(
                counts_as_destination(traits.tolerations, node.taints) for node in self._nodes
            )
            self._known[traits] = tolerated
            return tolerated

    def refusal(self, traits: Traits) -> str | None:
        """Why none of them counts for the pod, or None."""
        if self.tolerated_by(traits):
            return None
        mine = traits.tolerations
        counts = [len(n.taints) for n in self._nodes if too_few_tolerations(mine, n.taints)]
        if not counts:
            return "it tolerates all taints of no destination (soft taints count)"
        return (
            f"it has {len(mine)} {'toleration' if len(mine) == 1 else 'tolerations'}, and "
            f"destinations whose taints it does tolerate have {min(counts)}: the descheduler "
            "demands at least as many tolerations as taints"
        )


# The order in which the descheduler takes nodes and pods, with the ties that chance decides.


def order_sources(nodes: NDArray[np.intp], totals: Integers) -> tuple[tuple[int, ...], ...]:
    """Node numbers by ascending total, equal ones together (E2).

    `totals` belongs to `nodes`; LowNodeUtilization passes them negated, highest usage first.
    """
    order = np.argsort(totals, kind="stable")
    ordered, ranked = totals[order], nodes[order].tolist()
    starts = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist(), len(ranked)]
    return tuple(tuple(ranked[a:b]) for a, b in pairwise(starts))


def order_candidates(pods: Iterable[PodView]) -> tuple[Sequence[PodView], ...]:
    """Pods in the order of eviction, equal ones together (E5).

    No priority first, then from low to high; then by QoS; then those that would rather
    stay. Size, load and age play no part.
    """
    if isinstance(pods, PodsAlike):
        return (pods,)
    groups: dict[tuple[bool, int, int, bool], list[PodView]] = {}
    ranks: dict[Traits, list[PodView]] = {}
    for pod in pods:
        try:
            ranks[pod.traits].append(pod)
        except KeyError:
            group = groups.setdefault(_rank(pod.traits), [])
            ranks[pod.traits] = group
            group.append(pod)
    return tuple(tuple(groups[rank]) for rank in sorted(groups))


def _rank(traits: Traits) -> tuple[bool, int, int, bool]:
    priority = traits.priority
    return (
        priority is not None,
        0 if priority is None else priority,
        int(traits.qos),
        traits.prefer_no_eviction,
    )
