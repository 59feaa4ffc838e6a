"""The VMs' constraints as the scheduler of a run uses them: masks of nodes and groups.

VMs with the same selectors, affinity and tolerations share a kind, and with it one row of
nodes; kind 0 has no rules of its own. What changes during a run (cordons, lost nodes, who is
where) is not in here: see `ReplicaPlacement` and `Apart`.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.nodes_and_vms import Node, Taint, Vm
from trimtab.model.pod_rules import Constraints, Toleration
from trimtab.model.selectors import matches_node
from trimtab.policy.pods.anti_affinity import HOSTNAME, Groups, Places, groups_of
from trimtab.policy.pods.taints import (
    LAUNCHER_TOLERATIONS,
    tolerates_all,
    tolerates_for_scheduling,
)
from trimtab.virt.launcher import SCHEDULABLE
from trimtab.virt.soft_taints import APPROPRIATE, EFFECT, OVER

CORDON = Taint("node.kubernetes.io/unschedulable")
"""Whoever tolerates it is placed on cordoned nodes too."""
TAINTER = tuple(Taint(key=key, value="true", effect=EFFECT) for key in (APPROPRIATE, OVER))
"""What the soft tainter puts on nodes: the first on appropriate ones, both on over-utilised."""
NO_CONSTRAINTS = Constraints()


class PlacementRules(Struct, frozen=True, eq=False):
    """What restricts the VMs of a scenario of which at least one is restricted.

    kind: (vms,) row of the arrays below.
    allowed: (kinds, nodes) selectors, affinity and tolerations let such a pod onto the node.
    soft_taints: (kinds, nodes) PreferNoSchedule taints that it does not tolerate.
    bears_cordons, bears_tainter: (kinds,) it tolerates cordons, what the soft tainter writes.
    """

    kind: Places
    allowed: NDArray[np.bool_]
    soft_taints: NDArray[np.int64]
    bears_cordons: NDArray[np.bool_]
    bears_tainter: NDArray[np.bool_]
    groups: Groups | None = None


def node_labels(node: Node) -> dict[str, str]:
    """The labels of the node object: its name, and that it takes VMs, unless it says otherwise."""
    return {HOSTNAME: node.name, SCHEDULABLE: "true", **node.labels}


def tolerations_of(rules: Constraints) -> tuple[Toleration, ...]:
    """All that the VM's pods tolerate."""
    return tuple(dict.fromkeys((*LAUNCHER_TOLERATIONS, *rules.tolerations)))


def rules_of(nodes: Sequence[Node], vms: Sequence[Vm]) -> PlacementRules | None:
    """Compile the constraints of all VMs; None if none of them has any."""
    if all(vm.constraints is None for vm in vms):
        return None
    first: dict[bytes, tuple[int, Constraints]] = {_key(NO_CONSTRAINTS): (0, NO_CONSTRAINTS)}
    known: dict[int, int] = {}
    kind = np.zeros(len(vms), dtype=np.intp)
    for at, vm in enumerate(vms):
        if (mine := vm.constraints) is not None:
            if id(mine) not in known:
                known[id(mine)] = first.setdefault(_key(mine), (len(first), mine))[0]
            kind[at] = known[id(mine)]
    kinds = [rules for _, rules in first.values()]
    labels = [node_labels(node) for node in nodes]
    pods = [vm.constraints or NO_CONSTRAINTS for vm in vms]
    return PlacementRules(
        kind=kind,
        allowed=np.array([_allowed(rules, nodes, labels) for rules in kinds], dtype=np.bool_),
        soft_taints=np.array([soft_taints(nodes, rules) for rules in kinds], dtype=np.int64),
        bears_cordons=_bears(kinds, (CORDON,)),
        bears_tainter=_bears(kinds, TAINTER),
        groups=groups_of(pods, labels),
    )


def _key(rules: Constraints) -> bytes:
    alike = (rules.node_selector, rules.node_affinity, rules.tolerations)
    return msgspec.json.encode(alike, order="deterministic")


def _allowed(
    rules: Constraints, nodes: Sequence[Node], labels: Sequence[Mapping[str, str]]
) -> list[bool]:
    selector = {SCHEDULABLE: "true", **rules.node_selector}
    tolerations = tolerations_of(rules)
    return [
        matches_node(rules.node_affinity, selector, node.name, has)
        and tolerates_for_scheduling(tolerations, node.taints)
        for node, has in zip(nodes, labels, strict=True)
    ]


def soft_taints(nodes: Sequence[Node], rules: Constraints = NO_CONSTRAINTS) -> list[int]:
    """How many PreferNoSchedule taints of each node such a pod does not tolerate."""
    tolerations = tolerations_of(rules)
    return [
        sum(
            taint.effect == "PreferNoSchedule" and not tolerates_all(tolerations, [taint])
            for taint in node.taints
        )
        for node in nodes
    ]


def _bears(kinds: Sequence[Constraints], taints: tuple[Taint, ...]) -> NDArray[np.bool_]:
    found = [tolerates_all(tolerations_of(rules), taints) for rules in kinds]
    return np.array(found, dtype=np.bool_)


class Apart:
    """How many pods of each anti-affinity group are in each of its domains, in one replica."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        count = len(groups.domain)
        self._holding: list[dict[int, int]] = [{} for _ in range(count)]
        self._present: list[dict[int, int]] = [{} for _ in range(count)]

    def touches(self, vm: int) -> bool:
        """Whether the VM keeps apart from any, or any from it."""
        return vm in self._groups.holders or vm in self._groups.repelled

    def count(self, vm: int, node: int, by: int) -> None:
        """A pod of this VM was bound to a node (1), or is gone from it (-1)."""
        groups = self._groups
        for counts, of in ((self._holding, groups.holders), (self._present, groups.repelled)):
            for group in of.get(vm, ()):
                domain = int(groups.domain[group, node])
                if domain >= 0:
                    left = counts[group].get(domain, 0) + by
                    if left:
                        counts[group][domain] = left
                    else:
                        counts[group].pop(domain, None)

    def banned(self, vm: int) -> Places:
        """The nodes in whose domain is a pod that the VM repels, or that repels the VM.

        Its own pod counts as any other: while it is copied, both exist.
        """
        groups, banned = self._groups, np.zeros(self._groups.domain.shape[1], dtype=np.bool_)
        for counts, of in ((self._present, groups.holders), (self._holding, groups.repelled)):
            for group in of.get(vm, ()):
                if counts[group]:
                    banned |= np.isin(groups.domain[group], list(counts[group]))
        return np.flatnonzero(banned)
