"""Drift that somebody accepted: a value stays as it is, for as long as it is that value.

An acceptance never writes anything. It stands in the spec with the value that was seen; once
the field has another value, the plan is about what the profile wants again, and says so.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from trimtab.advisor.api import Accepted
from trimtab.advisor.plan.fields import lookup, parse_path
from trimtab.advisor.plan.ignored_fields import covers, left_out, put
from trimtab.advisor.plan.profile import DesiredObject, Draft
from trimtab.kube.resources import Free


def accepting(draft: Draft, given: tuple[Accepted, ...], live: Mapping[str, Free | None]) -> Draft:
    """The draft with what was accepted; acceptances that no longer hold are named."""
    if not given:
        return draft
    desired_objects = tuple(
        _with(wanted, given, live.get(wanted.name)) for wanted in draft.desired_objects
    )
    used = {(wanted.name, each.field) for wanted in desired_objects for each in wanted.accepted}
    idle = tuple(
        f"spec.accepted: {each.field} of {each.item} is not {shown(each)} any more; "
        "the acceptance has no effect"
        for each in given
        if (each.item, each.field) not in used
    )
    return structs.replace(
        draft, desired_objects=desired_objects, warnings=(*draft.warnings, *idle)
    )


def _with(wanted: DesiredObject, given: Iterable[Accepted], live: Free | None) -> DesiredObject:
    held = tuple(each for each in given if each.item == wanted.name and _holds(each, wanted, live))
    desired = wanted.desired
    for each in held:
        path = parse_path(each.field)
        desired = left_out(desired, [path])
        if not each.removed:
            put(desired, path, each.value)
    return structs.replace(wanted, desired=desired, accepted=held)


def _holds(each: Accepted, wanted: DesiredObject, live: Free | None) -> bool:
    path = parse_path(each.field)
    if live is None or not any(covers(parse_path(root), path) for root in wanted.managed_fields):
        return False
    there, value = lookup(live, path)
    return not there if each.removed else there and value == each.value


def shown(each: Accepted) -> str:
    """The value, short enough for a line."""
    text = "absent" if each.removed else _text(each.value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
