"""Metrics: the service's own counters, and series of accounts that are computed when scraped.

Accounts come and go without bound, series must not: the first `limit` accounts have series of
their own until they go, everybody counts in its class, and so many classes at most have a name.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from trimtab.obs.metrics import counter, gauge, histogram
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.answers import report
from trimtab.qos.page.slo_status import AccountView, AccountViews
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.tracking.tracker import AccountTracker

restamps = counter("qosaware_restamps_total", "Stamps written after a pod was created")
stamped = counter("qosaware_stamps_total", "Stamps given to pods at their creation")
unstamped = counter(
    "qosaware_unstamped_pods_total", "Pods that came without a stamp: scheduled by age until then"
)
rebuild_seconds = gauge("qosaware_ledger_rebuild_seconds", "What the last rebuild took")
checkpoint_errors = counter("qosaware_checkpoint_errors_total", "Checkpoints not written")
watch_gaps = counter("qosaware_watch_gap_total", "Times when the watch could not be continued")
lost_pods = counter("qosaware_lost_pods_total", "Pods of which nobody knows when they ended")
skew_seconds = gauge(
    "qosaware_clock_skew_seconds", "The API server's clock minus ours; 0 if not certain"
)
skew_bound = gauge("qosaware_clock_skew_bound_seconds", "How far off it can be at most")
above_limits = counter(
    "qosaware_promises_above_limits_total",
    "Pods whose promise was above a ceiling or the budget: warned of, or refused",
    "answer",
)
violations = counter("qosaware_slo_violations_total", "Accounts that fell below their SLO", "class")
pod_wait = histogram(
    "qosaware_pod_wait_seconds",
    "From a pod's creation to its binding, or to its end without one",
    "outcome",
    buckets=(0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0),
)
bindings_live = gauge("qosaware_bindings_live", "1 while the scheduler tells its bindings")
bindings_missed = counter("qosaware_bindings_missed_total", "Bindings that were overwritten unread")

LABELS = ("namespace", "kind", "controller", "class")
MOST_CLASSES = 32
OTHER = "other"
_GAUGES = {
    "qosaware_qos_ratio": "Availability so far",
    "qosaware_slo_ratio": "The promised availability",
    "qosaware_ttv_seconds": "Time to violation; +Inf if never",
    "qosaware_violation_deadline_timestamp_seconds": "When it will be missed; +Inf if never",
    "qosaware_in_violation": "1 while availability is below the promise",
}
_COUNTERS = {
    "qosaware_running_seconds": "Time that pods have run",
    "qosaware_waiting_seconds": "Time that pods have waited",
    "qosaware_binding_seconds": "Time that bindings took",
    "qosaware_gated_seconds": "Time that scheduling gates held pods back",
}


class AccountMetrics:
    """A collector for the registry."""

    def __init__(
        self,
        tracker: AccountTracker,
        accounts: AccountViews,
        cores: PromisedCores,
        checkpoint_at: Callable[[], int | None],
        limit: int,
    ) -> None:
        self._tracker = tracker
        self._views = accounts
        self._promised = cores
        self._checkpoint_at = checkpoint_at
        self._limit = limit
        self._named: dict[str, None] = {}
        self._classes: dict[str, None] = {}

    def describe(self) -> Iterable[Metric]:
        """Nothing beforehand: otherwise the registry would collect once to find out."""
        return ()

    def collect(self) -> Iterator[Metric]:
        if not self._tracker.ready:
            return
        now = self._tracker.now()
        views = self._views.all(now)
        yield from self._accounts(self._choose(views))
        yield from self._by_class(views, now)
        yield from self._cores()
        yield _single("qosaware_accounts", "Accounts", len(views))
        yield _single("qosaware_accounts_with_series", "Of these with series", len(self._named))
        oldest = self._checkpoint_at()
        age = 0.0 if oldest is None else max(0, now - oldest) / SECOND
        yield _single("qosaware_checkpoint_age_seconds", "The oldest checkpoint of the living", age)

    def _choose(self, views: list[AccountView]) -> list[AccountView]:
        """Accounts that had series keep them; room is given in the order of arrival."""
        there = {view.owner.uid for view in views}
        self._named = {uid: None for uid in self._named if uid in there}
        for uid in self._tracker.ledger.accounts:
            if len(self._named) >= self._limit:
                break
            self._named.setdefault(uid)
        return [view for view in views if view.owner.uid in self._named]

    def _class_name(self, view: AccountView) -> str:
        name = view.promise.class_name
        if name not in self._classes and len(self._classes) >= MOST_CLASSES:
            return OTHER
        self._classes.setdefault(name)
        return name

    def _accounts(self, chosen: list[AccountView]) -> Iterator[Metric]:
        gauges = {
            name: GaugeMetricFamily(name, text, labels=LABELS) for name, text in _GAUGES.items()
        }
        counters = {
            name: CounterMetricFamily(name, text, labels=LABELS) for name, text in _COUNTERS.items()
        }
        replicas = GaugeMetricFamily(
            "qosaware_replicas", "Pods by state; a VM counts once", labels=(*LABELS, "state")
        )
        for view in chosen:
            owner, reading = view.owner, view.reading
            labels = [owner.namespace, owner.kind, owner.name, self._class_name(view)]
            for name, value in _values(view).items():
                gauges[name].add_metric(labels, value)
            for name, ns in zip(
                counters,
                (reading.running, reading.waiting, reading.binding, reading.gated),
                strict=True,
            ):
                counters[name].add_metric(labels, ns / SECOND)
            replicas.add_metric([*labels, "running"], reading.pace.running)
            replicas.add_metric([*labels, "waiting"], reading.pace.waiting)
            replicas.add_metric([*labels, "gated"], reading.gated_now)
        yield from (*gauges.values(), *counters.values(), replicas)

    def _by_class(self, views: list[AccountView], now: int) -> Iterator[Metric]:
        groups: dict[str, list[AccountView]] = {}
        for view in views:
            groups.setdefault(self._class_name(view), []).append(view)
        reports = [report(name, group) for name, group in groups.items()]
        for name, text, field in (
            ("fulfilled_ratio", "Accounts that have what was promised", "fulfilled_ratio"),
            ("deficit_ratio", "Mean shortfall", "mean_deficit"),
            ("gini_ratio", "Inequality of availability", "gini"),
        ):
            family = GaugeMetricFamily(f"qosaware_class_{name}", text, labels=["class"])
            for each in reports:
                family.add_metric([each.name], getattr(each, field))
            yield family
        pending = GaugeMetricFamily(
            "qosaware_pending_age_seconds", "The longest wait of a pod now", labels=["class"]
        )
        stamps = GaugeMetricFamily(
            "qosaware_stamp_age_seconds", "The oldest stamp of a waiting pod", labels=["class"]
        )
        for name, group in groups.items():
            pending.add_metric([name], self._longest_wait(group, now))
            stamps.add_metric([name], self._oldest_stamp(group, now))
        yield from (pending, stamps)

    def _cores(self) -> Iterator[Metric]:
        asked = GaugeMetricFamily(
            "qosaware_class_demand_cores", "Cores that a class asks for", labels=["class"]
        )
        limit = GaugeMetricFamily(
            "qosaware_class_limit_cores", "Cores that its promise leaves it", labels=["class"]
        )
        for advice in self._promised.advice():
            if advice.class_name in self._classes:
                asked.add_metric([advice.class_name], advice.demand_cores)
                most = float("inf") if advice.limit_cores is None else advice.limit_cores
                limit.add_metric([advice.class_name], most)
        yield from (asked, limit)

    def _longest_wait(self, group: list[AccountView], now: int) -> float:
        since = [pod.created for each in group for pod in each.account.waiting_pods]
        return max(0, now - min(since)) / SECOND if since else 0.0

    def _oldest_stamp(self, group: list[AccountView], now: int) -> float:
        stamped_at = self._tracker.stamped_at
        waiting = [pod.uid for each in group for pod in each.account.waiting_pods]
        since = [stamped_at[uid] for uid in waiting if uid in stamped_at]
        return max(0, now - min(since)) / SECOND if since else 0.0


def _values(view: AccountView) -> dict[str, float]:
    due, inf = view.deadline, float("inf")
    values = (
        view.qos,
        view.slo,
        inf if view.ttv is None else view.ttv / SECOND,
        inf if due is None else due / SECOND,
        float(view.state == "violated"),
    )
    return dict(zip(_GAUGES, values, strict=True))


def _single(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
