"""The vocabulary of a CustomResourceDefinition's schema: short words for its few shapes."""

from typing import Any

from trimtab.kube.resources import Kind
from trimtab.model.quantity import NANO, Quantity

Schema = dict[str, Any]


def _within(most: int) -> str:
    """CEL: above 0 and at most `most`, for a whole number or a quantity."""
    number = f"self > 0 && self <= {most}"
    text = (
        "isQuantity(self) && quantity(self).isGreaterThan(quantity('0')) && "
        f"!quantity(self).isGreaterThan(quantity('{most}'))"
    )
    return f"type(self) == int ? {number} : {text}"


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


def quantity(text: str, *, above_zero: str, most: int) -> Schema:
    """A quantity above 0 and at most `most`; `above_zero` begins the sentence otherwise."""
    largest = Quantity(most * NANO)
    return {
        "description": text,
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": 32,
        "x-kubernetes-validations": [
            rule(_within(most), f"{above_zero} and at most {largest}, as a quantity like 2 or 4Gi")
        ],
    }


def number(
    text: str, *, most: float | None = None, least: float = 0, default: float | None = None
) -> Schema:
    """A number from `least` to `most`; what people write needs both limits."""
    schema: Schema = {"type": "number", "minimum": least, "description": text}
    if most is not None:
        schema["maximum"] = most
    return schema if default is None else schema | {"default": default}


def flag(default: bool, text: str) -> Schema:
    return {"type": "boolean", "default": default, "description": text}


def choice(names: tuple[str, ...], text: str, *, default: str | None = None) -> Schema:
    schema: Schema = {"type": "string", "enum": list(names)}
    if text:
        schema["description"] = text
    return schema | {"default": default} if default is not None else schema


def string(most: int, text: str = "", *, least: int = 0, pattern: str = "") -> Schema:
    schema: Schema = {"type": "string", "maxLength": most}
    if least:
        schema["minLength"] = least
    if pattern:
        schema["pattern"] = pattern
    return schema | {"description": text} if text else schema


def count(text: str) -> Schema:
    schema: Schema = {"type": "integer", "minimum": 0}
    return schema | {"description": text} if text else schema


def integer(least: int, most: int, text: str, default: int | None = None) -> Schema:
    schema: Schema = {
        "type": "integer",
        "format": "int32",
        "minimum": least,
        "maximum": most,
        "description": text,
    }
    return schema if default is None else schema | {"default": default}


def array(items: Schema, most: int, text: str = "") -> Schema:
    schema: Schema = {"type": "array", "items": items, "maxItems": most}
    return schema | {"description": text} if text else schema


def map_by(key: str) -> Schema:
    """Makes a list a map for server-side apply: each entry is known by `key`."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


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
