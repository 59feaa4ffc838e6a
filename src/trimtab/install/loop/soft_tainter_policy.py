"""The policy that keeps the soft tainter to its own two taints."""

from typing import Any

from trimtab.install.policies import either, own_part_of_nodes, same
from trimtab.virt.soft_taints import EFFECT, KEYS

Manifest = dict[str, Any]
_MESSAGE = "the soft tainter may change nothing of a node but its own two taints"


def soft_tainter_policy() -> list[Manifest]:
    """The policy and its binding."""
    return own_part_of_nodes("soft-tainter", _MESSAGE, _conditions())


def _conditions() -> list[str]:
    """Taints that appear or go are its own; the cordon and the labels stay."""
    keys = ", ".join(f"'{key}'" for key in sorted(KEYS))
    ours = f"t.key in [{keys}] && t.effect == '{EFFECT}'"
    new, old = either("object", "spec.taints", "[]"), either("oldObject", "spec.taints", "[]")
    return [
        f"{new}.all(t, t in {old} || ({ours}))",
        f"{old}.all(t, t in {new} || ({ours}))",
        same("spec.unschedulable", "false"),
        same("metadata.labels", "{}"),
    ]
