"""Plans: what a profile wants and what the API server would make of it, as items to review.

Pure: a `Preview` holds what the dry run said, be it the API server's or that of planning
offline, so that both give the same items, diffs and plan id.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, convert, structs, to_builtins

from trimtab.advisor.api import Item, Options, Severity, Taking, TargetRef
from trimtab.advisor.plan.diff import has_changes, object_diff, reasons_of, with_changes
from trimtab.advisor.plan.fields import (
    digest,
    given_up,
    parse_path,
    snapshot_hash,
)
from trimtab.advisor.plan.ignored_fields import left_out, managed_without, paths_of
from trimtab.advisor.plan.profile import DesiredObject, Draft
from trimtab.kube.resources import Free

_RANK: Mapping[str, int] = {"": 0, "Low": 1, "Medium": 2, "High": 3}


class Preview(Struct, frozen=True):
    """An object as it is, as it would be, and the fields that would change hands."""

    live: Free | None
    after: Free | None
    takes: tuple[Taking, ...] = ()
    refused: str = ""
    """Why the API server would not take it."""


class PlatformPlan(Struct, frozen=True):
    """What is reviewed; `plan_id` stands for all of it."""

    items: tuple[Item, ...]
    snapshot: str
    plan_id: str
    inputs: Free = {}
    warnings: tuple[str, ...] = ()


def target_of(desired: Free) -> TargetRef:
    meta = desired.get("metadata") or {}
    return TargetRef(
        api_version=str(desired.get("apiVersion", "")),
        kind=str(desired.get("kind", "")),
        name=str(meta.get("name", "")),
        namespace=str(meta.get("namespace", "")),
    )


def desired_item(wanted: DesiredObject) -> Item:
    """As far as the profile knows it."""
    return Item(
        name=wanted.name,
        target_ref=target_of(wanted.desired),
        impact_severity=wanted.severity,
        impact=wanted.impact,
        desired_state=wanted.desired,
        message=wanted.message,
        managed_fields=wanted.managed_fields,
        depends_on=wanted.depends_on,
        warnings=wanted.warnings,
        reasons=tuple(reasons_of(wanted.managed_fields, wanted.desired, wanted.reasons)),
        ignored=wanted.ignored,
        accepted=wanted.accepted,
    )


def item_of(wanted: DesiredObject, preview: Preview) -> Item:
    item = with_changes(desired_item(wanted), preview.live, preview.after)
    diff = object_diff(item.target_ref, preview.live, preview.after)
    warnings = (
        *wanted.warnings,
        *given_up(wanted.desired, preview.live, preview.after),
    )
    return structs.replace(item, diff=diff, takes=preview.takes, warnings=warnings)


def make_plan(
    draft: Draft,
    previews: Mapping[str, Preview],
    options: Options | None,
    leaving: Sequence[Item] = (),
    live: Mapping[TargetRef, Free | None] | None = None,
) -> PlatformPlan:
    """The draft's items, then those that take back what is no longer wished for.

    `live` is what is known of the objects of `leaving`; the others are in the previews.
    """
    items = (
        *(item_of(wanted, previews[wanted.name]) for wanted in draft.desired_objects),
        *leaving,
    )
    desired_targets = {target_of(w.desired): previews[w.name].live for w in draft.desired_objects}
    inputs = stored(draft.inputs)
    return plan_of(items, {**(live or {}), **desired_targets}, inputs, options, draft.warnings)


def plan_of(
    items: tuple[Item, ...],
    live: Mapping[TargetRef, Free | None],
    inputs: Free,
    options: Options | None,
    warnings: tuple[str, ...] = (),
) -> PlatformPlan:
    snapshot = snapshot_hash(items, live)
    return PlatformPlan(
        items, snapshot, plan_id(items, inputs, options, snapshot), inputs, warnings
    )


def stored(inputs: Mapping[str, object]) -> Free:
    """Inputs as they come back from the API: JSON and nothing else."""
    return convert(to_builtins(dict(inputs), str_keys=True), Free)


def plan_id(items: Iterable[Item], inputs: Free, options: Options | None, snapshot: str) -> str:
    """Twelve hex digits for what is done to what, from which state and inputs."""
    said = [
        [i.name, i.verb, str(i.target_ref), i.desired_state, i.managed_fields, to_builtins(i.takes)]
        for i in items
    ]
    given = to_builtins(options) if options is not None else None
    return digest([said, inputs, given, snapshot])[:12]


def worst(items: Iterable[Item], otherwise: Severity | str = "") -> str:
    """The highest severity of the items that change something; `otherwise` without items."""
    ranked = [item.impact_severity for item in items]
    if not ranked:
        return otherwise
    return max(ranked, key=lambda severity: _RANK[severity]) or "Low"


def changes_nothing(items: Iterable[Item]) -> bool:
    return not any(has_changes(item.diff) for item in items)


def differs(items: Iterable[Item], desired_objects: Sequence[DesiredObject]) -> bool:
    """Whether the profile would now make other items.

    Severity does not count: it tells what applying would do to the cluster, which is less once
    it was done.
    """
    mine = {item.name: item for item in items if item.verb == "apply"}
    if mine.keys() != {wanted.name for wanted in desired_objects}:
        return True
    return any(_differs(mine[wanted.name], wanted) for wanted in desired_objects)


def _differs(item: Item, wanted: DesiredObject) -> bool:
    paths = paths_of(item.ignored)
    apart = (*paths, *(parse_path(each.field) for each in item.accepted))
    return (
        item.target_ref != target_of(wanted.desired)
        or left_out(item.desired_state or {}, apart) != left_out(stored(wanted.desired), apart)
        or item.managed_fields != managed_without(wanted.managed_fields, wanted.desired, paths)
    )


def all_pending(items: Iterable[Item]) -> bool:
    return all(item.state == "Pending" for item in items)


def all_over(items: Iterable[Item]) -> bool:
    return all(item.state in ("Completed", "Failed") for item in items)
