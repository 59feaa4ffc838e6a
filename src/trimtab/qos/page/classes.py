"""Promises by class: how many are kept, how far the others fall short, how unequal it is.

The four numbers belong together: everybody slightly below its promise has a bad fulfilment and
a tiny deficit.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from trimtab.qos.page.accounts import AccountView


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
