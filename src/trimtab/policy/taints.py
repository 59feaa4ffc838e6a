"""Which taints a pod tolerates, as Kubernetes and the descheduler see it."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from trimtab.model.machines import Taint

_DECIMAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


class Toleration(Struct, frozen=True, rename="camel"):
    """A pod's toleration; an empty key or effect matches any."""

    key: str = ""
    operator: Literal["", "Equal", "Exists", "Lt", "Gt"] = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        if self.operator in ("Lt", "Gt"):
            return _compares(self.operator, self.value, taint.value)
        return self.value == taint.value


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
    return all(any(mine.tolerates(taint) for mine in tolerations) for taint in taints)


def tolerates_for_scheduling(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> bool:
    """The taints that keep a pod away: NoSchedule and NoExecute (2.2)."""
    return tolerates_all(tolerations, (t for t in taints if t.effect != "PreferNoSchedule"))


def counts_as_destination(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> bool:
    """The descheduler's own test of a destination (E7b).

    It asks for as many tolerations as there are taints, and PreferNoSchedule counts like
    any other effect: a soft taint on every destination stops all evictions.
    """
    return len(tolerations) >= len(taints) and tolerates_all(tolerations, taints)
