"""Drift: managed fields that are no longer what they were when the plan was completed.

The hash decides; the dry run shows what applying again would change, and the managedFields
of the object tell who did it. A key that somebody put into a managed map shows in no such
diff, because apply does not remove it: it is named all the same.
"""

from msgspec import structs

from trimtab.advisor.api import FieldChange, Item, PlatformStatus
from trimtab.advisor.decide.situation import ConfigSituation, ReadMore, Step
from trimtab.advisor.decide.transition import become, stay
from trimtab.advisor.plan.diff import has_changes, object_diff, with_changes
from trimtab.advisor.plan.fields import (
    is_kept,
    is_satisfied,
    leaves,
    left_behind,
    lookup,
    others_of,
    parse_path,
    snapshot_hash,
    strangers,
)
from trimtab.advisor.plan.plan import Preview
from trimtab.kube.resources import Free

DRIFT = "drift detected"


def is_drifted(s: ConfigSituation) -> bool:
    """Changed since it was completed, or not as wanted, removal included."""
    stored, items = s.status.source_snapshot_hash, s.status.items
    changed = bool(stored) and snapshot_hash(items, s.seen.live) != stored
    return changed or any(_has_strayed(item, s.seen.live.get(item.target_ref)) for item in items)


def _has_strayed(item: Item, live: Free | None) -> bool:
    if item.verb != "apply" or item.state == "Failed":
        return False
    return not is_kept(item.desired_state, live)


def drifting(s: ConfigSituation) -> Step | None:
    """Enters Drifted or updates its details; None if nothing is to be written."""
    if not is_drifted(s):
        return None
    if not s.seen.previews:
        return ReadMore("previews")
    after = reported(s)
    text = "; ".join(f"{i.name}: {i.message}" for i in after.items if i.drifted)
    if s.status.phase == "Drifted":
        return stay(s, text, status=after)
    return become(s, "Drifted", text, status=after)


def reported(s: ConfigSituation, *, back: bool = False) -> PlatformStatus:
    """The items with what has become of them; `back` when all is as it was again."""
    items = tuple(
        _returned(s, item) if back else _told(s, item, s.seen.previews.get(item.name))
        for item in s.status.items
    )
    return structs.replace(s.status, items=items)


def _returned(s: ConfigSituation, item: Item) -> Item:
    live = s.seen.live.get(item.target_ref)
    diff = object_diff(item.target_ref, live, live) if live is not None else ""
    message = "in desired state again" if item.drifted else item.message
    return structs.replace(item, drifted=False, message=message, diff=diff, drift=())


def _told(s: ConfigSituation, item: Item, preview: Preview | None) -> Item:
    if preview is None or item.state != "Completed":
        return item
    item = with_changes(item, preview.live, preview.after)
    diff = object_diff(item.target_ref, preview.live, preview.after)
    changed = what_changed(item, preview.live)
    if not changed and not has_changes(diff):
        return structs.replace(item, diff=diff, drifted=False, drift=())
    message = f"{DRIFT}: {', '.join(changed) or 'see the diff'}"
    drift = changes_of(item, preview.live)
    return structs.replace(item, diff=diff, drifted=True, message=message[:1024], drift=drift)


def what_changed(item: Item, live: Free | None) -> list[str]:
    """Fields that are not as desired and keys that we did not ask for, with who wrote them."""
    if live is None:
        return ["the object was deleted"]
    told = [_by(change) for change in changes_of(item, live)]
    told += [f"{path} should be gone" for path in left_behind(item.desired_state, live)]
    return told


def changes_of(item: Item, live: Free | None) -> tuple[FieldChange, ...]:
    """Each field that is not as desired, or not asked for, as it is now."""
    if live is None:
        return ()
    found = []
    for dotted in item.managed_fields:
        root = parse_path(dotted)
        _, wanted = lookup(item.desired_state, root)
        for path in ((*root, *leaf) for leaf in leaves(wanted)):
            have, want = lookup(live, path), lookup(item.desired_state, path)
            if want[0] and not (have[0] and is_satisfied(want[1], have[1])):
                by = others_of(live, path)
                found.append(FieldChange(".".join(path), have[1], removed=not have[0], by=by))
    added = [
        FieldChange(path, lookup(live, parse_path(path))[1], added=True, by=managers)
        for path, managers in strangers(live, item)
    ]
    return (*found, *added)


def _by(change: FieldChange) -> str:
    what = "removed" if change.removed else "added" if change.added else "changed"
    who = f" by {', '.join(change.by)}" if change.by else ""
    return f"{change.field} {what}{who}"
