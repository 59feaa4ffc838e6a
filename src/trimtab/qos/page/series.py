"""Metrics of accounts and classes, computed when somebody scrapes.

Accounts come and go without bound, series must not: the first `limit` accounts have series of
their own until they go, everybody counts in its class, and so many classes at most have a name.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from trimtab.qos.page.classes import ClassReport, Member, report
from trimtab.qos.page.demand import Demand
from trimtab.qos.page.rows import Book, Standing
from trimtab.qos.queue.time_to_violation import SECOND, deadline
from trimtab.qos.service.keeper import Keeper

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


class Series:
    """A collector for the registry."""

    def __init__(
        self,
        keeper: Keeper,
        book: Book,
        demand: Demand,
        checkpoint_at: Callable[[], int | None],
        limit: int,
    ) -> None:
        self._keeper = keeper
        self._book = book
        self._demand = demand
        self._checkpoint_at = checkpoint_at
        self._limit = limit
        self._named: dict[str, None] = {}
        self._classes: dict[str, None] = {}

    def describe(self) -> Iterable[Metric]:
        """Nothing beforehand: otherwise the registry would collect once to find out."""
        return ()

    def collect(self) -> Iterator[Metric]:
        if not self._keeper.ready:
            return
        now = self._keeper.now()
        standings = self._book.standings(now)
        yield from self._accounts(self._choose(standings), now)
        yield from self._by_class(standings, now)
        yield from self._cores()
        yield gauge("qosaware_accounts", "Accounts", len(standings))
        yield gauge("qosaware_accounts_with_series", "Of these with series", len(self._named))
        oldest = self._checkpoint_at()
        age = 0.0 if oldest is None else max(0, now - oldest) / SECOND
        yield gauge("qosaware_checkpoint_age_seconds", "The oldest checkpoint of the living", age)

    def _choose(self, standings: list[Standing]) -> list[Standing]:
        """Whoever had series keeps them; room is given in the order of arrival."""
        there = {standing.account.owner.uid for standing in standings}
        self._named = {uid: None for uid in self._named if uid in there}
        for standing in standings:
            if len(self._named) >= self._limit:
                break
            self._named.setdefault(standing.account.owner.uid)
        return [each for each in standings if each.account.owner.uid in self._named]

    def class_name(self, standing: Standing) -> str:
        name = standing.promise.class_name
        if name not in self._classes and len(self._classes) >= MOST_CLASSES:
            return OTHER
        self._classes.setdefault(name)
        return name

    def _accounts(self, chosen: list[Standing], now: int) -> Iterator[Metric]:
        gauges = {
            name: GaugeMetricFamily(name, text, labels=LABELS) for name, text in _GAUGES.items()
        }
        counters = {
            name: CounterMetricFamily(name, text, labels=LABELS) for name, text in _COUNTERS.items()
        }
        replicas = GaugeMetricFamily(
            "qosaware_replicas", "Pods by state; a VM counts once", labels=(*LABELS, "state")
        )
        for standing in chosen:
            owner, reading = standing.account.owner, standing.account.at(now)
            labels = [owner.namespace, owner.kind, owner.name, self.class_name(standing)]
            for name, value in self._values(standing, now).items():
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

    def _values(self, standing: Standing, now: int) -> dict[str, float]:
        slo, pace = standing.promise.slo, standing.account.at(now).pace
        due = deadline(now, standing.ttv, pace, slo, self._keeper.ledger.half_life)
        inf = float("inf")
        values = (
            standing.qos,
            slo,
            inf if standing.ttv is None else standing.ttv / SECOND,
            inf if due is None else due / SECOND,
            float(standing.state == "violated"),
        )
        return dict(zip(_GAUGES, values, strict=True))

    def _by_class(self, standings: list[Standing], now: int) -> Iterator[Metric]:
        groups: dict[str, list[Standing]] = {}
        for standing in standings:
            groups.setdefault(self.class_name(standing), []).append(standing)
        reports = [report(name, list(map(member, group))) for name, group in groups.items()]
        for field, text in (
            ("fulfilled_ratio", "Accounts that have what was promised"),
            ("deficit_ratio", "Mean shortfall"),
            ("gini_ratio", "Inequality of availability"),
        ):
            yield _per_class(f"qosaware_class_{field}", text, reports, field)
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
        for advice in self._demand.advice():
            if advice.class_name in self._classes:
                asked.add_metric([advice.class_name], advice.demand_cores)
                most = float("inf") if advice.limit_cores is None else advice.limit_cores
                limit.add_metric([advice.class_name], most)
        yield from (asked, limit)

    def _longest_wait(self, group: list[Standing], now: int) -> float:
        since = [pod.created for each in group for pod in each.account.waiting_pods]
        return max(0, now - min(since)) / SECOND if since else 0.0

    def _oldest_stamp(self, group: list[Standing], now: int) -> float:
        stamped_at = self._keeper.stamped_at
        waiting = [pod.uid for each in group for pod in each.account.waiting_pods]
        since = [stamped_at[uid] for uid in waiting if uid in stamped_at]
        return max(0, now - min(since)) / SECOND if since else 0.0


def member(standing: Standing) -> Member:
    return Member(standing.qos, standing.promise.slo, standing.account.incarnations)


def gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _per_class(name: str, text: str, reports: list[ClassReport], field: str) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["class"])
    for each in reports:
        value = {
            "fulfilled_ratio": each.fulfilled_ratio,
            "deficit_ratio": each.mean_deficit,
            "gini_ratio": each.gini,
        }[field]
        family.add_metric([each.name], value)
    return family
