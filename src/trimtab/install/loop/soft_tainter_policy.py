"""The policy that keeps the soft tainter to its own two taints: RBAC can only say "nodes"."""

from typing import Any

from trimtab.install.policies import matching, validating
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.virt.soft_taints import EFFECT, KEYS

Manifest = dict[str, Any]
NAME = "trimtab-soft-tainter"
_USER = f"system:serviceaccount:{SYSTEM_NAMESPACE}:soft-tainter"
_MESSAGE = "the soft tainter may change nothing of a node but its own two taints"


def soft_tainter_policy() -> list[Manifest]:
    """The policy and its binding."""
    return validating(NAME, _policy())


def _policy() -> Manifest:
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [matching("", ["nodes"], ["UPDATE"])]},
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
