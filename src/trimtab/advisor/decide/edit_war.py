"""The guard against edit wars: re-apply after drift, but not for ever.

With bypassOptimisticLock we put back what drifted. If another does the same, the two would
write in turn until somebody notices. After a few rounds within a window we stop, say who
writes which field, and wait for an edit of the spec.
"""

from datetime import timedelta

from msgspec import structs

from trimtab.advisor.api import PlatformStatus, Remediation
from trimtab.advisor.decide.conditions import EDIT_WAR, is_true
from trimtab.advisor.decide.situation import (
    CHECK_S,
    Announcement,
    ConfigSituation,
    Step,
    WaitForChange,
    WriteStatus,
)
from trimtab.advisor.decide.transition import become, mark

ROUNDS = 3
WINDOW = timedelta(minutes=10)


def remedy(s: ConfigSituation) -> Step:
    """Apply again what drifted, unless that was done too often lately."""
    past = s.status.remediation or Remediation()
    if past.paused:
        return WaitForChange(CHECK_S)
    recent = tuple(at for at in past.at if s.now - at < WINDOW)
    if len(recent) >= ROUNDS:
        return _pause(s, structs.replace(past, at=recent, paused=True, running=False))
    items = tuple(
        structs.replace(item, state="Pending", applied=False, drifted=False)
        for item in s.status.items
    )
    again = Remediation(at=(*recent, s.now), running=True)
    text = f"Re-applying after drift, {len(again.at)} of {ROUNDS} in {WINDOW}"
    return become(s, "InProgress", text, items=items, remediation=again)


def _pause(s: ConfigSituation, remediation: Remediation) -> Step:
    rivals = "; ".join(f"{item.target_ref}: {item.message}" for item in s.status.items)
    text = (
        f"Paused after {ROUNDS} re-applies within {WINDOW}: somebody else writes the same fields "
        f"({rivals}). Stop them or change the options, then edit the spec to resume"
    )
    status = mark(s, s.status, EDIT_WAR, True, "Paused", text)
    paused = structs.replace(status, remediation=remediation)
    return WriteStatus(paused, (Announcement("EditWar", text, warning=True),))


def resumed(s: ConfigSituation) -> PlatformStatus:
    """The status without the count: the spec was edited, or all is as it was applied."""
    status = structs.replace(s.status, remediation=None)
    if not is_true(status, EDIT_WAR):
        return status
    return mark(s, status, EDIT_WAR, False, "Resumed", "Nobody writes against us")
