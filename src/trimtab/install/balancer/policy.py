"""The policy that keeps the balancer to its one label of nodes."""

from typing import Any

from trimtab.install.policies import either, own_part_of_nodes, same
from trimtab.kube.kubevirt import COOL_LABEL

Manifest = dict[str, Any]
_MESSAGE = f"the balancer may change nothing of a node but the label {COOL_LABEL}"


def balancer_policy() -> list[Manifest]:
    """The policy and its binding."""
    return own_part_of_nodes("balancer", _MESSAGE, _conditions())


def _conditions() -> list[str]:
    """Labels that appear, change or go are its own; taints, the cordon and annotations stay."""
    new, old = (
        either("object", "metadata.labels", "{}"),
        either("oldObject", "metadata.labels", "{}"),
    )
    return [
        f"{new}.all(k, k == '{COOL_LABEL}' || (k in {old} && {old}[k] == {new}[k]))",
        f"{old}.all(k, k == '{COOL_LABEL}' || k in {new})",
        same("spec.taints", "[]"),
        same("spec.unschedulable", "false"),
        same("metadata.annotations", "{}"),
    ]
