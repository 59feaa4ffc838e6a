"""The data of the report's charts: one JSON document inside the page.

Courses are bytes in base64, a byte per node and row; as many of them as fit a budget, those
that a reader asks for first coming first.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from trimtab.model.load.curve import overall_mean
from trimtab.model.scenarios.scenario import Scenario
from trimtab.study.inputs.candidate import Candidate, labels
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.report.tables import DifferenceText, change_of
from trimtab.study.results.collect import KnownRuns
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.record import StudyPicture
from trimtab.study.results.result import CandidateTable, Comparison, Estimate, StudyResult
from trimtab.study.results.summary import gap_text

PICTURES_BUDGET = 800_000  # characters
MOMENTS_BUDGET = 24_000  # counts of migrations in all
MOMENTS_LEAST = 12  # of each candidate


def page_data(
    plan: StudyPlan, cells: Cells, runs: KnownRuns, result: StudyResult
) -> dict[str, Any]:
    """What the page's script reads."""
    most = max(MOMENTS_LEAST, MOMENTS_BUDGET // (len(plan.candidates) * len(plan.scenarios)))
    return {
        "default": result.default,
        "candidates": [
            _candidate(c, label, plan.candidates[NOTHING])
            for c, label in zip(plan.candidates, result.labels, strict=True)
        ],
        "tables": [_table(table) for table in result.scopes],
        "scenarios": [scenario_data(scenario) for scenario in plan.scenarios],
        "counts": [moved_so_far([runs.pictures[cell] for cell in row], most) for row in cells],
        "pictures": list(_pictures(plan, cells, runs, result)),
    }


def _candidate(candidate: Candidate, label: str, usual: Candidate) -> dict[str, Any]:
    return {
        "label": label,
        "thresholds": candidate.thresholds,
        "family": family_of(candidate, usual),
        "own": candidate.is_own,
    }


def family_of(candidate: Candidate, usual: Candidate) -> str:
    """What candidates have in common that differ in their thresholds only."""
    first = msgspec.structs.replace(usual, score=candidate.score, thresholds=None)
    return labels([first, msgspec.structs.replace(candidate, thresholds=None)])[1]


def _table(table: CandidateTable) -> dict[str, Any]:
    return {
        "scenario": table.scenario,
        "best": table.best,
        "pick": table.pick,
        "stockPick": table.stock_pick,
        "rows": [
            {
                "candidate": row.candidate,
                "rank": row.rank,
                "onFront": row.on_front,
                "gap": gap_text(row),
                "measures": {
                    name: _rounded(row.measures[name])
                    for name in ("imbalance", "migrations", "minimum")
                },
            }
            for row in table.rows
        ],
    }


def _rounded(estimate: Estimate) -> dict[str, float | None]:
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: None if x is None else float(f"{x:.6g}") for name, x in ends.items()}


def scenario_data(scenario: Scenario) -> dict[str, Any]:
    """What the charts of a course need to know of the scenario."""
    return {
        "name": scenario.name,
        "nodes": [node.name for node in scenario.nodes],
        "capacity": [float(node.cpu) for node in scenario.nodes],
        "vms": [vm.name for vm in scenario.vms],
        "cores": [round(float(vm.cpu) * overall_mean(vm.cpu_load), 3) for vm in scenario.vms],
    }


def moved_so_far(pictures: Sequence[StudyPicture], most: int) -> dict[str, Any]:
    """Migrations of each candidate up to at most so many moments of one scenario."""
    times = pictures[0].times
    rows = np.unique(np.linspace(0, len(times) - 1, min(most, len(times))).round().astype(int))
    return {
        "times": [times[row] for row in rows],
        "moved": [np.cumsum(p.migrations)[rows].tolist() if p.migrations else [] for p in pictures],
    }


def _pictures(
    plan: StudyPlan, cells: Cells, runs: KnownRuns, result: StudyResult
) -> Iterator[dict[str, Any]]:
    budget = PICTURES_BUDGET
    for place in range(len(plan.candidates)):
        for scenario, table in enumerate(result.tables):
            candidate = _wanted(table, result)[place]
            cell = cells[scenario][candidate]
            picture = runs.pictures[cell]
            drawn = picture_data(scenario, candidate, picture)
            budget -= sum(len(part) for part in drawn.values() if isinstance(part, str))
            if budget < 0 and place > 1:  # do-nothing and the pick are always there
                return
            yield drawn


def _wanted(table: CandidateTable, result: StudyResult) -> list[int]:
    first = [NOTHING, result.overall.pick, result.default, table.pick, table.best]
    return list(dict.fromkeys([*first, *(row.candidate for row in table.rows)]))


def picture_data(scenario: int, candidate: int, picture: StudyPicture) -> dict[str, Any]:
    """A course as text."""
    return {
        "scenario": scenario,
        "candidate": candidate,
        "seed": picture.seed,
        "times": picture.times,
        "cpu": _text(picture.cpu),
        "memory": _text(picture.memory),
        "score": _text(picture.score),
        "classes": _text(picture.classes),
        "before": _places(picture.before),
        "after": _places(picture.after),
        "migrations": picture.migrations,
    }


def _places(places: Sequence[int]) -> str:
    return _text(np.array(places, dtype="<i2").tobytes())


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


# Candidates × scenarios: imbalance against doing nothing, which a mean over scenarios hides.
STRONGEST = 60  # percent of the colour, so that the text stays readable


class MatrixCell(Struct, frozen=True):
    change: DifferenceText
    colour: str
    """good or bad"""
    strength: int
    """percent of it"""
    is_best: bool


class MatrixRow(Struct, frozen=True):
    candidate: int
    rank: int
    label: str
    cells: tuple[MatrixCell, ...]


def matrix(result: StudyResult) -> list[MatrixRow]:
    """A row for each candidate in the order over all scenarios; none for a single scenario."""
    if len(result.tables) < 2:
        return []
    versus = [{row.candidate: row.versus_nothing for row in t.rows} for t in result.tables]
    return [
        MatrixRow(
            candidate=row.candidate,
            rank=row.rank,
            label=result.labels[row.candidate],
            cells=tuple(
                _cell(found[row.candidate], is_best=table.best == row.candidate)
                for found, table in zip(versus, result.tables, strict=True)
            ),
        )
        for row in result.overall.rows
        if row.candidate != NOTHING or any(table.best == NOTHING for table in result.tables)
    ]


def _cell(comparison: Comparison | None, *, is_best: bool) -> MatrixCell:
    percent = 0.0 if comparison is None else comparison.percent.value or 0.0
    strength = round(STRONGEST * min(1.0, abs(percent) / 100))
    return MatrixCell(change_of(comparison), "bad" if percent > 0 else "good", strength, is_best)
