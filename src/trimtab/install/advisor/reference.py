"""docs/reference/virtplatformconfig.md, printed from the definition and the phases."""

from collections.abc import Iterator
from typing import Any

from trimtab.advisor.cluster.advertise import AUTO_CREATED, CATEGORY, DESCRIPTION, IMPACT_SUMMARY
from trimtab.advisor.cluster.fresh_look import LOOK_AGAIN
from trimtab.advisor.decide.approval import REQUESTED_BY
from trimtab.advisor.decide.conditions import EDIT_WAR, INPUT_DRIFT, REVIEW_AGAIN, TEXTS, UPGRADE
from trimtab.install.advisor.alerts import alert_groups
from trimtab.install.advisor.crd import config_crd
from trimtab.kube.crd_schema import Schema

FILE = "docs/reference/virtplatformconfig.md"
_HEAD = """\
# VirtPlatformConfig

<!-- Written by `make generate` from trimtab/install/advisor/reference.py; change it there. -->

API version `advisor.kubevirt.io/v1alpha1`, cluster-scoped, one object per profile.
How to use it: [the advisor](../guide/advisor.md).
"""
_MARKERS = {
    UPGRADE: "this version of the operator would plan it differently",
    INPUT_DRIFT: "something that the plan was made from changed; review it again",
    REVIEW_AGAIN: "options or owners of fields changed during the review; review it again",
    EDIT_WAR: "somebody else writes the same fields; re-applying is paused",
}
_NOTES = {
    REQUESTED_BY: "annotation: who asked for it last, written by admission",
    LOOK_AGAIN: "annotation: another value asks the operator to look at the cluster again",
    AUTO_CREATED: "annotation: the operator created the object to advertise the profile",
    DESCRIPTION: "annotation: what the profile does",
    IMPACT_SUMMARY: "annotation: what it does to the cluster",
    CATEGORY: "label: what kind of profile it is",
}


def generate() -> dict[str, str]:
    schema = config_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    parts = [
        _HEAD,
        _fields_table("spec", schema["properties"]["spec"]),
        _refusals(schema),
        _fields_table("status", schema["properties"]["status"]),
        _table("Phases", ("phase", "meaning"), TEXTS),
        "Each phase has a condition of its name; exactly one of them is True "
        "(`Completed` also with `CompletedWithUpgrade`).\n"
        "`Ready`, `Progressing` and `Degraded` say the same for machines.\n",
        _table("Markers", ("condition", "True when"), _MARKERS),
        _table("Labels and annotations", ("name", "meaning"), _NOTES),
        _alerts(),
    ]
    return {FILE: "\n".join(parts)}


def _fields_table(part: str, schema: Schema) -> str:
    found = _fields(schema, f"{part}.")
    rows = [f"| `{path}` | {kind} | {value} | {text} |" for path, kind, value, text in found]
    head = ["| field | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([f"## {part}", "", *head, *rows, ""])


def _fields(schema: Schema, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in schema["properties"].items():
        path = f"{prefix}{name}"
        required = name in schema.get("required", ())
        text = field.get("description", "")
        yield path, _type(field), "required" if required else _default(field), text
        inner = field.get("items", field)
        if inner.get("properties"):
            yield from _fields(inner, f"{path}{'[]' if 'items' in field else ''}.")


def _default(field: Schema) -> str:
    if "default" not in field:
        return ""
    value = field["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(field: Schema) -> str:
    if "enum" in field:
        return " \\| ".join(f"`{choice}`" for choice in field["enum"] if choice)
    if field.get("type") == "array":
        return f"list, at most {field['maxItems']}"
    if field.get("format") == "date-time":
        return "time"
    limits = [f"{word} {field[key]}" for key, word in _LIMITS if key in field]
    return " ".join([str(field.get("type", "")), *limits])


_LIMITS = (("minimum", "from"), ("maximum", "to"))


def _refusals(schema: Schema) -> str:
    head = "Beside wrong types and values outside of these limits, it is refused with these words:"
    return "\n".join([head, "", *(f"- {text}" for text in dict.fromkeys(_messages(schema))), ""])


def _messages(schema: Any) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", []):
        yield rule["message"]
    for field in schema.get("properties", {}).values():
        yield from _messages(field)


def _table(title: str, head: tuple[str, str], rows: Any) -> str:
    lines = [f"| `{name}` | {text} |" for name, text in rows.items()]
    return "\n".join([f"## {title}", "", f"| {head[0]} | {head[1]} |", "|---|---|", *lines, ""])


def _alerts() -> str:
    rules = alert_groups()["groups"][0]["rules"]
    rows = {r["alert"]: f"`{r['expr'].replace('|', chr(92) + '|')}` for {r['for']}" for r in rules}
    return _table("Alerts", ("alert", "when"), rows)
