"""Candidates × scenarios: imbalance against doing nothing, which a mean over scenarios hides."""

from msgspec import Struct

from trimtab.study.report.tables import Change, change_of
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.result import Comparison, StudyResult

STRONGEST = 60  # percent of the colour, so that the text stays readable


class MatrixCell(Struct, frozen=True):
    change: Change
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
