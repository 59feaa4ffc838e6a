"""A recording's migrations, counted: how many, on which days, what became of them, by whom."""

from collections import Counter
from datetime import UTC, datetime

from msgspec import Struct

from trimtab.model.recorded.recording import Manifest, RequestedBy

_DAY_S = 86_400.0
_REQUESTERS: dict[RequestedBy, str] = {
    "eviction": "after evictions",
    "balancer": "by the balancer",
    "update": "by updates of KubeVirt",
    "": "by others",
}


class MigrationCounts(Struct, frozen=True, rename="camel"):
    """`migrations` of `trimtab record show --json`."""

    total: int
    succeeded: int
    failed: int
    """Cancelled ones among them."""
    under_way: int
    per_day: dict[str, int]
    """By the day, in UTC, on which they were asked for; days without any are left out."""
    by: dict[RequestedBy, int]


def counts_of(manifest: Manifest) -> MigrationCounts:
    moves = manifest.migrations
    finished = sum(each.finished for each in moves)
    succeeded = sum(each.phase == "Succeeded" for each in moves)
    days = (datetime.fromtimestamp(each.asked, UTC).date().isoformat() for each in moves)
    return MigrationCounts(
        total=len(moves),
        succeeded=succeeded,
        failed=finished - succeeded,
        under_way=len(moves) - finished,
        per_day=dict(sorted(Counter(days).items())),
        by=dict(sorted(Counter(each.by for each in moves).items())),
    )


def migrations_text(counts: MigrationCounts, duration_s: float) -> str:
    """One line; a rate only of a day or more, because less says nothing about a day."""
    if not counts.total:
        return "no migration objects of the period"
    rate = ""
    if duration_s >= _DAY_S:
        busiest, most = max(counts.per_day.items(), key=lambda day: day[1])
        rate = f" ({counts.total / (duration_s / _DAY_S):.1f} a day, most {most} on {busiest})"
    said = [f"{counts.total} {'migration' if counts.total == 1 else 'migrations'}{rate}"]
    said.append(f"{counts.failed} failed")
    if counts.under_way:
        said.append(f"{counts.under_way} under way")
    who = (f"{counts.by[by]} {words}" for by, words in _REQUESTERS.items() if by in counts.by)
    return f"{', '.join(said)}: {', '.join(who)}"
