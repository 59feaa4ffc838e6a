"""The reference of scenario files, made from the types: a table for each struct, a JSON Schema."""

import json
import re
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.model import pod_rules
from trimtab.model.load import curve_kinds, pressure
from trimtab.model.scenarios import file
from trimtab.model.scenarios.field_docs import FieldDoc, documented
from trimtab.model.scenarios.file import ScenarioFile
from trimtab.model.scenarios.written import written

_MODULES = (file, curve_kinds, pod_rules, pressure)
_TITLES = {
    "Curve": "Curve",
    "AntiAffinityTerm": "Anti-affinity term",
    "EventInFile": "Event",
    "GroundLoad": "Ground load",
    "MigrationModel": "Migration",
    "NodeGroup": "Group of nodes",
    "NodeTerm": "Node term",
    "PressureCurve": "Pressure",
    "TraceSource": "Trace source",
    "VmGroup": "Group of VMs",
}


def generate() -> dict[str, str]:
    """The generated files of this room by path."""
    return {
        "docs/reference/scenario.md": reference_text(),
        "docs/reference/scenario.schema.json": schema_text(),
    }


def reference_text() -> str:
    """The reference as Markdown: the template with a table for every `@Struct`."""
    template = files("trimtab.model").joinpath("scenario.md.template").read_text(encoding="utf-8")
    return re.sub(
        r"^@(\w+)$", lambda match: _table(_struct(match[1])), template, flags=re.MULTILINE
    )


def schema_text() -> str:
    """The JSON Schema of a scenario file, with the documentation of every field."""
    schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= msgspec.json.schema(ScenarioFile)
    for name, definition in schema["$defs"].items():
        for field in documented(_struct(name)):
            definition["properties"][field.name]["description"] = field.text.replace("`", "")
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _struct(name: str) -> type[Struct]:
    kind: type[Struct] = next(getattr(m, name) for m in _MODULES if hasattr(m, name))
    return kind


def _table(kind: type[Struct]) -> str:
    head = [" ".join((kind.__doc__ or "").split()), ""]
    head += ["| field | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *map(_row, documented(kind))])


def _row(field: FieldDoc) -> str:
    default = "required" if field.required else _default(field.default)
    return f"| `{field.name}` | {_linked(field.type)} | {default} | {field.text} |"


def _linked(words: str) -> str:
    """Names of structs as links to their sections."""

    def link(match: re.Match[str]) -> str:
        title = _TITLES.get(match[1], match[1])
        return f"[{title.lower().replace('vms', 'VMs')}](#{title.lower().replace(' ', '-')})"

    return re.sub(r"\[(\w+)\](?!\()", link, words)


def _default(value: Any) -> str:
    plain = written(value)
    return f"`{json.dumps(plain)}`" if plain not in (None, "", [], {}) else ""
