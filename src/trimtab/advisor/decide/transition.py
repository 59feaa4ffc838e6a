"""Builds the next status: phase, conditions, history line and Event."""

from typing import Any

from msgspec import structs

from trimtab.advisor.api import Item, ItemState, Phase, PlatformStatus
from trimtab.advisor.decide.conditions import TEXTS, marked, phase_conditions
from trimtab.advisor.decide.history import diff_of, recorded
from trimtab.advisor.decide.situation import Announcement, ConfigSituation, WriteStatus

_UNTOLD = ("Pending", "Drafting", "Ignored")
_STARTS = ("InProgress", "RollingBack")
_WARNINGS = ("Failed", "PrerequisiteFailed", "CompletedWithErrors", "Drifted")


def become(
    s: ConfigSituation,
    phase: Phase,
    detail: str = "",
    *,
    status: PlatformStatus | None = None,
    **changes: Any,
) -> WriteStatus:
    """Enter `phase`; `status` is the one to start from if it is not the stored one."""
    before = structs.replace(status or s.status, **changes)
    generation = s.config.metadata.generation
    after = structs.replace(
        before,
        phase=phase,
        observed_generation=generation,
        conditions=phase_conditions(before, phase, detail, generation, s.now),
    )
    news: tuple[Announcement, ...] = ()
    if phase not in _UNTOLD and s.status.phase != phase:
        diff = diff_of(after.items) if phase in _STARTS else ""
        lines = recorded(after, phase, s.now, outcome=detail, diff=diff)
        after = structs.replace(after, history=lines)
        news = (Announcement(phase, detail or TEXTS[phase], phase in _WARNINGS),)
    return WriteStatus(after, news)


def stay(s: ConfigSituation, detail: str = "", **changes: Any) -> WriteStatus | None:
    """The same phase with this text; None if that changes nothing."""
    assert s.status.phase
    after = become(s, s.status.phase, detail, **changes).status
    return WriteStatus(after) if after != s.status else None


def mark(
    s: ConfigSituation, status: PlatformStatus, name: str, true: bool, reason: str, message: str
) -> PlatformStatus:
    conditions = marked(status, name, true, reason, message, s.now)
    return structs.replace(status, conditions=conditions)


def with_item(items: tuple[Item, ...], changed: Item) -> tuple[Item, ...]:
    return tuple(changed if item.name == changed.name else item for item in items)


def moved(s: ConfigSituation, item: Item, state: ItemState, message: str, **changes: Any) -> Item:
    """The item in another state; its time moves only when the state does."""
    at = item.last_transition_time if item.state == state else s.now
    return structs.replace(
        item, state=state, message=message[:1024], last_transition_time=at, **changes
    )
