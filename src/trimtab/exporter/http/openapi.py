"""The OpenAPI description of the endpoints: paths by hand, schemas from the types.

`docs/reference/exporter.openapi.yaml` is made of it, and tests throw at a running exporter
what it allows and what it does not.
"""

from typing import Any

import msgspec
from msgspec import Struct

from trimtab import __version__
from trimtab.exporter.http.api import (
    Feedback,
    FeedbackResult,
    Health,
    Loaded,
    MigrationWish,
    Moved,
    NodeVms,
    Refreshed,
    Scene,
    VmUse,
)
from trimtab.exporter.http.problems import MEDIA_TYPE, Problem
from trimtab.files.yaml import as_yaml
from trimtab.kube.runtime.options import field_texts
from trimtab.model.scenarios.file import ScenarioFile

Json = dict[str, Any]
OURS: tuple[type[Struct], ...] = (
    Health,
    Refreshed,
    VmUse,
    NodeVms,
    Scene,
    Loaded,
    MigrationWish,
    Feedback,
    Moved,
    FeedbackResult,
    Problem,
)


_REF = "#/components/schemas/"
_TITLE = "trimtab exporter"
_NAME = {"type": "string", "pattern": "^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$"}
EXAMPLE = {
    "nodes": [
        {
            "name": "kwok-node-1",
            "vms": [
                {"id": "vm-1", "cpu_consumption": 0.05, "memory_consumption": 0.08},
                {"id": "vm-2", "cpu_consumption": 0.4, "memory_consumption": 0.25},
            ],
        },
        {"name": "kwok-node-2", "vms": []},
    ]
}
FILE_EXAMPLE = {
    "name": "small",
    "nodes": [{"name": "kwok-node", "count": 2}],
    "vms": [{"name": "web", "count": 4, "cpu": 4, "memory": "8Gi", "node": "kwok-node-1"}],
}
_ABOUT = (
    "Node metrics made of virt-launcher pods, and endpoints to load scenarios and move VMs. "
    "Those that change something answer to this computer itself, or to whoever has the token."
)


def generate() -> dict[str, str]:
    """The generated file by path."""
    note = "# Written by trimtab.exporter.http.openapi; do not edit.\n"
    return {"docs/reference/exporter.openapi.yaml": note + as_yaml(description())}


def description() -> Json:
    """The whole description as a dict."""
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": __version__, "description": _ABOUT},
        "paths": {
            "/metrics": {"get": _metrics()},
            "/health": {"get": _health()},
            "/refresh": {"post": _refresh()},
            "/feedback": {"post": _feedback()},
            "/scenario": {"get": _show_scenario(), "post": _load_scenario()},
        },
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _metrics() -> Json:
    content = {"text/plain": {"schema": {"type": "string"}}}
    page = {"description": "All metrics.", "content": content}
    return _operation("getMetrics", "The page for Prometheus.", {"200": page} | _problems(503))


def _health() -> Json:
    answers = {
        "200": _answer("It knows its nodes.", Health),
        "503": _answer("It does not yet, or not any more.", Health),
    }
    return _operation("getHealth", "Whether the numbers can be trusted.", answers)


def _refresh() -> Json:
    answers = {"200": _answer("Counted.", Refreshed)} | _problems(401, 403, 503)
    return _operation("refresh", "Count every node anew.", answers, writes=True)


def _feedback() -> Json:
    answers = {"200": _answer("What became of each wish.", FeedbackResult)}
    answers |= _problems(400, 401, 403, 413, 422, 503)
    body = {"application/json": {"schema": _ref(Feedback)}}
    return _operation(
        "migrate", "Move VMs; answers when each has a node.", answers, body, writes=True
    )


def _show_scenario() -> Json:
    answers = {"200": _answer("Nodes and VMs.", Scene)} | _problems(503)
    return _operation("getScenario", "Nodes with their VMs as they are.", answers)


def _load_scenario() -> Json:
    answers = {"200": _answer("As it was placed.", Loaded)}
    answers |= _problems(400, 401, 403, 409, 413, 422, 503)
    body = {
        "application/json": {"schema": {"$ref": f"{_REF}Scenario"}, "example": EXAMPLE},
        "application/yaml": {"schema": _ref(ScenarioFile), "example": FILE_EXAMPLE},
    }
    operation = _operation(
        "loadScenario", "Create a scenario's VMs; answers when placed.", answers, body, writes=True
    )
    name = {
        "name": "name",
        "in": "query",
        "description": "Which scenario, where the body holds several.",
        "schema": {"type": "string"},
    }
    return operation | {"parameters": [name]}


def _operation(
    name: str, summary: str, answers: Json, body: Json | None = None, *, writes: bool = False
) -> Json:
    operation: Json = {"operationId": name, "summary": summary}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    if writes:
        operation["security"] = [{}, {"token": []}]
    return operation | {"responses": answers}


def _answer(text: str, kind: type[Struct]) -> Json:
    return {"description": text, "content": {"application/json": {"schema": _ref(kind)}}}


def _problems(*codes: int) -> Json:
    texts = {
        400: "The body is not what it should be at all.",
        401: "The token is wrong.",
        403: "Not from there, or not without --allow-scenario.",
        409: "A VM of that name belongs to somebody else, or a scenario is being loaded.",
        413: "The body is too large.",
        422: "A field is wrong; `field` names it. Nothing was changed.",
        503: "Not ready yet, or the API server does not answer.",
    }
    content = {MEDIA_TYPE: {"schema": _ref(Problem)}}
    return {str(code): {"description": texts[code], "content": content} for code in codes}


def _schemas() -> Json:
    _, schemas = msgspec.json.schema_components([*OURS, ScenarioFile], ref_template=_REF + "{name}")
    for kind in OURS:
        for field, text in field_texts(kind).items():
            schemas[kind.__name__]["properties"][field]["description"] = text
    return dict(sorted((schemas | _scenario()).items()))


def _scenario() -> Json:
    """Nodes with VMs: narrower than what is taken, which is made fit for Kubernetes first."""
    share = {"type": "number", "minimum": 0, "maximum": 1}
    vm = {"id": _NAME, "cpu_consumption": share | {"maximum": 100}, "memory_consumption": share}
    node = {"name": _NAME, "vms": {"type": "array", "items": _object(vm)}}
    nodes = {"type": "array", "items": _object(node), "minItems": 1}
    several = {"type": "object", "additionalProperties": nodes, "minProperties": 1}
    text = "Nodes with their VMs; a list of them; or several such lists by name."
    return {"Scenario": {"description": text, "anyOf": [_object({"nodes": nodes}), nodes, several]}}


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _ref(kind: type[Struct]) -> Json:
    return {"$ref": f"{_REF}{kind.__name__}"}
