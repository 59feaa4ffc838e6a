"""Time to violation: for how long an account may still wait before its promise is broken.

With R running, W waiting and the promise S: QoS = R / (R + W), TTV = R (1 - S) / S - W. Binding
is neither. All times are whole nanoseconds; `None` is a TTV or a deadline that never comes.
With a half-life both R and W fade, and the deadline still has a closed form.
"""

import math

from msgspec import Struct

SECOND = 1_000_000_000
FINEST = 10**9
"""An SLO has at most nine decimals."""


class AccountGrowth(Struct, frozen=True, gc=False):
    """How R and W of an account grow at the moment: its running and its waiting replicas."""

    running: int
    waiting: int

    @property
    def replicas(self) -> int:
        """Among how many a debt is shared out."""
        return max(1, self.running + self.waiting)

    def drain(self, slo: float) -> float:
        """Nanoseconds of TTV lost in each nanosecond; not positive: it does not fall."""
        return self.waiting - self.running * credit(slo)

    def drift(self, slo: float) -> float:
        """By how much the deadline of an account below its promise moves in each nanosecond.

        While all its replicas wait it stays; those that run pay the debt off meanwhile.
        """
        return 1 - self.drain(slo) / self.replicas


def credit(slo: float) -> float:
    """Time of waiting that is earned by running: (1 - S) / S."""
    return math.inf if slo <= 0 else (1 - slo) / slo


def availability(running: int, waiting: int, slo: float) -> float:
    """The QoS; of an account without any time it is 1 only if nothing was promised."""
    total = running + waiting
    if total <= 0:
        return 1.0 if slo <= 0 else 0.0
    return running / total


def time_to_violation(running: int, waiting: int, slo: float) -> int | None:
    """In whole numbers: floats would make it a nanosecond, and so a shown second, too short."""
    share = round(slo * FINEST)
    return None if share <= 0 else running * (FINEST - share) // share - waiting


def deadline(
    now: int, ttv: int | None, pace: AccountGrowth, slo: float, half_life: int = 0
) -> int | None:
    """When the promise is broken if nothing but time passes; a moment in the past if it is.

    An account below its promise is due since so long ago as each of its replicas has waited too
    long, on the average. Its whole debt would grow with the number of replicas: whoever asked for
    more than fits would go before all others.
    """
    if ttv is None:
        return None
    drain = float(pace.replicas) if ttv < 0 else pace.drain(slo)
    after = _until(ttv, 0, drain, half_life)
    return None if after is None else now + after


def urgent_at(
    now: int, ttv: int | None, margin: int, pace: AccountGrowth, slo: float, half_life: int = 0
) -> int | None:
    """When the TTV will have fallen to `margin`; None if never, or if it has."""
    if ttv is None or ttv < margin:
        return None
    after = _until(ttv, margin, pace.drain(slo), half_life)
    return None if after is None else now + after


def _until(ttv: int, level: int, drain: float, half_life: int) -> int | None:
    """Time until a TTV that drains so fast, and fades, comes down to `level`."""
    if drain <= 0:
        return None
    if not half_life:
        return ttv - level if drain == 1 else int((ttv - level) / drain)  # floats hold 53 bits
    fading = math.log(2) / half_life  # per nanosecond
    floor = drain / fading  # what it would fall to below zero in the end
    if level + floor <= 0 or ttv + floor <= 0:
        return int(ttv - level)
    return int(math.log((ttv + floor) / (level + floor)) / fading)


def faded(amount: float, age: int, half_life: int) -> float:
    """What is left of an amount after so long."""
    return amount * math.exp2(-age / half_life) if half_life else amount


def faded_span(start: int, end: int, now: int, half_life: int) -> float:
    """What a span of time weighs, seen from `now`."""
    if not half_life:
        return end - start
    scale = half_life / math.log(2)
    return scale * (math.exp2((end - now) / half_life) - math.exp2((start - now) / half_life))
