"""Promises by class: how many are kept, how far the others fall short, how unequal it is.

The four numbers belong together: everybody slightly below its promise has a bad fulfilment and
a tiny deficit. Also says which class is promised more than the cluster can hold.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field


class Member(Struct, frozen=True):
    """One account in its class."""

    qos: float
    slo: float
    incarnations: int


class ClassReport(Struct, frozen=True, rename="camel"):
    name: str
    slo: float
    accounts: int
    fulfilled_ratio: float
    mean_deficit: float
    gini: float
    restarts_per_account: float


class Advice(Struct, frozen=True, rename="camel", kw_only=True):
    """How much a class may ask for, if those with higher promises get theirs first."""

    class_name: str = field(name="class")
    slo: float
    demand_cores: float
    limit_cores: float | None
    """None: nothing is promised, so nothing can be overbooked."""
    exceeded: bool


def shortage(advice: Advice) -> str:
    """What a class has to expect that is promised more than there is room for; else nothing."""
    if not advice.exceeded or advice.limit_cores is None:
        return ""
    asked, room = f"{advice.demand_cores:g}", f"{advice.limit_cores:g}"
    whose = f"SLO {advice.slo:g}"
    if advice.limit_cores <= 0:
        return (
            f"higher promises take all the room there is: pods of {whose} run only when those "
            "above leave a place, perhaps never; promise less above, or add nodes"
        )
    return (
        f"more is promised than fits: pods of {whose} ask for {asked} cores, the promises leave "
        f"room for {room}; they are served in turn, and the promise cannot be kept"
    )


def report(name: str, members: Sequence[Member]) -> ClassReport:
    count = len(members)
    return ClassReport(
        name,
        max(each.slo for each in members),
        count,
        sum(each.qos >= each.slo for each in members) / count,
        sum(max(0.0, each.slo - each.qos) for each in members) / count,
        gini([each.qos for each in members]),
        sum(max(0, each.incarnations - 1) for each in members) / count,
    )


def gini(values: Sequence[float]) -> float:
    """Half the mean difference of all pairs over the mean: 0 if all are equal."""
    total = sum(values)
    if not total:
        return 0.0
    ranked = enumerate(sorted(values), 1)
    weighted = sum((2 * rank - len(values) - 1) * value for rank, value in ranked)
    return weighted / (len(values) * total)


def overbooking(
    demands: Iterable[tuple[str, float, float]], capacity: float, confidence: float = 1.0
) -> list[Advice]:
    """`demands` are class, SLO and cores. A promise of 0.5 can be sold twice, but only out of
    what the promises above it leave over. Nothing is enforced."""
    advice, left = [], capacity
    for name, slo, demand in sorted(demands, key=lambda each: (-each[1], each[0])):
        limit = max(0.0, left) / slo * confidence if slo > 0 else None
        over = limit is not None and demand > limit * (1 + 1e-9)
        advice.append(
            Advice(class_name=name, slo=slo, demand_cores=demand, limit_cores=limit, exceeded=over)
        )
        left -= demand * slo
    return advice
