"""After a failure: what was written is looked at further.

A pool that was degraded may be well again, and somebody may change what was applied. A plan
that stopped halfway stays stopped until somebody approves the rest.
"""

from msgspec import structs

from trimtab.advisor.api import Item, Phase
from trimtab.advisor.decide.drift import DRIFT, what_changed
from trimtab.advisor.decide.situation import (
    CHECK_S,
    ConfigSituation,
    Step,
    WaitForChange,
    WriteStatus,
)
from trimtab.advisor.decide.transition import become, moved
from trimtab.advisor.plan.fields import is_kept


def recovered(s: ConfigSituation) -> Step:
    """Waits for its effect again if the cause is gone; Drifted if what was applied changed."""
    items = s.status.items
    if not any(_is_written(item) for item in items):
        return WaitForChange()
    strayed = {item.name: told for item in items if (told := _strayed(s, item))}
    if not all(_is_written(item) for item in items):
        return _halfway(s, strayed)
    if strayed:
        text = "; ".join(f"{name}: {told}" for name, told in strayed.items())
        back = tuple(
            moved(s, item, "Completed", strayed[item.name], drifted=True)
            if item.name in strayed
            else moved(s, item, "Completed", item.message)
            for item in items
        )
        return become(s, "Drifted", text, items=back, source_snapshot_hash="")
    if all(_is_well(s, item) for item in items):
        phase: Phase = "RollingBack" if s.status.reverse else "InProgress"
        return become(s, phase, "What it failed for is over", items=tuple(_resumed(s)))
    return WaitForChange(CHECK_S)


def _is_written(item: Item) -> bool:
    return item.state == "Completed" or item.applied


def _is_well(s: ConfigSituation, item: Item) -> bool:
    health = s.seen.health.get(item.name)
    return health is None or health.state == "ready"


def _resumed(s: ConfigSituation) -> list[Item]:
    return [
        moved(s, item, "InProgress", "waiting until it is in effect")
        if item.state == "Failed"
        else item
        for item in s.status.items
    ]


def _strayed(s: ConfigSituation, item: Item) -> str:
    """What has become of an item that was applied, if it is not as it was."""
    live = s.seen.live.get(item.target_ref)
    if item.verb != "apply" or not _is_written(item) or is_kept(item.desired_state, live):
        return ""
    return f"{DRIFT}: {', '.join(what_changed(item, live))}"[:1024]


def _halfway(s: ConfigSituation, strayed: dict[str, str]) -> Step:
    """The plan stays as it stopped; the message says which of its items changed."""
    items = tuple(
        structs.replace(item, drifted=True, message=strayed[item.name])
        if item.name in strayed and item.state == "Completed"
        else structs.replace(item, drifted=False)
        for item in s.status.items
    )
    if items != s.status.items:
        return WriteStatus(structs.replace(s.status, items=items))
    return WaitForChange(CHECK_S)
