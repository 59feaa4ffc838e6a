"""The audit history in the status: who asked for what, when, and what became of it."""

from datetime import datetime

from trimtab.advisor.api import Event, PlatformStatus

MOST = 40


def recorded(
    status: PlatformStatus, what: str, now: datetime, by: str = "", outcome: str = ""
) -> tuple[Event, ...]:
    """The history with one more line; the oldest go first."""
    line = Event(at=now, what=what, plan_id=status.plan_id, by=by, outcome=outcome[:256])
    return (*status.history, line)[-MOST:]
