"""The smallest single change that would have led to an eviction, found by trying.

Thresholds, limits and samples are moved step by step until the cycle evicts; settings,
taints and marks are taken away one at a time. Each change that is told was applied to the
snapshot and decided again from scratch.
"""

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from trimtab.model.snapshot import Snapshot
from trimtab.truth.explain.changes.change import SnapshotChange, UntriedChange
from trimtab.truth.explain.changes.evictor import evictor_attempts
from trimtab.truth.explain.changes.samples import query_attempts, sample_attempts
from trimtab.truth.explain.changes.state import state_attempts
from trimtab.truth.explain.changes.thresholds import limit_attempts, plugin_attempts
from trimtab.truth.explain.changes.trial import Trial, evictions_after


class Found(Struct, frozen=True):
    """A change that evicts, and the snapshot with it."""

    change: SnapshotChange
    snapshot: Snapshot


def find_changes(trial: Trial) -> tuple[Found, ...]:
    """Single changes of our repertoire that evict, one of each sort, the smallest first.

    Changes of one size keep the order of the repertoire: the policy before the cluster.
    """
    found, done = [], set()
    for attempt in _attempts(trial):
        if attempt.group in done:
            continue
        if evictions := evictions_after(attempt.snapshot):
            change = replace(attempt.change, evictions=evictions)
            found.append(Found(change, attempt.snapshot))
            if attempt.group:
                done.add(attempt.group)
    return tuple(sorted(found, key=lambda each: each.change.size))


def _attempts(trial: Trial) -> Iterator[UntriedChange]:
    return chain(
        query_attempts(trial),
        limit_attempts(trial),
        plugin_attempts(trial),
        evictor_attempts(trial),
        sample_attempts(trial),
        state_attempts(trial),
    )
