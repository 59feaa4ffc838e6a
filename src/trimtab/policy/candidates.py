"""The order in which the descheduler takes nodes and pods, with the ties that chance decides."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trimtab.policy.numbers import Integers
from trimtab.policy.view import PodView, Traits


def order_sources(nodes: NDArray[np.intp], totals: Integers) -> tuple[tuple[int, ...], ...]:
    """Node numbers by ascending total, equal ones together (E2).

    `totals` belongs to `nodes`; LowNodeUtilization passes them negated, highest usage first.
    """
    order = np.argsort(totals, kind="stable")
    ordered, ranked = totals[order], nodes[order].tolist()
    starts = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist(), len(ranked)]
    return tuple(tuple(ranked[a:b]) for a, b in pairwise(starts))


def order_candidates(pods: Iterable[PodView]) -> tuple[tuple[PodView, ...], ...]:
    """Pods in the order of eviction, equal ones together (E5).

    No priority first, then from low to high; then by QoS; then those that would rather
    stay. Size, load and age play no part.
    """
    groups: dict[tuple[bool, int, int, bool], list[PodView]] = {}
    ranks: dict[Traits, list[PodView]] = {}
    for pod in pods:
        try:
            ranks[pod.traits].append(pod)
        except KeyError:
            group = groups.setdefault(_rank(pod.traits), [])
            ranks[pod.traits] = group
            group.append(pod)
    return tuple(tuple(groups[rank]) for rank in sorted(groups))


def _rank(traits: Traits) -> tuple[bool, int, int, bool]:
    priority = traits.priority
    return (
        priority is not None,
        0 if priority is None else priority,
        int(traits.qos),
        traits.prefer_no_eviction,
    )
