"""Short words for the schemas of the mocks."""

from typing import Any

from trimtab.advisor.plan.profile import Resource

Schema = dict[str, Any]
FREE: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
INT: Schema = {"type": "integer", "format": "int32"}


def record(properties: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": properties, **more}


def one_of(*names: str, **more: Any) -> Schema:
    return {"type": "string", "enum": list(names), **more}


def items(schema: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": schema, **more}


def selector() -> Schema:
    """A LabelSelector; it is one value, never merged."""
    rule = record({"key": TEXT, "operator": TEXT, "values": items(TEXT)}, required=["key"])
    labels = {"type": "object", "additionalProperties": TEXT}
    return record(
        {"matchLabels": labels, "matchExpressions": items(rule)},
        **{"x-kubernetes-map-type": "atomic"},
    )


def conditions() -> Schema:
    one = record(
        {
            "type": TEXT,
            "status": TEXT,
            "reason": TEXT,
            "message": TEXT,
            "lastTransitionTime": {"type": "string", "format": "date-time", "nullable": True},
        }
    )
    return items(one)


def definition(
    resource: Resource,
    spec: Schema,
    status: Schema,
    *,
    subresource: bool = True,
    short: str = "",
    **root: Any,
) -> Schema:
    """A CustomResourceDefinition with one version."""
    head = dict.fromkeys(("apiVersion", "kind"), TEXT) | {"metadata": {"type": "object"}}
    schema = record(head | {"spec": spec, "status": status}, **root)
    version: Schema = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if subresource:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.crd},
        "spec": {
            "group": resource.group,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
            }
            | ({"shortNames": [short]} if short else {}),
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }
