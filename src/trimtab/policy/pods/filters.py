"""Which pods may be evicted at all: DefaultEvictor's filter (2.1), quickly and with reasons.

What depends on a pod's traits alone is judged once for all pods that share them; what
depends on the moment (age, replicas, termination) is judged pod by pod.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from trimtab.policy.cycle import Reason
from trimtab.policy.file.settings import SYSTEM_CRITICAL, Evictor, Protection
from trimtab.policy.pods.migration_aware import PLUGIN, is_migrating
from trimtab.policy.view import ClusterView, PodsAlike, PodView, Traits


class PodFilter(Struct, frozen=True):
    """One reason to refuse. `refuses` answers with the descheduler's words, or None."""

    rule: str
    refuses: Callable[[PodView], str | None]
    of_pod: bool = False
    """It looks beyond the traits, so its answer is not remembered."""


class Filter:
    """The filter of one profile on one view. It remembers verdicts: make one for each cycle."""

    def __init__(self, evictor: Evictor, view: ClusterView) -> None:
        self._mandatory = evictor.no_eviction == "Mandatory"
        self._view, self._aware = view, evictor.migration_aware
        configured = tuple(_configured(evictor, view))
        self._checks = (*_ALWAYS, *configured)
        self._of_pod = [check.refuses for check in configured if check.of_pod]
        # True: passes at once; False: refused; None: the pod itself must be looked at.
        self._verdicts: dict[Traits, bool | None] = {}

    def passing(self, pods: Sequence[PodView]) -> Sequence[PodView]:
        """Those that pass; of pods alike the first one shows it for all, unless age matters."""
        if isinstance(pods, PodsAlike) and pods and not self._of_pod and self._aware is None:
            return pods if self.passes(pods[0]) else ()
        return [pod for pod in pods if self.passes(pod)]

    def passes(self, pod: PodView) -> bool:
        if self._aware is not None and is_migrating(self._view.migrations(pod)):
            return False  # a plugin of its own: the annotation `evict` does not help
        traits = pod.traits
        try:
            verdict = self._verdicts[traits]
        except KeyError:
            verdict = self._verdicts[traits] = self._judge(pod)
        if verdict is not None:
            return verdict
        if pod.terminating:
            return False
        return not self._of_pod or all(refuses(pod) is None for refuses in self._of_pod)

    def _judge(self, pod: PodView) -> bool | None:
        if pod.traits.evict:
            return True
        if self._mandatory and pod.traits.prefer_no_eviction:
            return False
        refused = any(check.refuses(pod) for check in self._checks if not check.of_pod)
        return False if refused else None

    def refusals(self, pod: PodView) -> tuple[Reason, ...]:
        """Every reason to stay, in the order of the descheduler's log; none: it may go."""
        return (*self._of_evictor(pod), *self._of_migrations(pod))

    def _of_migrations(self, pod: PodView) -> Iterator[Reason]:
        if self._aware is not None and is_migrating(self._view.migrations(pod)):
            yield Reason(f"2.1.{PLUGIN}", "its VM is migrating already")

    def _of_evictor(self, pod: PodView) -> tuple[Reason, ...]:
        if pod.traits.evict:
            return ()
        if self._mandatory and pod.traits.prefer_no_eviction:
            return (Reason("2.1.2", "pod prefers no eviction and noEvictionPolicy is Mandatory"),)
        found = ((check.rule, check.refuses(pod)) for check in self._checks)
        return tuple(Reason(rule, text) for rule, text in found if text is not None)


def _trait(rule: str, applies: Callable[[Traits], bool], text: str) -> PodFilter:
    return PodFilter(rule, lambda pod: text if applies(pod.traits) else None)


_ALWAYS = (
    _trait("2.1.3.mirror", lambda t: t.mirror, "pod is a mirror pod"),
    _trait("2.1.3.static", lambda t: t.static, "pod is a static pod"),
    PodFilter(
        "2.1.3.terminating",
        lambda pod: "pod is terminating" if pod.terminating else None,
        of_pod=True,
    ),
)


