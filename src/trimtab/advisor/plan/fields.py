"""Fields by their dotted paths: reading them, hashing them, and who owns them.

The snapshot hash is about the managed fields of the plan's objects and nothing else, so that
a label or a status that changes elsewhere neither makes a plan stale nor counts as drift.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from trimtab.advisor.api import MANAGER, Item, TargetRef
from trimtab.kube.resources import Free

NOT_FOUND = {"__state": "NOT_FOUND"}
"""Stands for an object that does not exist; part of the hash's definition."""
Path = tuple[str, ...]


def parse_path(dotted: str) -> Path:
    return tuple(part for part in dotted.split(".") if part)


def lookup(obj: Any, path: Path) -> tuple[bool, Any]:
    """Whether the path exists, and its value; `profile.dig` takes a missing one for None."""
    value = obj
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return False, None
        value = value[part]
    return True, value


def managed_state(obj: Free | None, managed: Iterable[str]) -> Free:
    """The values that exist under the managed paths; the whole spec if none are named."""
    if obj is None:
        return NOT_FOUND
    paths = tuple(managed)
    if not paths:
        return {"spec": obj["spec"]} if "spec" in obj else {}
    found = {path: lookup(obj, parse_path(path)) for path in paths}
    return {path: value for path, (exists, value) in found.items() if exists}


def resource_key(ref: TargetRef) -> str:
    """group/version/Kind[/namespace]/name; the core group leaves its place empty."""
    group, _, version = ref.api_version.rpartition("/")
    parts = [group, version, ref.kind, *([ref.namespace] if ref.namespace else []), ref.name]
    return "/".join(parts)


def snapshot_hash(items: Iterable[Item], live: Mapping[TargetRef, Free | None]) -> str:
    """Lower-case SHA-256 over the managed fields of every item's object."""
    state = {
        resource_key(item.target_ref): managed_state(live.get(item.target_ref), item.managed_fields)
        for item in items
    }
    return digest(state)


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()


def leaves(value: Any, at: Path = ()) -> Iterator[Path]:
    """The paths of everything that is not a map; an empty map is a leaf, a list is one value."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*at, str(key)))
    else:
        yield at


def is_satisfied(desired: Any, live: Any) -> bool:
    """Whether everything that `desired` says is so in `live`; named entries go by their name."""
    if isinstance(desired, Mapping):
        return isinstance(live, Mapping) and all(
            key in live and is_satisfied(value, live[key]) for key, value in desired.items()
        )
    if _are_named(desired) and _are_named(live):
        there = {entry["name"]: entry for entry in live}
        return all(is_satisfied(entry, there.get(entry["name"])) for entry in desired)
    return bool(desired == live)


def _are_named(value: Any) -> bool:
    """Entries like containers: others may add to them, so a part of each is all we know."""
    entries = value if isinstance(value, list) and value else (None,)
    return all(isinstance(entry, Mapping) and "name" in entry for entry in entries)


def manager_entries(obj: Free | None) -> list[Free]:
    """The object's managedFields, as they stand in it."""
    entries: list[Free] = ((obj or {}).get("metadata") or {}).get("managedFields") or []
    return entries


def owners_of(obj: Free | None, path: Path) -> tuple[str, ...]:
    """The managers of the field or of something in it; if none, those of a whole that it is in.

    The whole comes second: it may be the owner's own empty map, in which others have keys.
    """
    found = [
        (_depth(entry.get("fieldsV1") or {}, path), entry.get("manager", ""))
        for entry in manager_entries(obj)
        if not entry.get("subresource")
    ]
    deepest = max((depth for depth, _ in found), default=0)
    return tuple(dict.fromkeys(name for depth, name in found if depth == deepest and depth > 0))


def _depth(fields: Free, path: Path) -> int:
    """How far down the path the fields go before they are one value; 0 if they leave it."""
    at: Any = fields
    for depth, part in enumerate(path):
        inner = at.get(f"f:{part}")
        if inner is None:
            return 0
        if not inner:
            return depth + 1
        at = inner
    return len(path)


