"""The audit history in the status: who asked for what, when, what came of it, what changed."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct, structs

from trimtab.advisor.api import HistoryLine, Item, PlatformStatus, VirtPlatformConfig
from trimtab.advisor.plan.diff import capped, has_changes
from trimtab.errors import TrimtabError

MOST = 40
MOST_DIFFS = 8
"""The newest plans whose diffs are kept: a status has a limit."""
LONGEST_DIFF = 16_000


def recorded(
    status: PlatformStatus,
    what: str,
    now: datetime,
    by: str = "",
    outcome: str = "",
    diff: str = "",
) -> tuple[HistoryLine, ...]:
    """The history with one more line; the oldest lines go first, diffs before their lines."""
    line = HistoryLine(
        at=now, what=what, plan_id=status.plan_id, by=by, outcome=outcome[:256], diff=diff
    )
    lines = (*status.history, line)[-MOST:]
    with_diff = [place for place, each in enumerate(lines) if each.diff]
    too_old = set(with_diff[:-MOST_DIFFS])
    return tuple(
        structs.replace(each, diff="") if place in too_old else each
        for place, each in enumerate(lines)
    )


def diff_of(items: Iterable[Item]) -> str:
    """What a plan changes, as it is kept when the plan is over; values of Secrets are masked."""
    diffs = "".join(item.diff for item in items if has_changes(item.diff))
    return capped(diffs, LONGEST_DIFF, "the history keeps no more")


class PastPlan(Struct, frozen=True, rename="camel"):
    """One start of a plan, and what it changed."""

    name: str
    plan_id: str
    at: datetime | None
    by: str
    outcome: str
    diff: str


def past_plans(configs: Sequence[VirtPlatformConfig], plan_id: str) -> list[PastPlan]:
    """Every start of a plan whose diff is kept, re-applies after drift included."""
    found = [
        (config, line)
        for config in configs
        for line in config.status.history
        if plan_id and line.plan_id == plan_id
    ]
    by = next((line.by for _, line in reversed(found) if line.by), "")
    starts = [
        PastPlan(config.metadata.name, plan_id, line.at, by, line.outcome, line.diff)
        for config, line in found
        if line.diff
    ]
    if starts:
        return starts
    if found:
        raise TrimtabError(
            f"plan {plan_id}: it was not started, changed nothing, or is older than the "
            f"{MOST_DIFFS} newest plans, whose diffs are kept"
        )
    there = ", ".join(config.metadata.name for config in configs) or "none"
    raise TrimtabError(
        f'"{plan_id}" is neither a VirtPlatformConfig (there are: {there}) nor a plan that one of '
        "them remembers; see: trimtab advisor history NAME"
    )
