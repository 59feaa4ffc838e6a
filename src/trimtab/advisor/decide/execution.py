"""Carrying a plan out, one item after the other, each only when the one before is in effect.

An item is called InProgress before it is written, and Completed only by what is seen
afterwards. So whoever continues a plan finds out by looking whether the write was made, and
nothing is written twice. Before the first write all items are tried against what was
reviewed: nodes do not restart for a plan that would stop at a later item.
"""

from typing import Any

from msgspec import structs

from trimtab.advisor.api import Item, PlatformStatus, Taking
from trimtab.advisor.decide.approval import begun_anew
from trimtab.advisor.decide.conditions import REVIEW_AGAIN
from trimtab.advisor.decide.drift import DRIFT, is_drifted, what_changed
from trimtab.advisor.decide.situation import (
    Applied,
    CarryOut,
    ConfigSituation,
    Contested,
    ReadMore,
    Result,
    Step,
    StoreRecord,
    WaitForChange,
    WriteRefused,
    WriteStatus,
)
from trimtab.advisor.decide.transition import become, mark, moved, with_item
from trimtab.advisor.plan import durations
from trimtab.advisor.plan.diff import is_same, object_diff
from trimtab.advisor.plan.fields import is_kept, snapshot_hash
from trimtab.advisor.plan.plan import Preview, all_over, all_pending, differs, stored
from trimtab.advisor.plan.pools import PoolHealth
from trimtab.advisor.plan.profile import Draft
from trimtab.advisor.plan.rollback import (
    RollbackRecord,
    confirmed,
    forgotten,
    is_taken_back,
    remembered,
    undone,
)

POLL_S = 10.0


def execute(s: ConfigSituation) -> Step:
    status, spec = s.status, s.config.spec
    if spec.action == "DryRun" and (s.edited or _unwritten(status)):
        return begun_anew(s, "Stopped; what was applied stays, the rest is planned anew")
    if not status.reverse and s.asked_otherwise:
        return become(s, "Drafting", "The options were edited; planned anew")
    if _is_stale(s):
        return become(s, "Failed", STALE)
    if (objection := _objection(s)) is not None:
        return objection
    record = remembered(s.seen.record, _unwritten(status), s.seen.live)
    if record != s.seen.record:
        return StoreRecord(record)
    watched = tuple(_rechecked(s, each) for each in status.items)
    if watched != status.items:
        return WriteStatus(structs.replace(status, items=watched))
    if all_over(status.items):
        return _finish(s)
    item = next(each for each in status.items if each.state not in ("Completed", "Failed"))
    return _advance(s, item)


STALE = (
    "The plan is stale: what it would change is no longer as it was when the plan was made. "
    "Nothing was applied; edit the spec to plan again, or set bypassOptimisticLock"
)


def _is_stale(s: ConfigSituation) -> bool:
    """The optimistic lock: asked once, before anything is written."""
    status = s.status
    if s.config.spec.bypass_optimistic_lock or not status.source_snapshot_hash:
        return False
    if not status.items or not all_pending(status.items):
        return False
    return snapshot_hash(status.items, s.seen.live) != status.source_snapshot_hash


def _objection(s: ConfigSituation) -> Step | None:
    """Before anything is written: what speaks against any of the items now."""
    items = s.status.items
    if not all_pending(items):
        return None
    if any(_is_unseen(s, item) for item in items):
        return ReadMore("previews")
    for item in items:
        preview = s.seen.previews.get(item.name)
        if preview and preview.refused and s.config.spec.failure_policy == "Abort":
            return failed(s, item, f"{preview.refused}; nothing was applied")
        if more := _more(s, item):
            return _contested(s, item, more)
    return None


def _more(s: ConfigSituation, item: Item) -> tuple[Taking, ...]:
    """Fields of others that were not in the plan that was reviewed."""
    preview, prior = s.seen.previews.get(item.name), s.seen.record.of(item.target_ref)
    takes: tuple[Taking, ...] = ()
    if item.verb == "apply":
        takes = preview.takes if preview else ()
    elif prior is not None:
        takes = undone(prior, s.seen.live.get(item.target_ref))
    if s.config.spec.bypass_optimistic_lock:
        return ()
    return tuple(take for take in takes if take not in item.takes)