def others_of(obj: Free | None, path: Path) -> tuple[str, ...]:
    """The managers that own it and are not us."""
    return tuple(name for name in owners_of(obj, path) if name != MANAGER)


def is_ours(obj: Free | None) -> bool:
    """Whether we have ever applied something to it."""
    return any(
        each.get("manager") == MANAGER and each.get("operation") == "Apply"
        for each in manager_entries(obj)
    )


def strangers(live: Free | None, item: Item) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Keys inside managed maps that we did not ask for and another manager put there.

    Server-side apply neither removes nor shows them, but they are part of what we manage.
    """
    found: list[tuple[str, tuple[str, ...]]] = []
    for dotted in item.managed_fields:
        root = parse_path(dotted)
        _, have = lookup(live, root)
        _, want = lookup(item.desired_state, root)
        for leaf in leaves(have if isinstance(have, Mapping) else {}):
            if leaf and not lookup(want, leaf)[0]:
                managers = others_of(live, (*root, *leaf))
                if managers:
                    found.append((".".join((*root, *leaf)), managers))
    return tuple(found)


# What we own
#
# Server-side apply removes what we owned and no longer name. Whether that has happened cannot
# be told from values alone: everything that is wanted may be there before anything is written.


def is_kept(desired: Free | None, live: Free | None) -> bool:
    """Whether what we applied is still there, and nothing of ours besides."""
    return is_satisfied(desired, live) and not left_behind(desired, live)


def applied_fields(obj: Free | None) -> list[tuple[str, Free]]:
    """The fields that we applied, with the version of the API in which they are named."""
    return [
        (str(entry.get("apiVersion", "")), entry.get("fieldsV1") or {})
        for entry in manager_entries(obj)
        if entry.get("manager") == MANAGER
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
    ]


def left_behind(desired: Free | None, live: Free | None) -> tuple[str, ...]:
    """Fields that are ours and that we no longer want.

    Fields named in another version of the API are left out: their paths may differ.
    """
    wanted = desired or {}
    version = wanted.get("apiVersion")
    return tuple(
        path.removeprefix(".")
        for named_in, fields in applied_fields(live)
        if named_in in ("", version)
        for path in _beyond(fields, wanted, "")
    )


def given_up(desired: Free, live: Free | None, after: Free | None) -> tuple[str, ...]:
    """What we stop managing and others keep, in sentences: no diff shows it."""
    return tuple(
        f"{path} is no longer managed and stays as it is: {', '.join(keepers)} owns it too"
        for path in left_behind(desired, live)
        if lookup(after, parse_path(path))[0] and (keepers := others_of(live, parse_path(path)))
    )


def _beyond(fields: Free, desired: Any, at: str) -> Iterator[str]:
    """Paths of `fields` that `desired` does not have; marks are those of the API server."""
    for mark, inner in fields.items():
        kind, _, name = mark.partition(":")
        if kind == ".":
            continue
        found, value = _named(kind, name, desired)
        path = f"{at}.{name}" if kind == "f" else f"{at}[{name}]"
        if not found:
            yield path
        elif inner:
            yield from _beyond(inner, value, path)


def _named(kind: str, name: str, desired: Any) -> tuple[bool, Any]:
    """What a mark stands for in `desired`: a key of a map, an entry or a value of a list."""
    if kind == "f":
        has = isinstance(desired, Mapping) and name in desired
        return has, desired[name] if has else None
    entries = desired if isinstance(desired, list | tuple) else ()
    given = json.loads(name)
    if kind == "v":
        return given in entries, given
    matching = (e for e in entries if isinstance(e, Mapping) and given.items() <= e.items())
    entry = next(matching, None)
    return entry is not None, entry


# Changing them


def merge_patch(live: Any, wanted: Any) -> Any:
    """The JSON merge patch that makes `wanted` of `live`; an empty one changes nothing."""
    if not isinstance(live, Mapping) or not isinstance(wanted, Mapping):
        return wanted
    patch: Free = {key: None for key in live if key not in wanted}
    for key, value in wanted.items():
        if key not in live:
            patch[key] = value
        elif live[key] != value:
            patch[key] = merge_patch(live[key], value)
    return patch
