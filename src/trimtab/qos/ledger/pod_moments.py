"""What a pod object tells about its life.

Some moments the API says in so many words. An end it sometimes does not: a pod that is Failed or
Succeeded without end times of its containers. Then the last write of its status is the best
clue, then its newest condition; without either nothing but "it is over" is known.
"""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from trimtab.kube.resources import Condition, ObjectMeta
from trimtab.qos.ledger.pod_life import Incarnation, LifePod
from trimtab.qos.ledger.time_to_violation import SECOND

_LATE = 3 * SECOND // 2  # a look later than this did not see it happen


class Observation(Struct, frozen=True):
    """How a pod object was come by."""

    changed: int
    """When it became what it is, as far as that is known."""
    now: int
    known_until: int = 0
    """Up to then nothing happened that was not seen."""
    witnessed: bool = True
    """It was seen to become so; otherwise it may have since `known_until`."""


def life_of(pod: LifePod, seen_at: int | None = None) -> Incarnation:
    """The moments that a pod object tells; `seen_at` if its last change was seen to happen."""
    meta = pod.metadata
    created = refined(_ns(meta.creation_timestamp) or 0, seen_at)
    bound = _bound(pod, created, seen_at)
    ended, vague = _ended(pod, bound or created, seen_at)
    return Incarnation(
        uid=meta.uid,
        name=meta.name,
        created=created,
        bound=bound,
        ended=ended,
        vague=vague,
        started=_ns(pod.status.start_time),
        gated=bool(pod.spec.scheduling_gates),
        turns=_turns(pod, seen_at),
    )


def _turns(pod: LifePod, seen_at: int | None) -> list[int]:
    """Ready since a moment, or not ready any more since then."""
    ready = pod.condition("Ready")
    told = None if ready is None else _ns(ready.last_transition_time)
    if ready is None or told is None:
        return []
    turn = refined(told, seen_at)
    return [turn] if ready.status == "True" else [turn, turn]


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


def _ended(pod: LifePod, begun: int, seen_at: int | None) -> tuple[int | None, bool]:
    """When it ended, if it did, and whether that is no more than a clue."""
    asked = _asked_to_go(pod, seen_at)
    if pod.status.phase not in ("Succeeded", "Failed"):
        return (None if asked is None else max(begun, asked)), False
    finished = _finished(pod, seen_at)
    told = [end for end in (asked, finished) if end is not None]
    clue = None if finished is not None else _clue(pod, seen_at)
    if told and (clue is None or min(told) <= clue):
        return max(begun, min(told)), False
    return (None if clue is None else max(begun, clue)), True


def _clue(pod: LifePod, seen_at: int | None) -> int | None:
    """When it can have become Failed or Succeeded, as far as its object tells."""
    stamp = _newest(w.time for w in pod.metadata.managed_fields if w.subresource == "status")
    if stamp is None and any(_tells_an_end(each) for each in pod.status.conditions):
        stamp = _newest(each.last_transition_time for each in pod.status.conditions)
    return seen_at if stamp is None else refined(stamp, seen_at)


def _tells_an_end(condition: Condition) -> bool:
    kind, status = condition.type, condition.status
    return (kind, status) == ("DisruptionTarget", "True") or (
        kind in ("Ready", "ContainersReady") and status == "False"
    )


def _asked_to_go(pod: LifePod, seen_at: int | None) -> int | None:
    """When the deletion was requested: the timestamp lies a grace period later."""
    due = _ns(pod.metadata.deletion_timestamp)
    if due is None:
        return None
    grace = pod.metadata.deletion_grace_period_seconds or 0
    return refined(due - grace * SECOND, seen_at)


def _finished(pod: LifePod, seen_at: int | None) -> int | None:
    states = (each.state.terminated for each in pod.status.container_statuses)
    last = _newest(state.finished_at for state in states if state is not None)
    return None if last is None else refined(last, seen_at)


def changed_at(pod: LifePod, seen_at: int | None = None) -> int:
    """When the object became what it is; `seen_at` if that was seen to happen."""
    stamp = _newest(written.time for written in pod.metadata.managed_fields)
    if stamp is None:
        return newest_moment(pod) if seen_at is None else seen_at
    return refined(stamp, seen_at)


def created_at(meta: ObjectMeta | None) -> int:
    """When an object was created; 0 if it is not known."""
    return (_ns(meta.creation_timestamp) if meta is not None else None) or 0


def newest_moment(pod: LifePod) -> int:
    """The latest time in the past that an object tells."""
    moments = [
        pod.metadata.creation_timestamp,
        pod.status.start_time,
        *(each.last_transition_time for each in pod.status.conditions),
        *(each.time for each in pod.metadata.managed_fields),
    ]
    return _newest(moments) or 0


def _newest(moments: Iterable[datetime | None]) -> int | None:
    return max((_ns(at) or 0 for at in moments if at is not None), default=None)


def _ns(at: datetime | None) -> int | None:
    if at is None:
        return None
    return int(at.timestamp()) * SECOND + at.microsecond * 1000
