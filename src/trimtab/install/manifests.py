"""Manifests as files: documents, the note at their top, and the few objects that all share."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from trimtab.files.yaml import as_documents
from trimtab.install.definitions import Schema
from trimtab.model.names import SYSTEM_NAMESPACE

Manifest = dict[str, Any]
_LEVEL = "pod-security.kubernetes.io/enforce"


def head(source: str, note: str = "") -> str:
    """The first lines of a file that `source` (a path below src/) generates."""
    lines = [f"Written by `make generate` from {source}; change it there.", *note.splitlines()]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def documents(manifests: Iterable[Manifest]) -> str:
    """YAML documents without anchors: a reader looks for a value where it is used."""
    apart = (msgspec.json.decode(msgspec.json.encode(each)) for each in manifests)
    return as_documents(*apart)


def account(name: str, namespace: str = SYSTEM_NAMESPACE) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def namespace(name: str = SYSTEM_NAMESPACE) -> Manifest:
    """As in k8s/namespaces.yaml, so that either may be applied first."""
    labels = {
        "app.kubernetes.io/part-of": "trimtab",
        _LEVEL: "restricted",
        f"{_LEVEL}-version": "latest",
    }
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def kustomization(*resources: str) -> Manifest:
    kind = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return kind | {"resources": list(resources)}


# A CustomResourceDefinition's schema as Markdown: fields, limits, and the words of refusals.
_LIMITS = (("minimum", "from"), ("maximum", "to"))


def field_table(
    part: str, schema: Schema, *, level: int = 2, like: Mapping[str, str] | None = None
) -> str:
    """All fields below `part`; `like` names one with the same fields that is not repeated."""
    rows = [
        f"| `{path}` | {kind} | {default} | {text} |"
        for path, kind, default, text in _fields(schema, f"{part}.", like or {})
    ]
    head = ["| field | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([f"{'#' * level} {part}", "", *head, *rows, ""])


def _fields(
    schema: Schema, prefix: str, like: Mapping[str, str]
) -> Iterator[tuple[str, str, str, str]]:
    for name, field in schema["properties"].items():
        path = f"{prefix}{name}"
        default = "required" if name in schema.get("required", ()) else _default(field)
        if path in like:
            yield path, _type(field), default, f"The same fields as `{like[path]}`."
            continue
        inner = field.get("items", field)
        nested = inner.get("properties")
        if not nested or "items" in field or "description" in field:
            yield path, _type(field), default, field.get("description", "")
        if nested:
            yield from _fields(inner, f"{path}{'[]' if 'items' in field else ''}.", like)


def _default(field: Schema) -> str:
    if field.get("default") in (None, "", {}):
        return ""
    value = field["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(field: Schema) -> str:
    if "enum" in field:
        return " \\| ".join(f"`{choice}`" for choice in field["enum"] if choice)
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    if field.get("type") == "array":
        return f"list of {field['items'].get('type', 'value')}s, at most {field['maxItems']}"
    if field.get("format") == "date-time":
        return "time"
    limits = [f"{word} {field[key]}" for key, word in _LIMITS if key in field]
    return " ".join([str(field.get("type", "any value")), *limits])


def refusals(schema: Schema) -> str:
    """What the API server says to an object that it does not accept."""
    head = "Beside wrong types and values outside of these limits, it is refused with these words:"
    return "\n".join([head, "", *(f"- {text}" for text in dict.fromkeys(_messages(schema))), ""])


def _messages(schema: Any) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", []):
        yield rule["message"]
    for field in schema.get("properties", {}).values():
        yield from _messages(field)


def name_table(title: str, head: tuple[str, str], rows: Mapping[str, str]) -> str:
    """Two columns, the first of which is code."""
    lines = [f"| `{name}` | {text} |" for name, text in rows.items()]
    return "\n".join([f"## {title}", "", f"| {head[0]} | {head[1]} |", "|---|---|", *lines, ""])
