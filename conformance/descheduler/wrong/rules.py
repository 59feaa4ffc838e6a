"""More wrong pieces: limits, the in-flight cache, and the filter of pods."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import structs

from conformance.descheduler.wrong.pieces import Change
from trimtab.policy.cycle import PodOutcome
from trimtab.policy.evict import Evictions
from trimtab.policy.file.settings import Evictor, Protection
from trimtab.policy.inflight import InFlight, PodEvent
from trimtab.policy.pods import filters
from trimtab.policy.snapshot_view import SnapshotView


def limits_without(rule: str) -> list[Change]:
    """The limits without one of their rules."""
    begin, ask = Evictions.__init__, Evictions._ask

    def init(self: Evictions, policy: Any, inflight: Any, answer: Any, background: bool) -> None:
        if rule == "gate":
            background = True
        begin(self, policy, inflight, answer, background)
        if rule == "in_flight":
            self._total, self._nodes, self._namespaces = 0, {}, {}

    def left(self: Evictions, node: str, namespace: str) -> Iterator[tuple[PodOutcome, int]]:
        more, policy = int(rule == "exact"), self._policy
        checks = [
            (policy.max_total, self._total, PodOutcome.TOTAL_LIMIT),
            (policy.max_per_node, self._nodes.get(node, 0), PodOutcome.NODE_LIMIT),
            (
                policy.max_per_namespace,
                self._namespaces.get(namespace, 0),
                PodOutcome.NAMESPACE_LIMIT,
            ),
        ]
        if rule == "total_first":
            checks[0], checks[1] = checks[1], checks[0]
        if rule == "namespaces":
            checks.pop()
        return ((o, most - now + more) for most, now, o in checks if most is not None)

    def asked(self: Evictions, pod: Any, node: str, in_background: bool) -> PodOutcome:
        before = self._total, dict(self._nodes), dict(self._namespaces)
        outcome = ask(self, pod, node, in_background or rule == "request")
        if outcome is PodOutcome.BACKGROUND and rule == "background_counts":
            self._total, self._nodes, self._namespaces = before
        return outcome

    return [
        (Evictions, "__init__", init),
        (Evictions, "_left", left),
        (Evictions, "_ask", asked),
    ]


Heard = Callable[[PodEvent], bool]


def deaf(observe: Any, skip: Heard) -> Callable[[InFlight, PodEvent], InFlight]:
    """The cache does not hear of some events."""
    return lambda self, event: self if skip(event) else observe(self, event)


def forgetful(observe: Any) -> Callable[[InFlight, PodEvent], InFlight]:
    def wrong(self: InFlight, event: PodEvent) -> InFlight:
        known: InFlight = observe(self, event)
        if event.kind == "updated" and not event.pod.eviction_in_progress:
            return known._without(event.pod.uid)
        return known

    return wrong


def is_cancelled(event: PodEvent) -> bool:
    old, pod = event.old, event.pod
    return bool(old and old.eviction_in_progress and not pod.eviction_in_progress) and (
        pod.request_evict_only and not pod.finished
    )


def is_finished(event: PodEvent) -> bool:
    return event.kind == "updated" and event.pod.finished


def is_withdrawn(event: PodEvent) -> bool:
    return event.kind == "updated" and not event.pod.request_evict_only


def is_deleted(event: PodEvent) -> bool:
    return event.kind == "deleted"


def is_added(event: PodEvent) -> bool:
    return event.kind == "added"


def is_announced(event: PodEvent) -> bool:
    return event.kind == "updated" and event.pod.eviction_in_progress


def evict_is_nothing() -> list[Change]:
    judge = filters.Filter._judge

    def wrong(self: Any, pod: Any) -> bool | None:
        traits = structs.replace(pod.traits, evict=False)
        return judge(self, structs.replace(pod, traits=traits))

    return [(filters.Filter, "_judge", wrong)]


def never_mandatory() -> list[Change]:
    begin = filters.Filter.__init__

    def init(self: Any, evictor: Evictor, view: Any) -> None:
        begin(self, structs.replace(evictor, no_eviction=""), view)

    return [(filters.Filter, "__init__", init)]


def without_check(rule: str) -> Change:
    kept = tuple(check for check in filters._ALWAYS if check.rule != rule)
    return filters, "_ALWAYS", kept


def terminating_goes() -> list[Change]:
    passes = filters.Filter.passes

    def wrong(self: Any, pod: Any) -> bool:
        return passes(self, structs.replace(pod, terminating=False))

    return [(filters.Filter, "passes", wrong)]


def unprotected(protection: Protection) -> Change:
    real = filters._configured

    def wrong(evictor: Evictor, view: Any) -> Any:
        fewer = evictor.protections - {protection}
        return real(structs.replace(evictor, protections=fewer), view)

    return filters, "_configured", wrong


def bare_goes(protected: bool) -> Any:
    return filters._trait("2.1.4.FailedBarePods", lambda traits: False, "")


def priority_at(threshold: int) -> Any:
    return _PRIORITY(threshold + 1)


_PRIORITY = filters._priority


def some_class(self: SnapshotView, namespace: str, claim: str) -> str:
    return _STORAGE_CLASS(self, namespace, claim) or "some"


_STORAGE_CLASS = SnapshotView.storage_class


def one_more_replica() -> Change:
    real = filters._replicas
    return filters, "_replicas", lambda minimum, view: real(minimum + 1, view)


def ageless_goes(minimum_s: float, view: Any) -> Any:
    check = _AGE(minimum_s, view)
    refuses = check.refuses
    return structs.replace(check, refuses=lambda pod: None if pod.started is None else refuses(pod))


_AGE = filters._age


def any_label() -> Change:
    real = filters._conditions

    def wrong(evictor: Evictor, view: Any) -> Any:
        return (c for c in real(evictor, view) if c.rule != "2.1.5.labelSelector")

    return filters, "_conditions", wrong
