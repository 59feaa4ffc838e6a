"""What one descheduling cycle comes to, with everything that led there.

Arrays and node numbers follow `Cycle.nodes`. Where the descheduler's choice is random the
alternatives stand beside the one taken: `CycleFigures.doubtful` holds sets of classes,
`PluginRun.sources` and `Visit.candidates` hold groups of equals.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, IntEnum
from typing import overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.policy.view import PodsAlike, PodView


class Reason(Struct, frozen=True):
    """A rule of docs/reference/policy.md that decided something, and what it says here."""

    rule: str
    text: str


class Class(IntEnum):
    """A node's class. HighNodeUtilization calls every destination OVER, as its log does."""

    UNDER = -1
    APPROPRIATE = 0
    OVER = 1


class CycleFigures(Struct, frozen=True, eq=False, kw_only=True):
    """The numeric part of a cycle; by resource, cpu in milli-units and everything else whole."""

    usage: Mapping[str, NDArray[np.int64]]
    """(nodes,) integers, as the log prints them."""
    percent: Mapping[str, NDArray[np.float64]]
    """(nodes,) of capacity; NaN where the node has no such capacity (T1: left out)."""
    average: Mapping[str, float] | None
    """Only with deviation thresholds."""
    low: Mapping[str, float]
    high: Mapping[str, float]
    classes: NDArray[np.int8]
    """(nodes,) `Class` values."""
    doubtful: Mapping[int, frozenset[Class]] = {}
    """Nodes whose class depends on the order of a sum (T5), with the classes it may get."""


class PodOutcome(Enum):
    """What became of one pod that was looked at, in the order of the checks."""

    NOT_TOLERATED = "E7b"
    NAMESPACE_EXCLUDED = "E7c"
    PRE_EVICTION_FILTER = "2.2"
    NO_USAGE = "E7d"
    NO_UID = "2.3.1"
    IN_FLIGHT = "E8"
    TOTAL_LIMIT = "2.3.3"
    NODE_LIMIT = "2.3.4"
    NAMESPACE_LIMIT = "2.3.5"
    REFUSED = "E7e"
    BACKGROUND = "2.4"
    EVICTED = "2.3"

    @property
    def is_eviction(self) -> bool:
        """A request was made and granted."""
        return self in GRANTED


GRANTED = (PodOutcome.EVICTED, PodOutcome.BACKGROUND)


class VisitedPod(Struct, frozen=True, gc=False):
    """One pod that a visit looked at."""

    pod: PodView
    outcome: PodOutcome


class VisitEnd(Enum):
    """Why a visit to a source ended."""

    NO_CANDIDATES = "E4"
    NOT_ABOVE_CAP = "E6 usage"
    """No resource is above its (integer) cap, although a percentage was."""
    NO_HEADROOM = "E6 headroom"
    PLUGIN_LIMIT = "E7a"
    ONE_POD = "E7f"
    """Usage of pods is unknown and no evictionLimits.node is set."""
    NODE_LIMIT = "E7e node"
    TOTAL_LIMIT = "E7e total"
    LEVELLED = "E7h"
    """The source came down to its cap, or the headroom was used up."""
    EXHAUSTED = "E7"
    """Every candidate was looked at."""


class Visit(Struct, frozen=True):
    """One source: who might go (classes of equals, in order), who was looked at, why it ended."""

    node: str
    candidates: tuple[Sequence[PodView], ...]
    steps: Sequence[VisitedPod]
    stop: VisitEnd


class StepsTogether(Sequence[VisitedPod]):
    """Steps of which the first ones are those of pods alike, all evicted in background."""

    def __init__(self, together: PodsAlike, others: Sequence[VisitedPod]) -> None:
        self.together, self.others = together, others

    def __len__(self) -> int:
        return len(self.together) + len(self.others)

    @overload
    def __getitem__(self, at: int) -> VisitedPod: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[VisitedPod]: ...
    def __getitem__(self, at: int | slice) -> VisitedPod | Sequence[VisitedPod]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        if place >= len(self.together):
            return self.others[place - len(self.together)]
        return VisitedPod(self.together[place], PodOutcome.BACKGROUND)


class Eviction(Struct, frozen=True, gc=False):
    """A granted eviction; `background` ones are in flight from now on."""

    pod: PodView
    node: str
    background: bool


_NONE: NDArray[np.intp] = np.zeros(0, dtype=np.intp)


class PluginRun(Struct, frozen=True, eq=False, kw_only=True):
    """One balance plugin of one profile in one cycle. At most one of `error`, `exit` is set."""

    profile: str
    plugin: str
    error: Reason | None = None
    """The plugin failed; the descheduler logs it and goes on (R5)."""
    exit: Reason | None = None
    """Nothing to do (1.5)."""
    figures: CycleFigures | None = None
    headroom: Mapping[str, int] = {}
    """What the destinations can take in all, in the units of `CycleFigures.usage` (E1)."""
    sources: tuple[tuple[int, ...], ...] = ()
    """Numbers of source nodes in order; those of one group are equal, in any order (E2)."""
    targets: NDArray[np.intp] = _NONE
    """`destinations` as an array."""
    visits: tuple[Visit, ...] = ()
    """Sources that were visited, in the order taken."""

    @property
    def destinations(self) -> tuple[int, ...]:
        """Numbers of the nodes that pods are meant to go to; of 10,000 nodes, thousands."""
        return tuple(self.targets.tolist())

    @property
    def evictions(self) -> Iterator[Eviction]:
        for visit in self.visits:
            for step in visit.steps:
                if step.outcome.is_eviction:
                    yield Eviction(step.pod, visit.node, step.outcome is PodOutcome.BACKGROUND)


class Cycle(Struct, frozen=True, eq=False, kw_only=True):
    """A whole cycle: every balance plugin of every profile, in order."""

    nodes: tuple[str, ...]
    skipped: Reason | None = None
    """Fewer than two nodes (R4)."""
    runs: tuple[PluginRun, ...] = ()
    unmodelled: tuple[str, ...] = ()
    """Enabled plugins that trimtab does not reproduce; their evictions are missing here."""

    @property
    def evicted(self) -> list[PodView]:
        """The pods of `evictions`, without the rest of what is known of them."""
        visits = (visit for run in self.runs for visit in run.visits)
        return [step.pod for visit in visits for step in visit.steps if step.outcome in GRANTED]

    @property
    def evictions(self) -> tuple[Eviction, ...]:
        return tuple(eviction for run in self.runs for eviction in run.evictions)
