"""The fields of an object that the advisor owns, by the API server's `managedFields`.

Server-side apply removes what we owned and no longer name. Whether that has happened cannot
be told from values alone: everything that is wanted may be there before anything is written.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.advisor.api import MANAGER
from trimtab.advisor.plan.diff import sanitised
from trimtab.advisor.plan.fields import (
    is_satisfied,
    lookup,
    manager_entries,
    others_of,
    parse_path,
)
from trimtab.kube.resources import Free


def is_same(live: Free, after: Free) -> bool:
    """Whether an apply that makes `after` of `live` changes neither a value nor what is ours."""
    return applied_fields(live) == applied_fields(after) and sanitised(live) == sanitised(after)


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