def _configured(evictor: Evictor, view: ClusterView) -> Iterator[PodFilter]:
    """All checks that the settings ask for, in the descheduler's order."""
    on = evictor.protections
    if Protection.SYSTEM_CRITICAL in on:
        yield from _priority(evictor.priority_threshold)
    yield _bare(Protection.FAILED_BARE in on)
    if Protection.LOCAL_STORAGE in on:
        yield _trait(
            "2.1.4.PodsWithLocalStorage",
            lambda t: t.local_storage,
            "pod has local storage and is protected against eviction",
        )
    if Protection.DAEMON_SET in on:
        yield _trait(
            "2.1.4.DaemonSetPods",
            lambda t: t.daemon_set,
            "daemonset pods are protected against eviction",
        )
    if Protection.PVC in on:
        yield _claims(evictor.storage_classes, view)
    if Protection.WITHOUT_PDB in on:
        # Its list of budgets stays empty, so a pod with a budget is refused as well.
        yield _trait(
            "2.1.4.PodsWithoutPDB",
            lambda t: True,
            "pod does not have a PodDisruptionBudget and is protected against eviction",
        )
    if Protection.RESOURCE_CLAIMS in on:
        yield _trait(
            "2.1.4.PodsWithResourceClaims",
            lambda t: t.resource_claims,
            "pod has ResourceClaims and descheduler is configured to protect ResourceClaims pods",
        )
    yield from _conditions(evictor, view)


def _priority(threshold: int) -> Iterator[PodFilter]:
    """Two checks, so a critical pod is refused twice over."""
    yield _trait(
        "2.1.4.SystemCriticalPods",
        lambda t: t.priority is not None and t.priority >= SYSTEM_CRITICAL,
        "pod has system critical priority and is protected against eviction",
    )
    yield _trait(
        "2.1.4.priorityThreshold",
        lambda t: t.priority is not None and t.priority >= threshold,
        "pod has higher priority than specified priority class threshold",
    )


def _bare(protected: bool) -> PodFilter:
    """Bare pods never pass: even unprotected only Failed ones would, and those are not listed."""
    text = "pod does not have any ownerRefs"
    if not protected:
        text += " and is not in failed phase"
    return _trait("2.1.4.FailedBarePods", lambda t: t.owners == 0, text)


def _claims(classes: frozenset[str], view: ClusterView) -> PodFilter:
    if not classes:
        return _trait(
            "2.1.4.PodsWithPVC",
            lambda t: bool(t.claims),
            "pod with PVC is protected against eviction",
        )

    def refuses(pod: PodView) -> str | None:
        found = {view.storage_class(pod.namespace, claim) for claim in pod.traits.claims}
        if None in found:
            return "the storage class of a claim is unknown"
        protected = sorted(name for name in found if name in classes)
        return f'pod using protected storage class "{protected[0]}"' if protected else None

    return PodFilter("2.1.4.PodsWithPVC", refuses, of_pod=True)


def _conditions(evictor: Evictor, view: ClusterView) -> Iterator[PodFilter]:
    if evictor.label_selector.requirements:
        yield _trait(
            "2.1.5.labelSelector",
            lambda t: not evictor.label_selector.matches(t.labels),
            "pod labels do not match the labelSelector filter in the policy parameter",
        )
    if evictor.min_replicas > 1:
        yield _replicas(evictor.min_replicas, view)
    if evictor.min_pod_age_s is not None:
        yield _age(evictor.min_pod_age_s, view)


def _replicas(minimum: int, view: ClusterView) -> PodFilter:
    def refuses(pod: PodView) -> str | None:
        if pod.traits.owners != 1:
            return None
        count = view.replicas(pod.owner_uid)
        if count >= minimum:
            return None
        return f"owner has {count} replicas which is less than minReplicas of {minimum}"

    return PodFilter("2.1.5.minReplicas", refuses, of_pod=True)


def _age(minimum_s: float, view: ClusterView) -> PodFilter:
    def refuses(pod: PodView) -> str | None:
        if pod.started is not None and view.now - pod.started >= minimum_s:
            return None
        return f"pod age is not older than MinPodAge: {minimum_s:g} seconds"

    return PodFilter("2.1.5.minPodAge", refuses, of_pod=True)
