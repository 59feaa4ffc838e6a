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