def _unwritten(status: PlatformStatus) -> tuple[Item, ...]:
    """What was written already is no longer as it was before us."""
    return tuple(i for i in status.items if i.state == "Pending")


def _rechecked(s: ConfigSituation, item: Item) -> Item:
    """An item that was completed, looked at again while others are under way."""
    if item.state != "Completed" or item.verb != "apply":
        return item
    kept = is_kept(item.desired_state, s.seen.live.get(item.target_ref))
    if kept == (not item.drifted):
        return item
    message = item.message if kept else f"{DRIFT} while other items were applied"
    return structs.replace(item, drifted=not kept, message=message)


def _advance(s: ConfigSituation, item: Item) -> Step:
    if item.state == "Pending":
        return _begin(s, item)
    if not item.applied:
        return _carried_out(s, item)
    if item.verb == "apply" and not is_kept(item.desired_state, s.seen.live.get(item.target_ref)):
        return _undone(s, item)
    health = s.seen.health.get(item.name, PoolHealth("ready", _DONE[item.verb]))
    if health.state == "ready":
        return _write(s, _completed(s, item, health.message))
    if health.state == "failed":
        return failed(s, item, health.message)
    return _wait(s, item, health)


def _begin(s: ConfigSituation, item: Item) -> Step:
    states = {each.name: each.state for each in s.status.items}
    missing = [name for name in item.depends_on if states.get(name) == "Failed"]
    if missing:
        return failed(s, item, f"not started: it depends on {', '.join(missing)}, which failed")
    return _write(s, moved(s, item, "InProgress", f"{_DOING[item.verb]} {item.target_ref}"))


_DONE = {"apply": "applied", "delete": "deleted", "restore": "restored"}
_DOING = {"apply": "applying", "delete": "deleting", "restore": "restoring"}


def _carried_out(s: ConfigSituation, item: Item) -> Step:
    """Write it, unless the cluster already is as the item says, by our hand."""
    if item.verb != "apply":
        written = is_taken_back(item, s.seen.record, s.seen.live.get(item.target_ref))
    elif _is_unseen(s, item):
        return ReadMore("previews")
    else:
        written = _is_written(s.seen.previews.get(item.name))
    if written:
        return _write(s, structs.replace(item, applied=True))
    if item.verb != "apply" and (more := _more(s, item)):
        return _contested(s, item, more)
    return CarryOut(item, force=s.config.spec.bypass_optimistic_lock)


def _is_unseen(s: ConfigSituation, item: Item) -> bool:
    """Whether a dry run must tell first what applying the item would do now."""
    is_applied = item.verb == "apply" and item.desired_state is not None
    return is_applied and item.name not in s.seen.previews


def _is_written(preview: Preview | None) -> bool:
    if preview is None or preview.refused or preview.live is None or preview.after is None:
        return False
    return is_same(preview.live, preview.after)


def _undone(s: ConfigSituation, item: Item) -> Step:
    """Somebody took back what we wrote before it was in effect."""
    told = ", ".join(what_changed(item, s.seen.live.get(item.target_ref)))
    text = f"{item.target_ref} is not as it was applied: {told}"
    if s.config.spec.bypass_optimistic_lock:  # put right as drift is, and as often
        strayed = moved(s, item, "Completed", f"{DRIFT}: {told}", drifted=True)
        return become(s, "Drifted", text, items=with_item(s.status.items, strayed), **_ended(s))
    status = mark(s, s.status, REVIEW_AGAIN, True, "Undone", text)
    return become(s, "Drafting", status=status)


def _wait(s: ConfigSituation, item: Item, health: PoolHealth) -> Step:
    limit_s = durations.seconds(s.config.spec.wait_timeout)
    since = item.last_transition_time or s.now
    waited_s = (s.now - since).total_seconds()
    if limit_s is not None and waited_s >= limit_s:
        limit = s.config.spec.wait_timeout
        return failed(s, item, f"not in effect within {limit}: {health.message}")
    waiting = moved(s, item, "InProgress", health.message, applied=True)
    if waiting != item:
        return _write(s, waiting)
    return WaitForChange(POLL_S if limit_s is None else min(POLL_S, max(0.05, limit_s - waited_s)))


