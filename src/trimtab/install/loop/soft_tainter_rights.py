"""What the soft tainter may do: patch nodes, and of them nothing but its own two taints.

RBAC cannot say "only these taints", so an admission policy does.
"""

from typing import Any

from trimtab.install.loop.rbac import HOME, LOOK, bound, rule
from trimtab.virt.soft_taints import EFFECT, KEYS

Manifest = dict[str, Any]
NAME = "trimtab-soft-tainter"
_API = "admissionregistration.k8s.io/v1"
_USER = f"system:serviceaccount:{HOME}:soft-tainter"
_MESSAGE = "the soft tainter may change nothing of a node but its own two taints"


def soft_tainter_rights() -> list[Manifest]:
    """Its role, and the policy that limits it."""
    rules = [rule("", ["nodes"], [*LOOK, "patch"])]
    role = bound("trimtab:soft-tainter", (HOME, "soft-tainter"), rules)
    binding = {"policyName": NAME, "validationActions": ["Deny"]}
    return [
        *role,
        _object("ValidatingAdmissionPolicy", _policy()),
        _object("ValidatingAdmissionPolicyBinding", binding),
    ]


def _policy() -> Manifest:
    nodes = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes"]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [nodes | {"operations": ["UPDATE"]}]},
        "matchConditions": [
            {"name": "its-account", "expression": f"request.userInfo.username == '{_USER}'"}
        ],
        "validations": [{"expression": each, "message": _MESSAGE} for each in _conditions()],
    }


def _conditions() -> list[str]:
    """Taints that appear or go are its own; the cordon and the labels stay."""
    keys = ", ".join(f"'{key}'" for key in sorted(KEYS))
    ours = f"t.key in [{keys}] && t.effect == '{EFFECT}'"
    new, old = _either("object", "spec.taints", "[]"), _either("oldObject", "spec.taints", "[]")
    return [
        f"{new}.all(t, t in {old} || ({ours}))",
        f"{old}.all(t, t in {new} || ({ours}))",
        _same("spec.unschedulable", "false"),
        _same("metadata.labels", "{}"),
    ]


def _either(thing: str, field: str, otherwise: str) -> str:
    return f"(has({thing}.{field}) ? {thing}.{field} : {otherwise})"


def _same(field: str, otherwise: str) -> str:
    sides = (_either(thing, field, otherwise) for thing in ("object", "oldObject"))
    return " == ".join(sides)


def _object(kind: str, spec: Manifest) -> Manifest:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": NAME}, "spec": spec}
