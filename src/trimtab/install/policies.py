"""Admission policies: the two objects that each is made of, and those that several rooms use."""

from collections.abc import Mapping
from typing import Any

from trimtab.kube.kubevirt import COOL_LABEL
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.virt.soft_taints import EFFECT, KEYS

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


# What each service may change of a node: RBAC can only say "nodes".


def balancer_policy() -> list[Manifest]:
    """Labels that appear, change or go are its own; taints, the cordon and annotations stay."""
    new = either("object", "metadata.labels", "{}")
    old = either("oldObject", "metadata.labels", "{}")
    return _own_part(
        "balancer",
        f"the balancer may change nothing of a node but the label {COOL_LABEL}",
        [
            f"{new}.all(k, k == '{COOL_LABEL}' || (k in {old} && {old}[k] == {new}[k]))",
            f"{old}.all(k, k == '{COOL_LABEL}' || k in {new})",
            same("spec.taints", "[]"),
            same("spec.unschedulable", "false"),
            same("metadata.annotations", "{}"),
        ],
    )


def soft_tainter_policy() -> list[Manifest]:
    """Taints that appear or go are its own; the cordon and the labels stay."""
    keys = ", ".join(f"'{key}'" for key in sorted(KEYS))
    ours = f"t.key in [{keys}] && t.effect == '{EFFECT}'"
    new, old = either("object", "spec.taints", "[]"), either("oldObject", "spec.taints", "[]")
    return _own_part(
        "soft-tainter",
        "the soft tainter may change nothing of a node but its own two taints",
        [
            f"{new}.all(t, t in {old} || ({ours}))",
            f"{old}.all(t, t in {new} || ({ours}))",
            same("spec.unschedulable", "false"),
            same("metadata.labels", "{}"),
        ],
    )


def _own_part(service: str, message: str, conditions: list[str]) -> list[Manifest]:
    """The policy and its binding: of a node the service changes what `conditions` leave it."""
    user = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{service}"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [matching("", ["nodes"], ["UPDATE"])]},
        "matchConditions": [
            {"name": "its-account", "expression": f"request.userInfo.username == '{user}'"}
        ],
        "validations": [{"expression": each, "message": message} for each in conditions],
    }
    return validating(f"trimtab-{service}", spec)
