"""What the page's API answers, in JSON."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.slo_status import AccountView, State
from trimtab.qos.page.text import moment
from trimtab.qos.queue.overbooking import Advice
from trimtab.qos.queue.waiting import Waiter

# Promises by class: how many are kept, how far the others fall short, how unequal it is.
#
# The four numbers belong together: everybody slightly below its promise has a bad fulfilment and
# a tiny deficit.


class ClassReport(Struct, frozen=True, rename="camel"):
    name: str
    slo: float
    accounts: int
    fulfilled_ratio: float
    mean_deficit: float
    gini: float
    restarts_per_account: float


def by_class(views: Iterable[AccountView]) -> list[ClassReport]:
    """A report of each class, the highest SLO first."""
    groups: dict[str, list[AccountView]] = {}
    for view in views:
        groups.setdefault(view.promise.class_name, []).append(view)
    reports = [report(name, members) for name, members in groups.items()]
    return sorted(reports, key=lambda each: (-each.slo, each.name))


def report(name: str, members: Sequence[AccountView]) -> ClassReport:
    count = len(members)
    return ClassReport(
        name,
        max(each.slo for each in members),
        count,
        sum(each.qos >= each.slo for each in members) / count,
        sum(max(0.0, each.slo - each.qos) for each in members) / count,
        gini([each.qos for each in members]),
        sum(max(0, each.account.incarnations - 1) for each in members) / count,
    )


def gini(values: Sequence[float]) -> float:
    """Half the mean difference of all pairs over the mean: 0 if all are equal."""
    total = sum(values)
    if not total:
        return 0.0
    ranked = enumerate(sorted(values), 1)
    weighted = sum((2 * rank - len(values) - 1) * value for rank, value in ranked)
    return weighted / (len(values) * total)


API = "qos.trimtab.dev/v1alpha1"


class ReplicaCounts(Struct, frozen=True):
    running: int
    waiting: int
    gated: int = 0


class AccountRow(Struct, frozen=True, rename="camel", kw_only=True):
    """One account in JSON; null is a time that never comes."""

    namespace: str
    kind: str
    name: str
    uid: str
    class_name: str = field(name="class")
    slo: float
    slo_source: str
    ceiling: float
    above_ceiling: bool
    qos: float
    ttv_seconds: float | None
    never_violated: bool
    deadline: str | None
    state: State
    urgent: bool
    running_seconds: float
    waiting_seconds: float
    binding_seconds: float
    binding_approximate: bool
    gated_seconds: float
    unready_seconds: float
    replicas: ReplicaCounts
    incarnations: int
    gap_seconds: float
    as_of: str


class SettingsShown(Struct, frozen=True, rename="camel"):
    safety_margin: float
    half_life: float


class PromisesShown(Struct, frozen=True, rename="camel"):
    """What is promised in all, in cores, and whether limits are enforced."""

    promised_cores: float
    capacity_cores: float
    budget_cores: float | None
    highest_slo: float
    enforced: bool


class Controllers(Struct, frozen=True, rename="camel"):
    """What /v1/controllers answers."""

    api_version: str
    generated_at: str
    leader: bool
    skew_seconds: float
    settings: SettingsShown
    classes: list[ClassReport]
    overbooking: list[Advice]
    promises: PromisesShown
    controllers: list[AccountRow]


class QueueAnswer(Struct, frozen=True, rename="camel"):
    api_version: str
    generated_at: str
    estimate: bool
    note: str
    pods: list[Waiter]


class HistoryEntry(Struct, frozen=True):
    at: str | None
    pod: str
    what: str


class HistoryAnswer(Struct, frozen=True, rename="camel"):
    api_version: str
    controller: AccountRow
    note: str
    transitions: list[HistoryEntry]


def as_row(view: AccountView, ceiling: float) -> AccountRow:
    """An account in JSON; `ceiling` is the highest SLO that its namespace may promise."""
    owner, reading, due = view.owner, view.reading, view.deadline
    return AccountRow(
        namespace=owner.namespace,
        kind=owner.kind,
        name=owner.name,
        uid=owner.uid,
        class_name=view.promise.class_name,
        slo=view.slo,
        slo_source=view.promise.source,
        ceiling=ceiling,
        above_ceiling=view.slo > ceiling,
        qos=view.qos,
        ttv_seconds=None if view.ttv is None else view.ttv / SECOND,
        never_violated=due is None,
        deadline=moment(due),
        state=view.state,
        urgent=view.urgent,
        running_seconds=reading.running / SECOND,
        waiting_seconds=reading.waiting / SECOND,
        binding_seconds=reading.binding / SECOND,
        binding_approximate=view.approximate,
        gated_seconds=reading.gated / SECOND,
        unready_seconds=reading.unready / SECOND,
        replicas=ReplicaCounts(reading.pace.running, reading.pace.waiting, reading.gated_now),
        incarnations=view.account.incarnations,
        gap_seconds=view.account.gap / SECOND,
        as_of=moment(view.now) or "",
    )
