"""Why each field of an item is set, and which of them change."""

from collections.abc import Mapping

from msgspec import structs

from trimtab.advisor.api import FieldReason, Item
from trimtab.advisor.plan.fields import leaves, lookup, parse_path
from trimtab.kube.resources import Free


def reasons_of(
    managed: tuple[str, ...], desired: Free, why: Mapping[str, str]
) -> list[FieldReason]:
    """One for each value that is set, the nearest that the profile gives."""
    paths = [
        (*root, *leaf)
        for root in map(parse_path, managed)
        for leaf in leaves(lookup(desired, root)[1])
    ]
    told: dict[str, str] = {}
    for path in paths:
        above = [".".join(path[: length + 1]) for length in range(len(path))]
        near = next((dotted for dotted in reversed(above) if dotted in why), None)
        if near is not None:  # a reason for a whole is given once
            told.setdefault(near, why[near])
    return [FieldReason(field=field, why=text) for field, text in told.items()]


def with_changes(item: Item, live: Free | None, after: Free | None) -> Item:
    """The item whose reasons say which fields an apply would change now."""
    return structs.replace(
        item,
        reasons=tuple(
            structs.replace(each, changes=lookup(live, path) != lookup(after, path))
            for each in item.reasons
            for path in [parse_path(each.field)]
        ),
    )


def changing(item: Item) -> tuple[FieldReason, ...]:
    return tuple(each for each in item.reasons if each.changes)
