"""Policies that keep a service to its own part of nodes: RBAC can only say "nodes"."""

from typing import Any

from trimtab.install.policies import either, matching, same, validating
from trimtab.kube.kubevirt import COOL_LABEL
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.virt.soft_taints import EFFECT, KEYS

Manifest = dict[str, Any]


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
