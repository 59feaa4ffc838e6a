"""Wrong variants of our function: each changes one rule, and the recorded cycles must tell.

Variants that cannot be told by any cycle are not here. "Over before under" is one: with
thresholds as they are validated, and clamped, low is never above high, so no node is both.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
from msgspec import Struct, structs

from conformance.descheduler.wrong import pieces as wrong
from conformance.descheduler.wrong import rules as rules
from conformance.descheduler.wrong.pieces import engine_without
from conformance.descheduler.wrong.rules import limits_without
from trimtab.policy import assess, evict, numbers, snapshot_view, usage
from trimtab.policy.evict import Destinations, EvictionEngine
from trimtab.policy.file.settings import Protection
from trimtab.policy.inflight import InFlight
from trimtab.policy.pods import filters, fit, requests, taints
from trimtab.policy.snapshot_view import SnapshotView

Change = tuple[Any, str, Any]


class Mutant(Struct, frozen=True):
    """A name that says what is wrong, the rule it breaks, and what is put in whose place."""

    name: str
    rule: str
    changes: Sequence[Change]
    of_view: bool = False
    """It changes what a view is made of, so one that is there already will not do."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with ExitStack() as stack:
            for place, attribute, wrong_one in self.changes:
                stack.enter_context(mock.patch.object(place, attribute, wrong_one))
            yield


def _of_usage() -> Iterator[Mutant]:
    yield Mutant("usage is rounded", "P5", [(usage, "usage_of", wrong.usage_by(np.rint))])
    yield Mutant("usage is rounded up", "P5", [(usage, "usage_of", wrong.usage_by(np.ceil))])
    yield Mutant("NaN is zero", "P8", [(usage, "usage_of", wrong.usage_by(np.trunc))])
    yield Mutant("the first of two samples counts", "P6", [(usage, "_by_node", wrong.first_sample)])
    yield Mutant("a missing sample is zero", "P7", [(usage, "_by_node", wrong.missing_is_zero)])
    clipped = wrong.usage_by(lambda percents: np.trunc(np.clip(percents, 0.0, 100.0)))
    yield Mutant(
        "values outside are clipped",
        "P4",
        [(usage, "_bad_sample", lambda vector, named: None), (usage, "usage_of", clipped)],
    )
    yield Mutant(
        "the percent is multiplied first", "T1", [(assess, "percent_of", wrong.percent_of)]
    )
    yield Mutant(
        "nothing is clamped", "T4", [(assess, "around", lambda m, lo, hi: (m - lo, m + hi))]
    )
    yield Mutant(
        "the target is not clamped",
        "C5",
        [(assess, "around", lambda m, lo, hi: (max(m - lo, 0.0), m + hi))],
    )
    yield Mutant(
        "both distances are the target's",
        "T4",
        [(assess, "around", lambda m, lo, hi: numbers.around(m, hi, hi))],
    )
    yield Mutant(
        "the median takes the mean's place", "T4", [(assess, "mean_of", lambda p: np.median(p, -1))]
    )


def _of_classes() -> Iterator[Mutant]:
    for name, rule, flags in (
        ("under excludes the threshold", "C2", {"under": np.less}),
        ("over includes the threshold", "C3", {"over": np.greater_equal}),
        ("one resource below is enough", "C2", {"all_below": False}),
        ("all resources must be above", "C3", {"any_above": False}),
        ("a cordoned node can be under", "C4", {"cordoned_under": True}),
        ("a cordoned node takes pods", "1.7", {"cordoned_takes": True}),
    ):
        yield Mutant(name, rule, [(assess, "_classes", wrong.classes(**flags))])
    yield Mutant("numberOfNodes must be reached", "1.5.2", [wrong.fewer_nodes()])
    yield Mutant("nothing ends early if all are under", "1.5.3", [wrong.never_all_under()])


