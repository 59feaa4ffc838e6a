"""What a pod's spec says about where it may run, in Kubernetes' own words.

Snapshots hold it for every pod, scenarios for their VMs (`Constraints`). Values only: what
the words mean is in `trimtab.model.selectors` and `trimtab.policy.pods`.
"""

import re
from typing import Literal

from msgspec import Struct

_DECIMAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


class _Part(Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    pass


class Taint(Struct, frozen=True, forbid_unknown_fields=True):
    """What keeps pods that do not tolerate it away from a node."""

    key: str
    """Its name, e.g. dedicated."""
    value: str = ""
    """Its value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """Whether it keeps new pods away, does so only if possible, or also evicts."""


class Expression(_Part, frozen=True):
    """An entry of matchExpressions or matchFields."""

    key: str = ""
    """The label, or in matchFields the field: metadata.name."""
    operator: str = ""
    """In, NotIn, Exists or DoesNotExist; for nodes also Gt and Lt."""
    values: tuple[str, ...] = ()
    """What it is compared with."""


class Match(_Part, frozen=True):
    """The object form of a label selector: all of it must hold, and an empty one always does."""

    match_labels: dict[str, str] = {}
    """Labels with exactly these values."""
    match_expressions: tuple[Expression, ...] = ()
    """Conditions on labels."""


class NodeTerm(_Part, frozen=True):
    """One term of a required node affinity; terms are alternatives, its parts all hold."""

    match_expressions: tuple[Expression, ...] = ()
    """Conditions on the node's labels."""
    match_fields: tuple[Expression, ...] = ()
    """Conditions on metadata.name, In or NotIn with one value each."""


class AntiAffinityTerm(_Part, frozen=True):
    """One term of a required pod anti-affinity.

    The descheduler looks at no namespaceSelector: without `namespaces` the pod's own counts.
    """

    topology_key: str
    """The label of nodes that makes a domain, e.g. kubernetes.io/hostname."""
    label_selector: Match | None = None
    """The pods that may not be in the same domain; without it, none."""
    namespaces: tuple[str, ...] = ()
    """Where those pods are; without it, in the pod's own namespace."""


class Toleration(_Part, frozen=True):
    """A pod's toleration; an empty key or effect matches any."""

    key: str = ""
    """The taint's key; empty with the operator Exists tolerates every taint."""
    operator: str = ""
    """Equal (the same when empty), Exists, Lt or Gt."""
    value: str = ""
    """What the taint's value is compared with."""
    effect: str = ""
    """The taint's effect; empty is every effect."""

    def tolerates(self, taint: Taint) -> bool:
        """Kubernetes' own test; an empty operator is Equal."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "" | "Equal":
                return self.value == taint.value
            case "Exists":
                return True
            case "Lt" | "Gt":
                return _compares(self.operator, self.value, taint.value)
        return False


def _compares(operator: str, mine: str, theirs: str) -> bool:
    """Numbers only: anything that is not a 64-bit integer in canonical form never matches."""
    if not (_DECIMAL_INTEGER.fullmatch(mine) and _DECIMAL_INTEGER.fullmatch(theirs)):
        return False
    mine_value, their_value = int(mine), int(theirs)
    if not all(-(2**63) <= value < 2**63 for value in (mine_value, their_value)):
        return False
    return their_value < mine_value if operator == "Lt" else their_value > mine_value


class Constraints(_Part, frozen=True):
    """What restricts where a VM's pods may run, and whether they may be evicted."""

    namespace: str = "default"
    """The namespace of its pods: anti-affinity and the policy's namespaces go by it."""
    labels: dict[str, str] = {}
    """Labels of its pods: what anti-affinity and the policy's selectors go by."""
    node_selector: dict[str, str] = {}
    """Labels that a node must have."""
    node_affinity: tuple[NodeTerm, ...] | None = None
    """The terms of a required node affinity; one of them must hold."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints that it bears, beside those that every virt-launcher pod does."""
    anti_affinity: tuple[AntiAffinityTerm, ...] = ()
    """The terms of a required pod anti-affinity; it keeps other VMs away as well."""
    not_movable: str = ""
    """Why it cannot migrate, as a sentence; its eviction is answered as without liveMigratable."""
    evict: bool = False
    """Its pods carry the descheduler's annotation evict, which beats every protection."""
    prefer_no_eviction: bool = False
    """Its pods carry the descheduler's annotation prefer-no-eviction."""
    local_storage: bool = False
    """Its pods have emptyDir or hostPath volumes, which PodsWithLocalStorage protects."""
    storage_classes: tuple[str, ...] = ()
    """The storage class of each claim that it mounts, empty if not known (PodsWithPVC)."""
    resource_claims: bool = False
    """Its pods have resource claims, which PodsWithResourceClaims protects."""
