"""The queue as far as it can be known from outside: an estimate, and it says so.

Order and reasons are exact for pods that the scheduler has not tried yet. What it cannot tell
is how often it tried, and which pods rest after a failure. Gated pods are in no queue: they have
no position and are ahead of nobody. Pods that fit nowhere are tried, but take no place.
"""

from collections import deque

from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.qos.ledger.ledger import AccountChange
from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.queue.key import ANNOTATION, Place, Stamp, parse, unstamped
from trimtab.qos.queue.obstacle import Obstacle
from trimtab.qos.queue.overbooking import PromisedCores, shortage
from trimtab.qos.queue.stamper import Stamper
from trimtab.qos.tracking.tracker import AccountTracker

RATE_WINDOW = 300 * SECOND
MOST_AHEAD = 20


class NoSuchPod(TrimtabError):
    """It does not wait, or there is none."""


class Waiter(Struct, frozen=True, rename="camel"):
    """A pod in the queue."""

    position: int | None
    """None: it is gated, so the scheduler does not try it."""
    namespace: str
    name: str
    uid: str
    controller: str
    priority: int
    key: str
    stamped: bool
    tier: int
    rank: int
    deadline: str
    waiting_seconds: float
    reason: str
    message: str
    obstacle: Obstacle = ""
    """What keeps it from running, whoever else leaves."""


class Ahead(Struct, frozen=True, rename="camel"):
    pod: str
    controller: str
    why: str


class QueueExplanation(Struct, frozen=True, rename="camel"):
    """Where a pod is in the queue, who is before it and why, and about how long that takes."""

    pod: Waiter
    ahead: list[Ahead]
    ahead_total: int
    bindings_per_minute: float
    expected_wait_seconds: float | None
    estimate: bool = True
    outlook: str = ""
    """Why it may wait for longer than its position tells."""


class WaitingQueue:
    """The waiting pods in order; counts bindings for the rate."""

    def __init__(self, tracker: AccountTracker, stamper: Stamper, cores: PromisedCores) -> None:
        self._tracker = tracker
        self._stamper = stamper
        self._cores = cores
        self._bound: deque[int] = deque(maxlen=10_000)
        self._since = tracker.now()
        tracker.ledger.listen(self._heard)

    def _heard(self, change: AccountChange) -> None:
        if change.what == "bound":
            self._bound.append(change.at)

    def pods(self) -> list[LifePod]:
        """All whom our schedulers try, the next one first."""
        obstacle = self._stamper.obstacles.of
        return [pod for pod in self._waiting() if obstacle(pod) != "gated"]

    def _waiting(self) -> list[LifePod]:
        """All who wait, in the order of their keys."""
        waiting = [
            pod
            for account in self._tracker.ledger.accounts.values()
            if any(life.waits or life.is_gated for life in account.pods.values())
            for pod in self._tracker.members.get(account.owner.uid, {}).values()
            if self._stamper.stampable(pod)
        ]
        return sorted(waiting, key=lambda pod: place(pod).sort_key)

    def queue(self) -> list[Waiter]:
        """The order of the scheduler, then those that are gated."""
        now, ordered = self._tracker.now(), self.pods()
        tried = {pod.metadata.uid for pod in ordered}
        gated = [pod for pod in self._waiting() if pod.metadata.uid not in tried]
        return [
            *(self._waiter(n, pod, now) for n, pod in enumerate(ordered, 1)),
            *(self._waiter(None, pod, now) for pod in gated),
        ]

    def ranks(self, now: int) -> dict[str, int]:
        """The rank in the stamps of waiting pods, by account."""
        accounts = self._tracker.ledger.accounts
        pods = {uid: self._stamper.waiting_pods(account, now) for uid, account in accounts.items()}
        return {uid: found[0].decision.stamp.rank for uid, found in pods.items() if found}

    def explain(self, namespace: str, name: str) -> QueueExplanation:
        now, rate = self._tracker.now(), self.per_second(self._tracker.now())
        pod = next((p for p in self._waiting() if p.metadata.key == (namespace, name)), None)
        if pod is None:
            raise NoSuchPod(
                f"pod {namespace}/{name}: it does not wait for a scheduler; see /v1/queue"
            )
        obstacle = self._stamper.obstacles.of
        pods = [] if obstacle(pod) == "gated" else self.pods()
        index = pods.index(pod) if pods else None
        before = pods[:index]
        takers = sum(not obstacle(each) for each in before)
        hopeful = rate and not obstacle(pod)
        return QueueExplanation(
            self._waiter(None if index is None else index + 1, pod, now),
            [
                Ahead(str(each.metadata.key), self._controller(each), why_before(each, pod))
                for each in before[-MOST_AHEAD:]
            ],
            len(before),
            round(rate * 60, 3),
            round((takers + 1) / rate, 1) if hopeful else None,
            outlook=self._outlook(pod),
        )

    def _outlook(self, pod: LifePod) -> str:
        """What its place in the queue does not tell: it cannot run, or too much is promised."""
        what = self._stamper.obstacles.of(pod)
        if what == "gated":
            return "gated: the scheduler does not try it until its gates are removed"
        if what == "fits nowhere":
            return "it fits on no node, however many other pods leave"
        account = self._tracker.ledger.of_pod(pod.metadata.uid)
        if account is None:
            return ""
        name = self._tracker.promise(account).class_name
        return next(
            (shortage(each) for each in self._cores.advice() if each.class_name == name), ""
        )

    def per_second(self, now: int) -> float:
        """Bindings a second in the last minutes."""
        start = max(now - RATE_WINDOW, self._since)
        recent = sum(at >= start for at in self._bound)
        return recent * SECOND / max(SECOND, now - start)

    def _waiter(self, position: int | None, pod: LifePod, now: int) -> Waiter:
        spot, scheduled = place(pod), pod.condition("PodScheduled")
        stamp = stamp_of(pod)
        return Waiter(
            position=position,
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            controller=self._controller(pod),
            priority=spot.priority,
            key=str(stamp),
            stamped=parse(spot.stamp or "") is not None,
            tier=stamp.tier,
            rank=stamp.rank,
            deadline=f"{stamp.deadline:020d}",
            waiting_seconds=max(0, now - spot.created) / SECOND,
            reason=scheduled.reason if scheduled else "",
            message=scheduled.message[:1024] if scheduled else "",
            obstacle=self._stamper.obstacles.of(pod),
        )

    def _controller(self, pod: LifePod) -> str:
        account = self._tracker.ledger.of_pod(pod.metadata.uid)
        return f"{account.owner.kind}/{account.owner.name}" if account else ""


def place(pod: LifePod) -> Place:
    """A pod as the scheduler compares it, at its first attempt."""
    meta = pod.metadata
    at = meta.creation_timestamp
    created = int(at.timestamp()) * SECOND if at else 0
    stamp = meta.annotations.get(ANNOTATION)
    return Place(stamp, created, meta.uid, pod.spec.priority or 0)


def stamp_of(pod: LifePod) -> Stamp:
    spot = place(pod)
    return parse(spot.stamp or "") or unstamped(spot.created)


_WHY = (
    "its priority is higher",
    "it is in an earlier tier",
    "its promise weighs more",
    "it would miss its promise earlier",
    "it is older",
    "its uid is smaller: otherwise they are equal",
)


def why_before(first: LifePod, second: LifePod) -> str:
    """The first thing that tells two pods apart."""
    pairs = zip(place(first).sort_key, place(second).sort_key, _WHY, strict=True)
    return next(why for one, other, why in pairs if one != other)
