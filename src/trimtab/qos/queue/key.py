"""The queue key: who is scheduled before whom, as 32 bytes on the pod.

`v1:<tier>:<rank>:<deadline>` has a fixed width, so the stamps' bytes sort as the keys do, and
the scheduler needs no clock to compare them. The tiers, in the order in which they are served:

0  the pod's controller would miss its SLO within the margin: by SLO, then by deadline. At the end
   of this tier are pods that have waited longer than `ageing` without being urgent; so they are
   served after every urgent pod and before the other tiers (docs/decisions/0010)
1  the controller would miss its SLO later: by deadline
2  the controller misses no SLO by waiting: by creation

The order is the same as in engines/kubernetes/qosaware; testdata/vectors.json binds both.
"""

import math
import re

from msgspec import Struct

from trimtab.qos.ledger.pod_life import STAMP
from trimtab.qos.ledger.time_to_violation import SECOND, AccountGrowth, deadline, urgent_at
from trimtab.qos.settings import QosSettings

ANNOTATION = STAMP
INFINITE = 10**20 - 1
LARGEST_RANK = 999_999
"""Of pods with an SLO of 0, and of those that have waited for too long."""
TOLERANCE = SECOND // 2
"""By how much a deadline must move to be written again; of a large debt or credit a twentieth."""
MOST_PENALTY_S = 60
URGENT, WAITING, CAREFREE = 0, 1, 2
_TEXT = re.compile(r"v1:([0-2]):([0-9]{6}):([0-9]{20})")

SortKey = tuple[int, int, int, int, int, str]


class Stamp(Struct, frozen=True, order=True):
    """What a stamp says, in the order in which it is compared; the smaller goes first."""

    tier: int
    rank: int
    deadline: int

    def __str__(self) -> str:
        return f"v1:{self.tier}:{self.rank:06d}:{self.deadline:020d}"


class PodSituation(Struct, frozen=True):
    """All that a stamp depends on."""

    now: int
    created: int
    ttv: int | None
    slo: float
    pace: AccountGrowth


class Horizon(Struct, frozen=True):
    """When a pod becomes urgent, when it has waited too long, how fast the past fades, and how
    much of its controller's debt a pod inherits."""

    margin: int
    ageing: int
    half_life: int = 0
    most_debt: int = 3600 * SECOND


def horizon_of(settings: QosSettings, *, is_vm: bool) -> Horizon:
    """A VM takes longer to start, so it becomes urgent earlier."""
    margin = settings.vm_margin_s if is_vm else settings.safety_margin_s
    return Horizon(
        round(margin * SECOND),
        round(settings.ageing_s * SECOND),
        round(settings.half_life_s * SECOND),
        round(settings.max_debt_s * SECOND),
    )


class StampDecision(Struct, frozen=True):
    stamp: Stamp
    again_at: int | None
    """When time alone will change the stamp."""


class Place(Struct, frozen=True):
    """A pod in the scheduler's queue."""

    stamp: str | None
    created: int
    uid: str
    priority: int = 0
    attempts: int = 0

    @property
    def sort_key(self) -> SortKey:
        key = parse(self.stamp or "") or unstamped(self.created)
        due = min(key.deadline + penalty_s(self.attempts) * SECOND, INFINITE)
        return -self.priority, key.tier, key.rank, due, self.created, self.uid


def parse(text: str) -> Stamp | None:
    """The stamp, if it is spelled in the one way there is."""
    match = _TEXT.fullmatch(text)
    return Stamp(*map(int, match.groups())) if match and text.isascii() else None


def unstamped(created: int) -> Stamp:
    """What a pod without a readable stamp counts as: the default promise, and it never ran."""
    return Stamp(URGENT, rank_of(0.80), clamp(created))


def rank_of(slo: float) -> int:
    """Higher promises have smaller ranks."""
    return math.floor((1 - slo) * LARGEST_RANK + 0.5)


def penalty_s(failures: int) -> int:
    """Seconds by which somebody who does not fit anywhere makes way for the others."""
    return min(2 ** min(failures, 10), MOST_PENALTY_S) if failures > 0 else 0


def clamp(moment: int | None) -> int:
    return INFINITE if moment is None else min(max(moment, 0), INFINITE)


def queue_key(at: PodSituation, horizon: Horizon) -> StampDecision:
    """The stamp of a pod that waits, and when to look again if nothing else happens."""
    due = deadline(at.now, at.ttv, at.pace, at.slo, horizon.half_life)
    if due is not None and at.ttv is not None and at.ttv < horizon.margin:
        return _urgent(at, horizon, due)
    soon = urgent_at(at.now, at.ttv, horizon.margin, at.pace, at.slo, horizon.half_life)
    old_at = at.created + horizon.ageing
    if at.now >= old_at:
        return StampDecision(Stamp(URGENT, LARGEST_RANK, clamp(old_at)), soon)
    again = old_at if soon is None else min(old_at, soon)
    if due is None:
        return StampDecision(Stamp(CAREFREE, 0, INFINITE), again)
    return StampDecision(Stamp(WAITING, 0, clamp(due)), again)


def _urgent(at: PodSituation, horizon: Horizon, due: int) -> StampDecision:
    """Ordered by promise. What the controller owed before this pod came counts up to a limit, so
    nobody is passed by a pod that came more than that later."""
    due = max(due, at.created - horizon.most_debt)
    stamp = Stamp(URGENT, rank_of(at.slo), clamp(due))
    drift = at.pace.drift(at.slo)
    if drift <= 0:
        return StampDecision(stamp, None)
    # twice as often as needed: a look costs nothing, and a write waits until it is worth it
    return StampDecision(stamp, max(at.now, due) + round(tolerance(at.now, stamp) / drift / 2))


def tolerance(now: int, stamp: Stamp) -> int:
    """By how much a stamp may be wrong."""
    return max(TOLERANCE, abs(now - stamp.deadline) // 20)


def differs(old: Stamp | None, new: Stamp, now: int) -> bool:
    """Whether a new stamp is worth a write: deadlines jitter by the grain of the API's times."""
    if old is None or (old.tier, old.rank) != (new.tier, new.rank):
        return True
    return abs(old.deadline - new.deadline) > tolerance(now, new)
