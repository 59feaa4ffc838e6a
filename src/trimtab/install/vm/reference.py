"""docs/reference/virtualmachine.md, printed from the definitions themselves."""

from collections.abc import Iterator
from typing import Any

from trimtab.install.vm.crd import crds
from trimtab.kube.crd_schema import Schema
from trimtab.kube.machines import (
    CANCEL_EVACUATION,
    GUARD_LABEL,
    INITIAL_NODE,
    LOAD,
    MIGRATION_LABEL,
)
from trimtab.vm.decide.history import EVACUATION_LABEL

FILE = "docs/reference/virtualmachine.md"
_HEAD = """\
# VirtualMachine and VirtualMachineMigration

<!-- Written by `make generate` from trimtab/install/vm/reference.py; change it there. -->

API version `trimtab.dev/v1alpha1`, namespaced.
How to use them: [virtual machines](../guide/virtual-machines.md).
"""
_NOTES = {
    INITIAL_NODE: "on a VirtualMachine: its first pod goes to this node and nowhere else",
    CANCEL_EVACUATION: "on a VirtualMachine: if it is to leave this node, it may stay",
    EVACUATION_LABEL: "label of a migration that an eviction led to",
    GUARD_LABEL: "label of a pod that nobody may delete directly",
    MIGRATION_LABEL: "label of the target pod of a migration under way",
    LOAD: "annotation of a pod: size and curves of its VM, as JSON",
}


def generate() -> dict[str, str]:
    sections = [_HEAD, *(_section(crd) for crd in crds()), _annotations()]
    return {FILE: "\n".join(sections)}


def _section(crd: Schema) -> str:
    names, version = crd["spec"]["names"], crd["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    short = ", ".join(f"`{name}`" for name in names["shortNames"])
    columns = ", ".join(
        column["name"] + (" (with `-o wide`)" if column.get("priority") else "")
        for column in version["additionalPrinterColumns"]
    )
    lines = [
        f"## {names['kind']}",
        "",
        f"`kubectl get {names['plural']}`, short {short}.",
        f"It shows {columns}.",
        "",
        *_table("spec", schema["spec"]),
        *_table("status", schema["status"]),
        *_refusals(schema["spec"]),
    ]
    return "\n".join(lines)


def _table(part: str, schema: Schema) -> list[str]:
    rows = [
        f"| `{path}` | {kind} | {default} | {text} |"
        for path, kind, default, text in _fields(schema, f"{part}.")
    ]
    return [
        f"### {part}",
        "",
        "| field | type | default | meaning |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def _fields(schema: Schema, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    """The leaves of an object; `load.memory` has the fields of `load.cpu` and is not repeated."""
    required = schema.get("required", [])
    for name, field in schema["properties"].items():
        path = f"{prefix}{name}"
        if field.get("type") == "object" and path != "spec.load.memory":
            yield from _fields(field, f"{path}.")
            continue
        default = "required" if name in required else _default(field)
        text = field.get("description", "")
        if path == "spec.load.memory":
            text = "The same fields as `spec.load.cpu`."
        yield path, _type(field), default, text


def _default(field: Schema) -> str:
    if "default" not in field or field["default"] == "":
        return ""
    value = field["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(field: Schema) -> str:
    if "enum" in field:
        return " \\| ".join(f"`{choice}`" for choice in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    if field.get("type") == "array":
        items = field["items"].get("type", "")
        return f"list of {items}s, at most {field['maxItems']}"
    if field.get("format") == "date-time":
        return "time"
    limits = [f"{word} {field[key]}" for key, word in _LIMITS if key in field]
    return " ".join([field.get("type", "number or flag"), *limits])


_LIMITS = (("minimum", "from"), ("maximum", "to"))


def _refusals(schema: Schema) -> list[str]:
    """What the API server says to a spec that it does not accept."""
    head = "Beside wrong types and values outside of these limits, it is refused with these words:"
    return [head, "", *(f"- {message}" for message in dict.fromkeys(_messages(schema))), ""]


def _messages(schema: Any) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", []):
        yield rule["message"]
    for field in schema.get("properties", {}).values():
        yield from _messages(field)


def _annotations() -> str:
    rows = [f"| `{name}` | {text} |" for name, text in _NOTES.items()]
    return "\n".join(
        ["## Labels and annotations", "", "| name | meaning |", "|---|---|", *rows, ""]
    )
