"""The soft taints of classified nodes in a cluster, by the rule of `virt.soft_taints`."""

from collections.abc import Mapping, Sequence

from trimtab.kube.resources import Taint
from trimtab.observe.node_classes import Classification
from trimtab.virt.soft_taints import EFFECT, KEYS, keys_of


def wanted(found: Classification) -> Mapping[str, frozenset[str]]:
    """The taints of each classified node; if nobody is under, appropriate ones go without."""
    kinds = {name: node.kind for name, node in found.nodes.items()}
    some_under = "under" in kinds.values()
    return {name: frozenset(keys_of(kind, some_under=some_under)) for name, kind in kinds.items()}


def soft_taints_of(taints: Sequence[Taint]) -> frozenset[str]:
    """Those of our taints that a node wears."""
    return frozenset(taint.key for taint in taints if taint.key in KEYS)


def with_soft_taints(taints: Sequence[Taint], keys: frozenset[str]) -> list[Taint]:
    """A node's taints with exactly `keys` of ours; everybody else's stay as they are."""
    others = [taint for taint in taints if taint.key not in KEYS]
    return others + [Taint(key=key, value="true", effect=EFFECT) for key in sorted(keys)]
