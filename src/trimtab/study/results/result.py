"""What a study found, as `result.json` holds it. The same runs give the same bytes."""

from typing import Literal

from msgspec import Struct

from trimtab.study.inputs.candidate import Candidate
from trimtab.study.inputs.identity import Versions

Verdict = Literal["better", "worse", "same"]


class Estimate(Struct, frozen=True):
    """A mean over the seeds with the ends of its 95 % interval; null where it has no value."""

    value: float | None
    low: float | None
    high: float | None


class Comparison(Struct, frozen=True, rename="camel"):
    """Imbalance of one candidate against another on the same seeds; below 0 is better."""

    difference: Estimate
    """in points"""
    percent: Estimate
    """of the other's imbalance"""
    better_in: float
    """share of the seeds in which it was better"""
    p: float
    """corrected by Holm for the number of candidates in the table"""
    verdict: Verdict


class Row(Struct, frozen=True, rename="camel"):
    """One candidate in one table."""

    candidate: int
    rank: int
    mean_rank: float
    """of its ranks in each scenario and seed"""
    measures: dict[str, Estimate]
    gap: Estimate
    """migrations over the minimum of any rebalancer from the same start"""
    distance: float
    """from no imbalance (1: that of doing nothing) and no migrations (1: one per VM)"""
    picked_in: float
    """share of the resamples in which it is the pick: how firm the choice is"""
    versus_nothing: Comparison | None
    versus_default: Comparison | None
    versus_best: Comparison | None
    among_best: bool
    """cannot be told apart from the best"""
    on_front: bool
    """nobody has both less imbalance and fewer migrations"""


class CandidateTable(Struct, frozen=True, rename="camel"):
    """The candidates on one scenario, or on all of them together; best first."""

    scenario: str | None
    best: int
    """the candidate with the least imbalance"""
    pick: int
    """the candidate with the least distance: the best compromise with the migrations"""
    stock_pick: int
    """the best compromise of those that today's descheduler and scheduler can do"""
    rows: tuple[Row, ...]


class ScenarioFacts(Struct, frozen=True, rename="camel"):
    """What a reader needs to know of a scenario."""

    name: str
    description: str
    nodes: int
    vms: int
    duration_s: float


class StudyResult(Struct, frozen=True, rename="camel"):
    """All tables of a study."""

    name: str
    description: str
    id: str
    """hash of all run ids: two studies with the same id are the same study"""
    versions: Versions
    seeds: tuple[int, ...]
    scenarios: tuple[ScenarioFacts, ...]
    candidates: tuple[Candidate, ...]
    labels: tuple[str, ...]
    default: int
    runs: int
    failed_cycles: int
    """cycles that the descheduler would have given up with an error"""
    overall: CandidateTable
    tables: tuple[CandidateTable, ...]
    """one per scenario"""
    summary: str
    warnings: tuple[str, ...] = ()

    @property
    def scopes(self) -> list[CandidateTable]:
        """The table over all scenarios, then one for each; a single scenario has one table."""
        return [self.overall, *self.tables] if len(self.tables) > 1 else [*self.tables]
