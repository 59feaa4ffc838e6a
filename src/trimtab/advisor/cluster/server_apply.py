"""Server-side apply without a server: what a forced apply of ours would make of an object.

Good for the kinds that profiles write, whose schemas are given: maps merge key by key, lists
are replaced unless the schema names their keys, defaults are filled in, unknown fields are
dropped, and what we owned and no longer name goes. A test on a real API server holds it to
giving the same objects.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from msgspec import Struct

from trimtab.advisor.api import MANAGER, Taking
from trimtab.advisor.plan.fields import manager_entries
from trimtab.advisor.plan.profile import dig
from trimtab.kube.resources import Free

Schema = Mapping[str, Any]
LIST_TYPE, LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP_TYPE, KEEP = "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"
ANYTHING: Schema = {}
_CONTAINERS: Schema = {LIST_TYPE: "map", LIST_KEYS: ["name"]}
_POD: Schema = {"properties": {"spec": {"properties": {"containers": _CONTAINERS}}}}
_WORKLOAD: Schema = {"properties": {"spec": {"properties": {"template": _POD}}}}
BUILT_IN: Mapping[str, Schema] = {"Deployment": _WORKLOAD}
"""Of kinds without a CRD: only where lists merge by key."""


class AppliedObject(Struct, frozen=True):
    """The object before, as the server would show it, after, and what changes hands."""

    before: Free | None
    after: Free
    takes: tuple[Taking, ...] = ()


def schema_of(crd: Free | None, version: str) -> Schema | None:
    """The schema of one version of a CRD."""
    for each in dig(crd, "spec", "versions") or ():
        if each.get("name") == version:
            schema: Schema | None = dig(each, "schema", "openAPIV3Schema")
            return schema
    return None


def forced_apply(live: Free | None, desired: Free, schema: Schema | None) -> AppliedObject:
    """Without a schema the kind is built in: nothing is dropped and nothing filled in."""
    shape = schema if schema is not None else BUILT_IN.get(str(desired.get("kind")), ANYTHING)
    before = None if live is None else _admitted(live, schema)
    merged = _merged(_released(before, desired), desired, shape) if before else deepcopy(desired)
    takes = tuple(sorted(_takes(before, desired, shape), key=_order)) if before else ()
    return AppliedObject(before, _admitted(merged, schema), takes)


def _admitted(obj: Free, schema: Schema | None) -> Free:
    """As the API server stores it: unknown fields dropped, defaults filled in."""
    if schema is None:
        return deepcopy(obj)
    head = {key: deepcopy(obj[key]) for key in ("apiVersion", "kind", "metadata") if key in obj}
    body = {key: value for key, value in obj.items() if key not in head}
    inner = {k: s for k, s in (schema.get("properties") or {}).items() if k not in head}
    shape = {**schema, "properties": inner}
    stored: Free = _defaulted(_pruned(body, shape), shape)
    return head | stored


def _pruned(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        return [_pruned(each, schema.get("items") or ANYTHING) for each in value]
    if not isinstance(value, dict) or not schema:
        return deepcopy(value)
    known, others = schema.get("properties") or {}, schema.get("additionalProperties")
    keeps = bool(schema.get(KEEP)) or bool(others) or not known
    inner = others if isinstance(others, dict) else ANYTHING
    return {
        key: _pruned(each, known.get(key, inner))
        for key, each in value.items()
        if keeps or key in known
    }


def _defaulted(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        return [_defaulted(each, schema.get("items") or ANYTHING) for each in value]
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for key, inner in (schema.get("properties") or {}).items():
        if key not in filled and "default" in inner:
            filled[key] = deepcopy(inner["default"])
        if key in filled:
            filled[key] = _defaulted(filled[key], inner)
    return filled


def _merged(live: Any, desired: Any, schema: Schema) -> Any:
    if isinstance(desired, dict) and isinstance(live, dict) and not _is_atomic(schema):
        known = schema.get("properties") or {}
        mixed = {
            key: _merged(live.get(key), value, known.get(key, ANYTHING))
            for key, value in desired.items()
        }
        return {**live, **mixed}
    if isinstance(desired, list) and isinstance(live, list):
        return _merged_lists(live, desired, schema)
    return deepcopy(desired)


def _merged_lists(live: list[Any], desired: list[Any], schema: Schema) -> list[Any]:
    match schema.get(LIST_TYPE):
        case "set":
            return [*live, *(each for each in desired if each not in live)]
        case "map":
            keys = list(schema.get(LIST_KEYS) or ())
            wanted = {_key(each, keys): each for each in desired}
            item = schema.get("items") or ANYTHING
            kept = [_merged(e, wanted.pop(_key(e, keys), e), item) for e in live]
            return [*kept, *deepcopy(list(wanted.values()))]
        case _:
            return deepcopy(desired)


def _key(entry: Free, keys: list[str]) -> tuple[Any, ...]:
    return tuple(entry.get(key) for key in keys)


def _is_atomic(schema: Schema) -> bool:
    return schema.get(MAP_TYPE) == "atomic"


def _released(live: Free, desired: Free) -> Free:
    """Without the fields that we applied before, no longer name, and nobody else owns."""
    entries = manager_entries(live)
    ours = [e.get("fieldsV1") or {} for e in entries if e.get("manager") == MANAGER]
    others = [e.get("fieldsV1") or {} for e in entries if e.get("manager") != MANAGER]
    kept = deepcopy(live)
    for fields in ours:
        _release(kept, desired, fields, others)
    return kept


def _release(obj: Free, desired: Free, ours: Free, others: list[Free]) -> None:
    """Maps only: what is in a list goes with the list.

    A map that was ours alone goes as a whole, with the defaults that the server had put in it.
    """
    for mark, inner in ours.items():
        key = mark[2:]
        if not mark.startswith("f:") or key not in obj:
            continue
        theirs = [fields[mark] for fields in others if mark in fields]
        if key not in desired and not theirs:
            del obj[key]
        elif isinstance(obj[key], dict):
            wanted = desired.get(key)
            _release(obj[key], wanted if isinstance(wanted, dict) else {}, inner, theirs)


def _takes(live: Free, desired: Free, schema: Schema) -> Iterator[Taking]:
    """Fields that others own with another value, as the API server names them."""
    entries = manager_entries(live)
    others = [e for e in entries if e.get("manager") != MANAGER and not e.get("subresource")]
    body = {key: value for key, value in desired.items() if key not in ("apiVersion", "kind")}
    body["metadata"] = {k: v for k, v in body.get("metadata", {}).items() if k in _OWNABLE}
    for entry in others:
        for path in _clashes(entry.get("fieldsV1") or {}, live, body, schema):
            yield Taking(field=path.removeprefix("."), manager=str(entry.get("manager")))


def _order(taking: Taking) -> tuple[str, str]:
    return taking.field, taking.manager


_OWNABLE = ("labels", "annotations")


def _clashes(fields: Free, live: Any, desired: Any, schema: Schema, at: str = "") -> Iterator[str]:
    """Where the owner's fields and ours meet with different values."""
    is_map = isinstance(desired, dict) and isinstance(live, dict) and not _is_atomic(schema)
    if not is_map:
        if schema.get(LIST_TYPE) == "map" and isinstance(desired, list):
            yield from _clashing_entries(fields, live, desired, schema, at)
        elif desired != live:
            yield at
        return
    known = schema.get("properties") or {}
    for key, value in desired.items():
        if f"f:{key}" in fields and key in live:
            inner = fields[f"f:{key}"]
            yield from _clashes(inner, live[key], value, known.get(key, ANYTHING), f"{at}.{key}")


def _clashing_entries(
    fields: Free, live: Any, desired: list[Any], schema: Schema, at: str
) -> Iterator[str]:
    keys = schema.get(LIST_KEYS) or []
    there = {_key(entry, keys): entry for entry in live or ()}
    for entry in desired:
        names = ",".join(f'"{key}":"{entry.get(key)}"' for key in keys)
        inner = fields.get(f"k:{{{names}}}")
        found = there.get(_key(entry, keys))
        if inner is not None and found is not None:
            shown = ",".join(f'{key}="{entry.get(key)}"' for key in keys)
            rest = {key: value for key, value in entry.items() if key not in keys}
            item = schema.get("items") or ANYTHING
            yield from _clashes(inner, found, rest, item, f"{at}[{shown}]")
