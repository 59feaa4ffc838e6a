"""What became of a scenario in one world, in words that both worlds share. Pure.

Phases: KubeVirt's Scheduled, PreparingTarget and TargetReady are parts of our Scheduling, and a
migration that somebody took back, or whose VM was deleted or stopped, is Aborted, whether it is
deleted, Failed or Cancelled then.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct, field

Cause = Literal["eviction", "person"]
UNFINISHED = frozenset(("Pending", "Scheduling", "Copying"))
UNNOTICED_S = 2.0
"""So long after its creation a migration may wait without a look at it."""


class Record(Struct):
    """One migration object as the watch showed it; times are of the wall clock."""

    vm: str
    cause: Cause
    source: str = ""
    phases: list[tuple[float, str]] = field(default_factory=list)
    asked_to_end: bool = False
    left: float | None = None
    """When the VM had left its node or was to end, if that freed the slot before the end."""

    def note(self, at: float, phase: str) -> None:
        if not self.phases or self.phases[-1][1] != phase:
            self.phases.append((at, phase))

    def gone(self, at: float) -> None:
        if self.phases and self.phases[-1][1] in UNFINISHED:
            self.note(at, "Aborted")

    @property
    def last(self) -> str:
        return self.phases[-1][1] if self.phases else ""

    @property
    def is_unfinished(self) -> bool:
        return self.last in UNFINISHED or not self.phases

    def since(self, phase: str) -> float | None:
        return next((at for at, each in self.phases if each == phase), None)

    def told(self) -> tuple[str, ...]:
        """Its phases; a failure that was asked for is an abort."""
        names = tuple(name for _, name in self.phases)
        if names and names[-1] == "Cancelled":
            return (*names[:-1], "Aborted")
        if self.asked_to_end and names and names[-1] == "Failed":
            return (*names[:-1], "Aborted")
        return names


class Move(Struct, frozen=True):
    cause: Cause
    phases: tuple[str, ...]


class Fate(Struct, frozen=True, kw_only=True):
    """What became of one VM."""

    moves: tuple[Move, ...]
    """All its migrations, in the order of their creation."""
    backoff: tuple[int, ...] = ()
    """After each failed evacuation that was tried again: the wait, as a power of two times 20 s."""
    lives: int = 1
    """How often it was started: a migration is no new start."""
    end: str = "running"
    moved: int = 0
    """Changes of its node without a new start."""
    at: int = -1
    """The node of the place that it ends on."""
    kept: int = 0
    """Finished migrations that are still there."""


class Course(Struct, frozen=True, kw_only=True):
    answers: tuple[str, ...] = ()
    """What each step was answered."""
    missed: tuple[int, ...] = ()
    """Steps whose moment never came."""
    fates: tuple[Fate, ...] = ()
    leaving: int = 0
    """The most migrations that left one node at a time."""
    together: int = 0
    """The most migrations that ran at a time, from all nodes."""
    overtaken: int = 0
    """Migrations that went before another of the same node with a higher priority."""
    settled: bool = True


def backoffs(records: Sequence[Record]) -> tuple[int, ...]:
    """From a failure of an evacuation to the moment when the next one has its slot."""
    found = []
    evacuations = [each for each in records if each.cause == "eviction"]
    for earlier, later in pairwise(evacuations):
        failed, began = earlier.since("Failed"), later.since("Scheduling")
        if earlier.told()[-1:] == ("Failed",) and failed is not None and began is not None:
            found.append(power_of_wait(began - failed))
    return tuple(found)


def power_of_wait(seconds: float) -> int:
    """0 for about 20 s, 1 for about 40 s and so on; -1 for less.

    KubeVirt stores whole seconds and looks again every five, so a wait may be 8 s longer; our
    watch may tell the failure some seconds late, so it may seem as much shorter.
    """
    power = -1
    while seconds > 20.0 * 2.0 ** (power + 1) - 5.0:
        power += 1
    return power


def overtakings(records: Sequence[Record]) -> int:
    """How many of people's migrations went before an evacuation of the same node that waited.

    KubeVirt lets nobody but itself give a migration a priority, so people's have the lowest.
    One that came a moment ago may be overtaken: nobody had looked at it yet.
    """
    waits = [
        (record.source, asked, began)
        for record in records
        if record.cause == "eviction"
        and (asked := record.since("Pending")) is not None
        and (began := record.since("Scheduling")) is not None
    ]
    went = [
        (record.source, began)
        for record in records
        if record.cause == "person" and (began := record.since("Scheduling")) is not None
    ]
    return sum(
        any(node == source and asked + UNNOTICED_S < at < began for source, asked, began in waits)
        for node, at in went
    )


def most_leaving(records: Iterable[Record]) -> dict[str, int]:
    """The most migrations at a time from each node, and in all under the empty name."""
    changes: list[tuple[float, int, str]] = []
    for record in records:
        began = record.since("Scheduling")
        if began is None:
            continue
        ended = next((at for at, name in record.phases if name not in UNFINISHED), record.left)
        if ended is not None and record.left is not None:
            ended = min(ended, record.left)
        changes.append((began, 1, record.source))
        if ended is not None:
            changes.append((ended, -1, record.source))
    now: dict[str, int] = {}
    most: dict[str, int] = {"": 0}
    for _, change, node in sorted(changes):
        for name in (node, ""):
            now[name] = now.get(name, 0) + change
            most[name] = max(most.get(name, 0), now[name])
    return most
