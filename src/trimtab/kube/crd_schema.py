"""The vocabulary of a CustomResourceDefinition's schema: short words for its few shapes."""

from typing import Any

from trimtab.kube.resources import Kind

Schema = dict[str, Any]
_POSITIVE = (
    "type(self) == int ? self > 0 : isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))"
)


def obj(
    properties: Schema,
    *,
    required: list[str] | None = None,
    rules: list[Schema] | None = None,
    text: str = "",
    default: Any = None,
) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if text:
        schema["description"] = text
    if required:
        schema["required"] = required
    if rules:
        schema["x-kubernetes-validations"] = rules
    if default is not None:
        schema["default"] = default
    return schema


def rule(expression: str, message: str) -> Schema:
    return {"rule": expression, "message": message}


def quantity(text: str, *, below_zero: str) -> Schema:
    return {
        "description": text,
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": 32,
        "x-kubernetes-validations": [
            rule(_POSITIVE, f"{below_zero}, as a quantity like 2, 500m or 4Gi")
        ],
    }


def number(
    text: str,
    *,
    default: float | None = None,
    most: float | None = None,
    above_zero: bool = False,
) -> Schema:
    schema: Schema = {"type": "number", "minimum": 0, "description": text}
    if above_zero:
        schema["exclusiveMinimum"] = True
    if default is not None:
        schema["default"] = default
    if most is not None:
        schema["maximum"] = most
    return schema


def flag(default: bool, text: str) -> Schema:
    return {"type": "boolean", "default": default, "description": text}


def choice(names: tuple[str, ...], text: str, *, default: str | None = None) -> Schema:
    schema: Schema = {"type": "string", "enum": list(names)}
    if text:
        schema["description"] = text
    return schema | {"default": default} if default is not None else schema


def string(most: int, text: str = "", *, least: int = 0) -> Schema:
    schema: Schema = {"type": "string", "maxLength": most}
    if least:
        schema["minLength"] = least
    return schema | {"description": text} if text else schema


def count(text: str) -> Schema:
    schema: Schema = {"type": "integer", "minimum": 0}
    return schema | {"description": text} if text else schema


def column(name: str, path: str, kind: str = "string", *, wide: bool = False) -> Schema:
    """A printer column; a wide one shows with `-o wide` only."""
    shown: Schema = {"name": name, "type": kind, "jsonPath": path}
    return shown | {"priority": 1} if wide else shown


def crd(resource: Kind[Any], short: list[str], schema: Schema, columns: list[Schema]) -> Schema:
    """A CustomResourceDefinition with one served and stored version and a status subresource."""
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    names: Schema = {
        "kind": resource.kind,
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    if short:
        names["shortNames"] = short
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }
