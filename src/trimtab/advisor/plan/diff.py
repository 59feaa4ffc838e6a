"""Diffs that a person reads and `patch` accepts: YAML before and after, three lines around.

What the API server adds by itself is left out, and values of Secrets are masked: the plan
says that a value changes, not to what.
"""

from collections.abc import Mapping
from copy import deepcopy
from difflib import unified_diff
from typing import Any

from msgspec import structs

from trimtab.advisor.api import FieldReason, Item, TargetRef
from trimtab.advisor.plan.fields import applied_fields, leaves, lookup, parse_path
from trimtab.files.yaml import as_yaml
from trimtab.kube.resources import Free

# Why each field of an item is set, and which of them change.


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


NO_CHANGES = "(no changes)"
NOISE = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOST = 100_000
"""Characters of a diff that are kept."""
_MASKED, _BEFORE, _AFTER = "*** (masked)", "*** (before)", "*** (after)"


def sanitised(obj: Free) -> Free:
    """A copy without what the API server keeps for itself, and without status."""
    clean = {key: deepcopy(value) for key, value in obj.items() if key != "status"}
    meta = {k: v for k, v in (clean.get("metadata") or {}).items() if k not in NOISE}
    notes = {k: v for k, v in (meta.pop("annotations", None) or {}).items() if k != LAST_APPLIED}
    if notes:
        meta["annotations"] = notes
    return clean | ({"metadata": meta} if "metadata" in clean else {})


def is_same(live: Free, after: Free) -> bool:
    """Whether an apply that makes `after` of `live` changes neither a value nor what is ours."""
    return applied_fields(live) == applied_fields(after) and sanitised(live) == sanitised(after)


def sorted_yaml(obj: Free) -> str:
    """Keys in alphabetical order and no folding, so that a diff shows changes only."""
    return as_yaml(obj, sort_keys=True, width=10_000)


def object_diff(ref: TargetRef, before: Free | None, after: Free | None) -> str:
    """From `before` to `after`, either of which may not exist."""
    old, new = (None if obj is None else sanitised(obj) for obj in (before, after))
    if ref.kind == "Secret":
        old, new = masked(old, new)
    title = f"{ref.name} ({ref.kind})"
    heads = ["/dev/null" if obj is None else title for obj in (old, new)]
    lines = [
        [] if obj is None else sorted_yaml(obj).splitlines(keepends=True) for obj in (old, new)
    ]
    text = "".join(unified_diff(lines[0], lines[1], heads[0], heads[1], n=3))
    return capped(text) or f"--- {title}\n+++ {title}\n{NO_CHANGES}\n"


def capped(text: str, most: int = MOST, why: str = "see desiredState") -> str:
    """Whole lines up to `most` characters: a status has limits."""
    if len(text) <= most:
        return text
    kept = text[: text.rindex("\n", 0, most) + 1]
    return f"{kept}… {text.count(chr(10)) - kept.count(chr(10))} more lines, {why}\n"


def masked(before: Free | None, after: Free | None) -> tuple[Free | None, Free | None]:
    """Both without the values of a Secret; whether one changes is still to be seen."""
    changed = {
        (part, key)
        for part in ("data", "stringData")
        for key in {*_part(before, part), *_part(after, part)}
        if _part(before, part).get(key) != _part(after, part).get(key)
    }
    return _masked(before, changed, _BEFORE), _masked(after, changed, _AFTER)


def _masked(obj: Free | None, changed: set[tuple[str, str]], word: str) -> Free | None:
    if obj is None:
        return None
    hidden = {
        part: {key: word if (part, key) in changed else _MASKED for key in obj[part]}
        for part in ("data", "stringData")
        if isinstance(obj.get(part), Mapping)
    }
    return obj | hidden


def _part(obj: Free | None, part: str) -> Mapping[str, Any]:
    return (obj or {}).get(part) or {}


def has_changes(diff: str) -> bool:
    """False for an empty diff, for one that says so, and for headers alone."""
    lines = diff.splitlines()
    body = lines[2:] if diff.startswith("--- ") else lines
    return any(line.startswith(("+", "-")) for line in body)


def creates(diff: str) -> bool:
    return diff.startswith("--- /dev/null")
