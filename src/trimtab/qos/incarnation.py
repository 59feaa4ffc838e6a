"""One pod's life as three moments: created, bound, ended.

What the API says about a pod is true whenever it is read, so reading it twice, late or out of
order makes no difference, and a ledger can be rebuilt from it. The API's times are whole
seconds; whoever sees a change happen knows the moment better, within that second.
"""

from datetime import datetime

from msgspec import Struct

from trimtab.kube.resources import Condition, Container, Kind, Object, ObjectMeta, Wire
from trimtab.qos.ttv import SECOND

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a static pod's copy: no scheduler has to do with it."""
_LATE = 3 * SECOND // 2  # whoever looks later than this did not see it happen


class PodMeta(ObjectMeta, frozen=True):
    deletion_grace_period_seconds: int | None = None


class Terminated(Wire, frozen=True):
    finished_at: datetime | None = None


class ContainerState(Wire, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(Wire, frozen=True):
    state: ContainerState = ContainerState()


class LifeSpec(Wire, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    containers: tuple[Container, ...] = ()


class LifeStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    start_time: datetime | None = None


class LifePod(Object, frozen=True):
    """A pod, as far as its life and its promise are concerned."""

    metadata: PodMeta = PodMeta()
    spec: LifeSpec = LifeSpec()
    status: LifeStatus = LifeStatus()

    def condition(self, name: str) -> Condition | None:
        return next((each for each in self.status.conditions if each.type == name), None)


LIFE_PODS = Kind("", "v1", "pods", "Pod", LifePod)


class Incarnation(Struct, omit_defaults=True, rename="camel"):
    """A pod in an account; moments in nanoseconds since 1970."""

    uid: str
    created: int
    name: str = ""
    bind_start: int | None = None
    bound: int | None = None
    ended: int | None = None
    exact: bool = False
    """The binding was measured by the scheduler."""
    started: int | None = None
    """When the kubelet took it; without the scheduler's word that ends the binding, about."""

    @property
    def waits(self) -> bool:
        return self.bound is None and self.ended is None

    @property
    def runs(self) -> bool:
        return self.bound is not None and self.ended is None

    def latest(self) -> int:
        return max(self.created, self.bind_start or 0, self.bound or 0, self.ended or 0)

    def learn(self, facts: "Incarnation") -> bool:
        """Take in what a pod object says; true if it is news."""
        before = (self.bound, self.ended, self.started)
        if self.bound is None and facts.bound is not None:
            self.bound = max(facts.bound, self.created)
            if self.ended is not None:
                self.bound = min(self.bound, self.ended)
        if facts.ended is not None:
            ended = max(facts.ended, self.bound or self.created)
            self.ended = ended if self.ended is None else _earlier(self.ended, ended)
        self.started = self.started or facts.started
        return before != (self.bound, self.ended, self.started)

    def measure(self, start: int, end: int) -> bool:
        """The scheduler's own times of the binding; true if they are news."""
        if self.exact:
            return False
        # who saw the pod come saw it late: the scheduler may have had it before. Not before the
        # second of its creation, though: then clocks differ, and only the length is certain
        self.bind_start = max(start, self.created - self.created % SECOND)
        self.created = min(self.created, self.bind_start)
        self.bound = self.bind_start + max(0, end - start)
        if self.ended is not None:
            self.ended = max(self.ended, self.bound)
        self.exact = True
        return True

    def close(self, at: int) -> bool:
        """It is gone, and nothing says since when."""
        if self.ended is not None:
            return False
        self.ended = max(at, self.latest())
        return True

    @property
    def about_binding(self) -> int:
        """What the binding took, to the second, where the scheduler did not say."""
        if self.exact or self.bound is None or self.started is None:
            return 0
        return max(0, self.started - self.bound)


def _earlier(known: int, told: int) -> int:
    """The first end counts; the same second told again is no other moment."""
    return known if abs(known - told) < SECOND else min(known, told)


def life_of(pod: LifePod, seen_at: int | None = None) -> Incarnation:
    """The moments that a pod object tells; `seen_at` if its last change was seen to happen."""
    meta = pod.metadata
    created = refined(_ns(meta.creation_timestamp) or 0, seen_at)
    bound = _bound(pod, created, seen_at)
    return Incarnation(
        uid=meta.uid,
        name=meta.name,
        created=created,
        bound=bound,
        ended=_ended(pod, bound or created, seen_at),
        started=_ns(pod.status.start_time),
    )


def refined(stamp: int, seen_at: int | None) -> int:
    """A moment of which the API kept the second, by somebody who was there."""
    if seen_at is None or not 0 <= seen_at - stamp < _LATE:
        return stamp
    return min(seen_at, stamp + SECOND - 1)


def _bound(pod: LifePod, created: int, seen_at: int | None) -> int | None:
    if not pod.spec.node_name:
        return None
    scheduled = pod.condition("PodScheduled")
    told = scheduled.last_transition_time if scheduled and scheduled.status == "True" else None
    moment = _ns(told) or _ns(pod.status.start_time)
    return max(created, refined(moment, seen_at)) if moment is not None else created


def _ended(pod: LifePod, begun: int, seen_at: int | None) -> int | None:
    over = pod.status.phase in ("Succeeded", "Failed")
    finished = _finished(pod, seen_at) if over else None
    ends = [end for end in (_asked_to_go(pod, seen_at), finished) if end is not None]
    if over and not ends:  # nothing tells since when
        return max(begun, seen_at or begun)
    return max(begun, min(ends)) if ends else None


def _asked_to_go(pod: LifePod, seen_at: int | None) -> int | None:
    """When the deletion was requested: the timestamp lies a grace period later."""
    due = _ns(pod.metadata.deletion_timestamp)
    if due is None:
        return None
    grace = pod.metadata.deletion_grace_period_seconds or 0
    return refined(due - grace * SECOND, seen_at)


def _finished(pod: LifePod, seen_at: int | None) -> int | None:
    finished = [
        moment
        for each in pod.status.container_statuses
        if each.state.terminated and (moment := _ns(each.state.terminated.finished_at))
    ]
    if finished:
        return refined(max(finished), seen_at)
    ready = pod.condition("Ready") or pod.condition("ContainersReady")
    if ready and ready.status == "False" and (moment := _ns(ready.last_transition_time)):
        return refined(moment, seen_at)
    return None


def _ns(at: datetime | None) -> int | None:
    if at is None:
        return None
    return int(at.timestamp()) * SECOND + at.microsecond * 1000
