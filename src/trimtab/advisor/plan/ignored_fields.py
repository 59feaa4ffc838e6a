"""What a plan leaves to others: fields by their path, and whatever a field manager writes.

An ignored field is neither written nor compared. Where it is ours from an earlier plan, it is
written with the value that it has: to leave it out would remove it. A rule for a manager is
about the fields that it owns at the moment, so it is resolved at every look.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from msgspec import structs

from trimtab.advisor.api import MANAGER, Ignore, Ignored, Item
from trimtab.advisor.plan.fields import (
    Path,
    leaves,
    lookup,
    manager_entries,
    others_of,
    owners_of,
    parse_path,
)
from trimtab.advisor.plan.profile import DesiredObject, Draft, OptionError
from trimtab.kube.resources import Free

_HEAD = ("apiVersion", "kind", "metadata")


def ignored(
    rules: Iterable[Ignore], name: str, managed: Iterable[str], desired: Free, live: Free | None
) -> tuple[Ignored, ...]:
    """The fields of one item that the rules are about."""
    roots = [parse_path(dotted) for dotted in managed]
    found: dict[str, Ignored] = {}
    for rule in rules:
        if rule.item not in ("", name):
            continue
        for path in [parse_path(rule.field)] if rule.field else _owned(rule, roots, desired, live):
            if _concerns(path, roots, desired, live):
                dotted = ".".join(path)
                found.setdefault(dotted, Ignored(field=dotted, manager=rule.manager))
    return tuple(found[dotted] for dotted in sorted(found))


def _owned(rule: Ignore, roots: list[Path], desired: Free, live: Free | None) -> list[Path]:
    """Where values of ours stand or would stand, and the manager is an owner."""
    return [
        (*root, *leaf)
        for root in roots
        for leaf in dict.fromkeys(
            (*leaves(lookup(desired, root)[1]), *leaves(lookup(live, root)[1]))
        )
        if rule.manager in others_of(live, (*root, *leaf))
    ]


def _concerns(path: Path, roots: list[Path], desired: Free, live: Free | None) -> bool:
    if any(covers(path, root) for root in roots):
        return True
    inside = any(covers(root, path) for root in roots)
    return inside and (lookup(desired, path)[0] or lookup(live, path)[0])


def covers(outer: Path, inner: Path) -> bool:
    """Whether `inner` is the field `outer`, or a field in it."""
    return inner[: len(outer)] == outer


def paths_of(found: Iterable[Ignored]) -> tuple[Path, ...]:
    return tuple(parse_path(each.field) for each in found)


def ignoring(draft: Draft, rules: tuple[Ignore, ...], live: Mapping[str, Free | None]) -> Draft:
    """The draft without what is ignored; rules that are about nothing are named."""
    if not rules:
        return draft
    desired_objects = tuple(
        _lessened(wanted, rules, live.get(wanted.name)) for wanted in draft.desired_objects
    )
    hit = {each.field for wanted in desired_objects for each in wanted.ignored}
    idle = tuple(
        f"spec.ignore: no item of this plan manages {rule.field}; the rule has no effect"
        for rule in rules
        if rule.field and rule.field not in hit
    )
    return structs.replace(
        draft, desired_objects=desired_objects, warnings=(*draft.warnings, *idle)
    )


def _lessened(wanted: DesiredObject, rules: tuple[Ignore, ...], live: Free | None) -> DesiredObject:
    found = ignored(rules, wanted.name, wanted.managed_fields, wanted.desired, live)
    if not found:
        return wanted
    desired = left_out(wanted.desired, paths_of(found))
    if not set(desired) - set(_HEAD):
        raise OptionError(
            f"spec.ignore leaves nothing of item {wanted.name}; ignore single fields of it"
        )
    managed = managed_without(wanted.managed_fields, wanted.desired, paths_of(found))
    return structs.replace(wanted, desired=desired, managed_fields=managed, ignored=found)


def managed_without(
    managed: Iterable[str], desired: Free, paths: Iterable[Path]
) -> tuple[str, ...]:
    """Managed paths without these; a map of which a part is ignored is named by its other keys."""
    without = tuple(paths)
    kept: list[str] = []
    for dotted in managed:
        root = parse_path(dotted)
        if any(covers(path, root) for path in without):
            continue
        if not any(covers(root, path) for path in without):
            kept.append(dotted)
            continue
        inner = [(*root, *leaf) for leaf in leaves(lookup(desired, root)[1]) if leaf]
        kept += [".".join(p) for p in inner if not any(covers(path, p) for path in without)]
    return tuple(kept)


def left_out(obj: Free, paths: Iterable[Path]) -> Free:
    """A copy without these fields, and without maps that are empty because of it."""
    copy = deepcopy(obj)
    for path in paths:
        _drop(copy, path)
    return copy


def _drop(at: Any, path: Path) -> None:
    if not isinstance(at, dict) or path[0] not in at:
        return
    if len(path) == 1:
        del at[path[0]]
        return
    _drop(at[path[0]], path[1:])
    if at[path[0]] == {}:
        del at[path[0]]


def put(at: Free, path: Path, value: Any) -> None:
    for part in path[:-1]:
        inner = at.get(part)
        at[part] = inner if isinstance(inner, dict) else {}
        at = at[part]
    at[path[-1]] = deepcopy(value)


def to_write(item: Item, live: Free | None, rules: Iterable[Ignore]) -> Free:
    """What is applied: without what is ignored, but with the live value where that is ours."""
    desired = item.desired_state or {}
    paths = _paths(item, live, rules)
    if not paths:
        return desired
    body = left_out(desired, paths)
    for path in paths:
        there, value = lookup(live, path)
        if there and MANAGER in owners_of(live, path):
            put(body, path, value)
    return body


def overlooked(item: Item, live: Free | None, rules: Iterable[Ignore]) -> Free | None:
    """The live object as comparisons see it: what is ignored is as wanted, and not ours."""
    paths = _paths(item, live, rules)
    if live is None or not paths:
        return live
    seen = deepcopy(live)
    for path in paths:
        wanted, value = lookup(item.desired_state, path)
        put(seen, path, value) if wanted else _drop(seen, path)
        for entry in manager_entries(seen):
            if entry.get("manager") == MANAGER and not wanted:
                _drop(entry.get("fieldsV1"), tuple(f"f:{part}" for part in path))
    return seen


def _paths(item: Item, live: Free | None, rules: Iterable[Ignore]) -> tuple[Path, ...]:
    """Those of the plan, and what managers that are ignored took since."""
    now = ignored(rules, item.name, item.managed_fields, item.desired_state or {}, live)
    return tuple(dict.fromkeys((*paths_of(item.ignored), *paths_of(now))))