def failed(s: ConfigSituation, item: Item, message: str) -> Step:
    """The failure policy: stop here, or note it and go on."""
    items = with_item(s.status.items, moved(s, item, "Failed", message))
    if s.config.spec.failure_policy == "Abort":
        return become(s, "Failed", f"{item.name}: {message}", items=items)
    return WriteStatus(structs.replace(s.status, items=items))


def _write(s: ConfigSituation, item: Item) -> WriteStatus:
    return WriteStatus(structs.replace(s.status, items=with_item(s.status.items, item)))


def _completed(s: ConfigSituation, item: Item, message: str) -> Item:
    live = s.seen.live.get(item.target_ref)
    return moved(
        s,
        item,
        "Completed",
        message,
        applied=True,
        drifted=False,
        diff=object_diff(item.target_ref, live, live) if live is not None else "",
    )


def acted(s: ConfigSituation, item: Item, result: Result) -> Step:
    """What an attempt to write came to."""
    match result:
        case Applied():
            return _write(s, structs.replace(item, applied=True))
        case WriteRefused(message):
            return failed(s, item, message)
        case Contested(takes):
            return _contested(s, item, takes)


def _contested(s: ConfigSituation, item: Item, takes: tuple[Taking, ...]) -> Step:
    who = ", ".join(f"{take.field} from {take.manager}" for take in takes)
    text = f"{_DOING[item.verb].capitalize()} {item.target_ref} would now also take {who}"
    status = mark(s, s.status, REVIEW_AGAIN, True, "ConflictsChanged", text)
    return become(s, "Drafting", status=status)


def _finish(s: ConfigSituation) -> Step:
    status = s.status
    errors = [item.name for item in status.items if item.state == "Failed"]
    done = [item for item in status.items if item.state == "Completed"]
    undone = [item.target_ref for item in done if item.verb != "apply"]
    applied = [item.target_ref for item in done if item.verb == "apply"]
    record = confirmed(forgotten(s.seen.record, undone), applied)
    if status.reverse and not errors:
        record = RollbackRecord()
    if record != s.seen.record:
        return StoreRecord(record)
    if errors:
        return become(s, "CompletedWithErrors", f"Failed: {', '.join(errors)}", **_settled(s))
    if status.reverse:
        return become(s, "RolledBack", items=status.items)
    strayed = [item.name for item in status.items if item.drifted]
    if strayed or _still_drifted(s):
        return become(s, "Drifted", f"Changed meanwhile: {', '.join(strayed)}", **_ended(s))
    return become(s, "Completed", **_settled(s))


def _still_drifted(s: ConfigSituation) -> bool:
    """True if the re-apply finished but the managed fields still differ from the baseline."""
    remediation = s.status.remediation
    if remediation is None or not remediation.running:
        return False
    return is_drifted(s)


def _ended(s: ConfigSituation) -> dict[str, Any]:
    """A baseline is what a completed plan left: until there is one, only what is wanted counts."""
    remediation = s.status.remediation
    if remediation is None:
        return {"remediation": None, "source_snapshot_hash": ""}
    return {"remediation": structs.replace(remediation, running=False)}


def _settled(s: ConfigSituation) -> dict[str, Any]:
    """The baseline for drift is what is live now; inputs, if they would plan the same."""
    items = tuple(item for item in s.status.items if item.verb == "apply" or item.state == "Failed")
    changes: dict[str, Any] = {
        **_ended(s),
        "items": items,
        "source_snapshot_hash": snapshot_hash(items, s.seen.live),
        "operator_version": s.status.operator_version or s.version,
    }
    draft = s.seen.draft
    if isinstance(draft, Draft) and not differs(items, draft.desired_objects):
        changes["inputs"] = stored(draft.inputs)
    return changes
