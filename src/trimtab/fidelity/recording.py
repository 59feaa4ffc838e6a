"""What is recorded of a lab's run: everything that a prediction of its cycles needs.

Scrapes and rule results as Prometheus stored them, pods as an independent watch heard of
them, cycles as the descheduler told them. Times are Unix seconds. Plain values, so a
recording can be kept and judged again.
"""

import time
from bisect import bisect_right
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from trimtab.model.snapshot import SnapshotNode, SnapshotPod
from trimtab.observe.descheduler_log import LoggedCycle
from trimtab.scores.inputs import DIMENSIONS as COLUMNS

__all__ = [
    "COLUMNS",
    "ByNode",
    "LabRun",
    "PodVersion",
    "RecordedSeries",
    "is_without_token",
    "moment",
]


class RecordedSeries(Struct, frozen=True):
    """One series: samples with their times, rising."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def before(self, at: float) -> int:
        """The number of the last sample at or before a moment; -1 if there is none."""
        return bisect_right(self.times, at) - 1


ByNode = Mapping[str, RecordedSeries]


class PodVersion(Struct, frozen=True):
    """A pod as it was from `at` on, or, with `gone`, as it was when it went."""

    at: float
    pod: SnapshotPod
    gone: bool = False


class LabRun(Struct, frozen=True, kw_only=True):
    """One run of a scenario in a lab, from a quiet start."""

    scenario: str
    score: str
    policy: str
    """As the descheduler read it."""
    scale: float
    interval_s: float
    """Real seconds between two cycles."""
    nodes: tuple[SnapshotNode, ...]
    """Those that the policy selects, in the order of their names."""
    pods: tuple[PodVersion, ...]
    """In the order in which the API told of them."""
    scrapes: Mapping[str, ByNode]
    """By input, as the exporter was scraped."""
    base: Mapping[str, ByNode]
    """By input, as the rules recorded it."""
    scores: ByNode
    """The results of the rule that the policy asks for."""
    cycles: tuple[LoggedCycle, ...]
    """Of the descheduler that decided, its first one included."""

    @property
    def worked(self) -> tuple[LoggedCycle, ...]:
        """Without the first cycle, if that began before it had read its token."""
        return tuple(c for c in self.cycles if not is_without_token(c))

    @property
    def began(self) -> float:
        """When the first cycle that worked began."""
        return moment(self.worked[0].began)


def is_without_token(cycle: LoggedCycle) -> bool:
    return any("prometheus client not initialized" in error for error in cycle.errors)


def moment(told: str, now: float | None = None) -> float:
    """Unix seconds of a time in the log, which has no year and is local."""
    year = datetime.fromtimestamp(time.time() if now is None else now).year
    return datetime.strptime(f"{year} {told}", "%Y %m%d %H:%M:%S.%f").timestamp()