def _of_order() -> Iterator[Mutant]:
    for name, key in (
        ("QoS plays no part", lambda t: (t.priority is not None, t.priority or 0, 0)),
        ("guaranteed pods go first", lambda t: (t.priority is not None, t.priority or 0, -t.qos)),
        ("no priority is priority 0", lambda t: (False, t.priority or 0, int(t.qos))),
        ("high priorities go first", lambda t: (t.priority is not None, -(t.priority or 0), t.qos)),
    ):
        wrong_rank = _with_preference(key)
        yield Mutant(name, "E5", [(evict, "_rank", wrong_rank)])
    yield Mutant(
        "preferring to stay plays no part",
        "E5",
        [
            (
                evict,
                "_rank",
                lambda t: (t.priority is not None, t.priority or 0, int(t.qos), False),
            )
        ],
    )
    yield Mutant("sources come lowest first", "E2", [wrong.sources(lambda totals: -totals)])
    yield Mutant("sources come in any order", "E2", [wrong.sources(lambda totals: totals * 0)])


def _with_preference(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda traits: (*key(traits), traits.prefer_no_eviction)


def _of_room() -> Iterator[Mutant]:
    yield Mutant("the cap is rounded", "E1", [(assess, "cap", lambda h, c: round(h * 0.01 * c))])
    yield Mutant("the cap is divided last", "E1", [(assess, "cap", lambda h, c: int(h * c / 100))])
    yield Mutant(
        "a node at its cap goes on", "E6", [(EvictionEngine, "_stop", wrong.stop(at_cap=True))]
    )
    yield Mutant(
        "no room left is room", "E6", [(EvictionEngine, "_stop", wrong.stop(at_zero=True))]
    )
    yield Mutant(
        "room in one resource is enough",
        "E6",
        [(EvictionEngine, "_stop", wrong.stop(any_room=True))],
    )
    yield Mutant("nothing is subtracted", "E7h", [(EvictionEngine, "_subtract", lambda *_: None)])
    yield Mutant(
        "headroom does not shrink", "E9", [(EvictionEngine, "_subtract", wrong.only_the_source)]
    )
    yield Mutant("a pod is no pod", "E7h", [(EvictionEngine, "_subtract", wrong.pods_stay)])


def _of_pods() -> Iterator[Mutant]:
    for name, rule, flag in (
        ("evictionLimits.node allows one more", "E7a", "exact_limit"),
        ("a pod in flight does not count", "E8", "in_flight_counts"),
        ("more than one pod without a limit", "E7f", "one_pod"),
        ("the limit of a node ends nothing", "E7e", "node_limit_stops"),
        ("a refusal counts as success", "E7e", "refusal_is_none"),
        ("the namespace limit ends the node", "E7e", "namespace_limit_goes_on"),
    ):
        yield Mutant(name, rule, [(EvictionEngine, "_take", engine_without(flag))])
    yield Mutant(
        "soft taints do not count", "E7b", [(evict, "counts_as_destination", wrong.hard_only)]
    )
    yield Mutant(
        "the number of tolerations is not asked",
        "E7b",
        [(evict, "counts_as_destination", taints.tolerates_all)],
    )
    yield Mutant(
        "all destinations must be tolerated",
        "E7b",
        [(Destinations, "tolerated_by", wrong.all_tolerated)],
    )
    yield Mutant(
        "excluded namespaces are not", "E7c", [(EvictionEngine, "_try", wrong.try_all_namespaces)]
    )
    yield Mutant(
        "the filter is asked before the namespace",
        "E7c",
        [(EvictionEngine, "_try", wrong.fit_first)],
    )
    yield Mutant(
        "pods without usage are evicted",
        "E7d",
        [(EvictionEngine, "_usage_of", wrong.usage_or_zero)],
    )
    yield Mutant("every pod requests enough", "1.7", [wrong.every_pod_requests()])


def _of_limits() -> Iterator[Mutant]:
    for name, rule, flag in (
        ("limits without what is in flight", "2.3", "in_flight"),
        ("limits allow one more", "2.3", "exact"),
        ("the node's limit comes before the total", "2.3", "total_first"),
        ("the namespace's limit is not asked", "2.3.5", "namespaces"),
        ("evictions in background are not counted", "2.4", "background_counts"),
        ("the gate is always open", "2.4", "gate"),
        ("any pod may go in background", "2.4", "request"),
    ):
        yield Mutant(name, rule, limits_without(flag))
    observe = InFlight.observe
    for name, skip in (
        ("a cancelled eviction stays", rules.is_cancelled),
        ("a finished pod stays in flight", rules.is_finished),
        ("a withdrawn request stays", rules.is_withdrawn),
        ("a deleted pod stays in flight", rules.is_deleted),
        ("nothing is recovered at the start", rules.is_added),
        ("announcements are not heard", rules.is_announced),
    ):
        yield Mutant(name, "2.4", [(InFlight, "observe", rules.deaf(observe, skip))])
    yield Mutant(
        "an assumption ends with any update",
        "2.4",
        [(InFlight, "observe", rules.forgetful(observe))],
    )


def _of_filter() -> Iterator[Mutant]:
    yield Mutant("the annotation evict beats nothing", "2.1.1", rules.evict_is_nothing())
    yield Mutant("Mandatory is Preferred", "2.1.2", rules.never_mandatory())
    yield Mutant("mirror pods may go", "2.1.3", [rules.without_check("2.1.3.mirror")])
    yield Mutant("terminating pods may go", "2.1.3", rules.terminating_goes())
    for protection in Protection:
        if protection is not Protection.FAILED_BARE:
            yield Mutant(
                f"{protection.value} protects nobody",
                "2.1.4",
                [rules.unprotected(protection)],
            )
    yield Mutant("bare pods may go", "2.1.4", [(filters, "_bare", rules.bare_goes)])
    yield Mutant(
        "the priority threshold may go", "2.1.4", [(filters, "_priority", rules.priority_at)]
    )
    yield Mutant(
        "an unknown storage class does not protect",
        "2.1.4",
        [(SnapshotView, "storage_class", rules.some_class)],
    )
    yield Mutant("minReplicas must be exceeded", "2.1.5", [rules.one_more_replica()])
    yield Mutant("pods without a start are old", "2.1.5", [(filters, "_age", rules.ageless_goes)])
    yield Mutant("labelSelector is not asked", "2.1.5", [rules.any_label()])


def _of_fit() -> Iterator[Mutant]:
    yield Mutant(
        "nodeFit is not asked", "2.2", [(fit.PreEviction, "_fits_elsewhere", lambda *_: True)]
    )
    yield Mutant(
        "nodeFit: taints do not count", "2.2", [(fit, "tolerates_for_scheduling", lambda *_: True)]
    )
    yield Mutant("nodeFit: selectors do not count", "2.2", [(fit, "matches_node", lambda *_: True)])
    yield Mutant("nodeFit: room does not count", "2.2", [(fit, "_insufficient", lambda *_: None)])
    yield Mutant(
        "namespaceLabelSelector is not asked",
        "2.2",
        [(SnapshotView, "namespace_labels", lambda *_: {"team": "t"})],
    )
    for name, field, nothing in (
        ("init containers request nothing", "init_containers", ()),
        ("overhead is free", "overhead", {}),
        ("requests of the pod are not read", "pod_requests", {}),
    ):
        change = (snapshot_view, "requests_of", _requests_without(field, nothing))
        yield Mutant(name, "T2", [change], of_view=True)


def _requests_without(field: str, nothing: object) -> Callable[[Any], Any]:
    real = requests.requests_of
    return lambda pod: real(structs.replace(pod, **{field: nothing}))


MUTANTS: tuple[Mutant, ...] = (
    *_of_usage(),
    *_of_classes(),
    *_of_order(),
    *_of_room(),
    *_of_pods(),
    *_of_limits(),
    *_of_filter(),
    *_of_fit(),
)
