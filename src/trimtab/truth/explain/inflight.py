"""Evictions in flight that a look from outside can and cannot see (2.4).

A pod that carries `eviction-in-progress` is known to be in flight. The descheduler also counts
pods whose eviction it has only just asked for, or whose mark went away without the pod: those
live in its memory for up to 20 minutes. How many they may be is bounded by its limits.
"""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from trimtab.model.snapshot import REQUEST_EVICT_ONLY, Snapshot
from trimtab.policy.file.settings import Policy
from trimtab.policy.snapshot_view import inflight_of
from trimtab.truth.explain.eviction_answers import EVACUATING


class InFlightReport(Struct, frozen=True, rename="camel"):
    """What is known, what is likely, and how much more there may be."""

    known: int
    marked: int
    """VMs that are marked to leave, but whose pod does not say so yet."""
    further_at_most: int
    """Unseen entries, whoever asked for the known ones."""
    further_at_most_alone: int
    """The same if nobody but the descheduler evicts."""


def in_flight_report(snapshot: Snapshot, policy: Policy) -> InFlightReport:
    """Count and bound. Without the feature gate nothing is ever in flight."""
    if not snapshot.evictions_in_background:
        return InFlightReport(0, 0, 0, 0)
    known = inflight_of(snapshot)
    unseen = [
        pod
        for pod in snapshot.pods
        if pod.node
        and not pod.finished
        and pod.uid not in known
        and REQUEST_EVICT_ONLY in pod.annotations
    ]
    nodes, namespaces = Counter(p.node for p in unseen), Counter(p.namespace for p in unseen)
    return InFlightReport(
        known=known.total,
        marked=sum(EVACUATING in pod.annotations for pod in unseen),
        further_at_most=min(
            _within(nodes, policy.max_per_node),
            _within(namespaces, policy.max_per_namespace),
            _left(policy.max_total, 0, len(unseen)),
        ),
        further_at_most_alone=min(
            _within(nodes, policy.max_per_node, known.per_node),
            _within(namespaces, policy.max_per_namespace, known.per_namespace),
            _left(policy.max_total, known.total, len(unseen)),
        ),
    )


def _within(
    counts: Mapping[str, int], limit: int | None, known: Mapping[str, int] | None = None
) -> int:
    taken = known or {}
    return sum(_left(limit, taken.get(key, 0), count) for key, count in counts.items())


def _left(limit: int | None, taken: int, count: int) -> int:
    return count if limit is None else min(count, max(0, limit - taken))
