"""Which taints a pod tolerates, as Kubernetes and the descheduler see it."""

import re
from collections.abc import Iterable, Sequence

from trimtab.model.machines import Taint
from trimtab.model.snapshot import Toleration

_DECIMAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Kubernetes' own test; an empty key or effect matches any, an empty operator is Equal."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt":
            return _compares(toleration.operator, toleration.value, taint.value)
    return False


def _compares(operator: str, mine: str, theirs: str) -> bool:
    """Numbers only: anything that is not a 64-bit integer in canonical form never matches."""
    if not (_DECIMAL_INTEGER.fullmatch(mine) and _DECIMAL_INTEGER.fullmatch(theirs)):
        return False
    mine_value, their_value = int(mine), int(theirs)
    if not all(-(2**63) <= value < 2**63 for value in (mine_value, their_value)):
        return False
    return their_value < mine_value if operator == "Lt" else their_value > mine_value


def tolerates_all(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> bool:
    """Each taint has a toleration."""
    return all(any(tolerates(mine, taint) for mine in tolerations) for taint in taints)


def tolerates_for_scheduling(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> bool:
    """The taints that keep a pod away: NoSchedule and NoExecute (2.2)."""
    return tolerates_all(tolerations, (t for t in taints if t.effect != "PreferNoSchedule"))


def counts_as_destination(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> bool:
    """The descheduler's own test of a destination (E7b).

    It asks for as many tolerations as there are taints, and PreferNoSchedule counts like
    any other effect: a soft taint on every destination stops all evictions.
    """
    return len(tolerations) >= len(taints) and tolerates_all(tolerations, taints)
