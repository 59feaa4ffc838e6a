"""Which taints a pod tolerates, as Kubernetes and the descheduler see it.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Iterable, Sequence

from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import Toleration as Toleration
from trimtab.virt.launcher import FAKE_NODE_TAINT
from trimtab.virt.lost_nodes import LOST_NODE_TAINTS

_KEY, _VALUE, _EFFECT = FAKE_NODE_TAINT
LAUNCHER_TOLERATIONS = (
    Toleration(key=_KEY, value=_VALUE, effect=_EFFECT),
    *(Toleration(key=key, operator="Exists", effect="NoExecute") for key in LOST_NODE_TAINTS),
)
"""What every virt-launcher pod tolerates: KWOK's nodes, and for a while a node that is lost."""


def tolerates_all(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> bool:
    """Each taint has a toleration."""
    return all(any(mine.tolerates(taint) for mine in tolerations) for taint in taints)


def tolerates_for_scheduling(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> bool:
    """The taints that keep a pod away: NoSchedule and NoExecute (2.2)."""
    return tolerates_all(tolerations, (t for t in taints if t.effect != "PreferNoSchedule"))


def too_few_tolerations(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> bool:
    """Every taint is tolerated, and still the node is no destination: the count decides (E7b)."""
    return len(tolerations) < len(taints) and tolerates_all(tolerations, taints)


def counts_as_destination(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> bool:
    """The descheduler's own test of a destination (E7b).

    It asks for as many tolerations as there are taints, and PreferNoSchedule counts like
    any other effect: a soft taint on every destination stops all evictions.
    """
    return len(tolerations) >= len(taints) and tolerates_all(tolerations, taints)
