"""What classes ask for, against what the nodes have: advice, and the budget of promises.

A promise of 0.5 can be given twice over, but only out of what the promises above it leave.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from trimtab.qos.ledger.account import Account
from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.promise import Ask, Promised, refusal
from trimtab.qos.queue.obstacle import amount, asked
from trimtab.qos.tracking.tracker import AccountTracker


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


def overbooking(demands: Iterable[tuple[str, float, float]], capacity: float) -> list[Advice]:
    """`demands` are class, SLO and cores. Nothing is enforced here."""
    advice, left = [], capacity
    for name, slo, demand in sorted(demands, key=lambda each: (-each[1], each[0])):
        limit = max(0.0, left) / slo if slo > 0 else None
        over = limit is not None and demand > limit * (1 + 1e-9)
        advice.append(
            Advice(class_name=name, slo=slo, demand_cores=demand, limit_cores=limit, exceeded=over)
        )
        left -= demand * slo
    return advice


class PromisedCores:
    """Cores that pods ask for and are promised, and cores that there are."""

    def __init__(self, tracker: AccountTracker) -> None:
        self._tracker = tracker

    def advice(self) -> list[Advice]:
        """Which class asks for more cores than its promise leaves it."""
        wanted: dict[str, tuple[float, float]] = {}
        for account in self._tracker.ledger.accounts.values():
            promise = self._tracker.promise(account)
            slo, cores = wanted.get(promise.class_name, (promise.slo, 0.0))
            wanted[promise.class_name] = (max(slo, promise.slo), cores + self._requested(account))
        demands = [(name, slo, cores) for name, (slo, cores) in wanted.items()]
        return overbooking(demands, self._capacity())

    def promised(self) -> Promised:
        """Cores that are promised to pods that there are, each as far as its SLO goes."""
        cores = sum(
            self._tracker.promise(account).slo * self._requested(account)
            for account in self._tracker.ledger.accounts.values()
        )
        return Promised(cores, self._capacity())

    def refusal(self, pod: LifePod) -> str | None:
        """Why a pod that is about to exist should not be promised what it asks for."""
        tracker = self._tracker
        owner = tracker.stores.owner_of(pod)
        ask = Ask(
            f"{owner.kind} {owner.namespace}/{owner.name}",
            owner.namespace,
            tracker.promise_of(owner, pod, asked=True, uncapped=True).slo,
            asked(pod, "cpu"),
        )
        # The sum is over all accounts, so it is made only where there is a budget.
        promised = Promised(0.0, 0.0) if tracker.limits.budget is None else self.promised()
        return refusal(ask, tracker.ceiling(owner), promised, tracker.limits)

    def _requested(self, account: Account) -> float:
        pods = self._tracker.members.get(account.owner.uid, {}).values()
        return sum(asked(pod, "cpu") for pod in pods if _is_alive(pod))

    def _capacity(self) -> float:
        """Cores of the nodes that pods can be put on."""
        return sum(
            amount(node.status.allocatable.get("cpu", "0"), "cpu")
            for node in self._tracker.stores.nodes.store
            if not node.spec.unschedulable
        )


def _is_alive(pod: LifePod) -> bool:
    ended = pod.status.phase in ("Succeeded", "Failed")
    return not ended and pod.metadata.deletion_timestamp is None
