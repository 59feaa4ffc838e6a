"""Which MigrationPolicy of KubeVirt a VM's migrations follow.

A policy matches if all its labels are on the VMI and on its namespace. Of several the one with
the most labels wins, then the one with more labels of the VMI, then the first by name.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

Labels = Mapping[str, str]


class PolicySelectors(Struct, frozen=True):
    """A policy by name, and the labels that it asks for."""

    name: str
    vmi: Labels = {}
    namespace: Labels = {}


def matching_policy(policies: Iterable[PolicySelectors], vmi: Labels, namespace: Labels) -> str:
    """The name of the policy, or empty if none matches."""
    matching = [each for each in policies if _matches(each, vmi, namespace)]
    best = min(matching, key=_order, default=None)
    return best.name if best else ""


def _matches(policy: PolicySelectors, vmi: Labels, namespace: Labels) -> bool:
    return _within(policy.vmi, vmi) and _within(policy.namespace, namespace)


def _within(asked: Labels, labels: Labels) -> bool:
    return asked.items() <= labels.items()


def _order(policy: PolicySelectors) -> tuple[int, int, str]:
    """The winner comes first."""
    return -len(policy.vmi) - len(policy.namespace), -len(policy.vmi), policy.name
