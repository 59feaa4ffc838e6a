"""How far nodes are from their caps, and what the destinations can take in all (E1, E6).

Amounts here are exact integers: whole percents with a Prometheus query, nano-units
otherwise. A cap, though, is truncated to a milli-core or a whole unit first.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.numbers import NO_NUMBER, cap
from trimtab.policy.usage import Usage, capacity_of, shown, unit_of
from trimtab.policy.view import NodeView

_MAX = 2**63


class Caps:
    """Usage and cap of each node, by resource."""

    def __init__(
        self,
        nodes: Sequence[NodeView],
        usage: Usage,
        resources: Sequence[str],
        high: Mapping[str, float],
    ) -> None:
        self._nodes, self._usage, self.resources, self._high = nodes, usage, resources, high

    def used(self, node: int) -> dict[str, int]:
        if self._usage.exact is None:
            return {r: int(values[node]) for r, values in self._usage.shown.items()}
        return dict(self._usage.exact[node])

    def caps(self, node: int) -> dict[str, int]:
        return {r: self._cap(node, r) for r in self.resources}

    def _cap(self, node: int, resource: str) -> int:
        if self._usage.exact is None:
            return self._threshold(resource, 100)
        if resource == METRIC_RESOURCE:
            return self._threshold(resource, 100) * unit_of(resource)
        capacity = capacity_of(self._nodes[node])
        if resource not in capacity:
            return 0
        if resource not in self._high:
            return capacity[resource]
        whole = shown(resource, capacity[resource])
        return self._threshold(resource, whole) * unit_of(resource)

    def _threshold(self, resource: str, capacity: int) -> int:
        high = self._high.get(resource)
        return capacity if high is None else cap(high, capacity)

    def headroom(self, destinations: NDArray[np.intp]) -> dict[str, int]:
        """Sum of cap less usage over the destinations; computed once, shared by all sources."""
        if self._usage.exact is None:
            return {r: self._percents(r, destinations) for r in self.resources}
        total = dict.fromkeys(self.resources, 0)
        for node in destinations.tolist():
            used, caps = self.used(node), self.caps(node)
            for r in self.resources:
                total[r] += caps[r] - used[r]
        return total

    def _percents(self, resource: str, destinations: NDArray[np.intp]) -> int:
        used = self._usage.shown[resource][destinations]
        each = self._threshold(resource, 100)
        if used.min() == NO_NUMBER:
            return _as_quantity(each, used.tolist())
        return each * len(used) - int(used.sum())

    def in_units(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """As the log prints them."""
        if self._usage.exact is None:
            return dict(amounts)
        return {r: shown(r, amount) for r, amount in amounts.items()}


def _as_quantity(each: int, used: Iterable[int]) -> int:
    """The sum as Kubernetes' Quantity computes it with what amd64 makes of NaN (P8).

    Subtracting the smallest integer adds it instead, as long as the result fits into 64
    bits; where it does not, the sum goes on in exact arithmetic.
    """
    total, exact = 0, False
    for one in used:
        for step, negated in ((each, each), (-one, one if one == NO_NUMBER else -one)):
            if not exact and -_MAX <= total + negated < _MAX:
                total += negated
            else:
                exact = True
                total += step
    return total
