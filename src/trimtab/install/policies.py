"""Admission policies: the two envelopes that each has, the policy and its binding."""

from collections.abc import Mapping
from typing import Any

Manifest = dict[str, Any]
API = "admissionregistration.k8s.io/v1"


def validating(name: str, spec: Manifest) -> list[Manifest]:
    """A policy that refuses what it does not allow, everywhere."""
    return _bound("ValidatingAdmissionPolicy", name, spec, {"validationActions": ["Deny"]})


def mutating(name: str, spec: Manifest) -> list[Manifest]:
    """A policy that changes what is written, everywhere."""
    return _bound("MutatingAdmissionPolicy", name, spec, {})


def _bound(kind: str, name: str, spec: Manifest, binding: Manifest) -> list[Manifest]:
    metadata = {"name": name}
    bound = {"policyName": name} | binding
    return [
        {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec},
        {"apiVersion": API, "kind": f"{kind}Binding", "metadata": metadata, "spec": bound},
    ]


def matching(
    group: str, resources: list[str], operations: list[str], version: str = "v1"
) -> Manifest:
    """Which requests a policy or a webhook looks at."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": operations,
        "resources": resources,
    }


def either(thing: str, field: str, otherwise: str) -> str:
    """An expression: a field of `object` or `oldObject`, or what it is where it is left out."""
    return f"(has({thing}.{field}) ? {thing}.{field} : {otherwise})"


def same(field: str, otherwise: str) -> str:
    """An expression: a field is as it was."""
    sides = (either(thing, field, otherwise) for thing in ("object", "oldObject"))
    return " == ".join(sides)


def node_selector(
    name: str, label: str, value: str, conditions: Mapping[str, str], **where: Any
) -> list[Manifest]:
    """Gives new pods a node selector: `label` with what the CEL expression `value` says.

    Only pods that fulfil all conditions, which have names, and have a node selector already: a
    JSON patch cannot add to a map that is not there.
    """
    path = f"/spec/nodeSelector/{label.replace('/', '~1')}"
    patch = f'[JSONPatch{{op: "add", path: "{path}", value: {value}}}]'
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [matching("", ["pods"], ["CREATE"])], **where},
        "matchConditions": [
            {"name": name, "expression": expression} for name, expression in conditions.items()
        ],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    return mutating(name, spec)
