"""Migrations over the minimum is a ratio only where it means something."""

import pytest
from msgspec.structs import replace

from builders.values.studies import a_plan, finished
from trimtab.study.report.tables import page_tables
from trimtab.study.results.lines import show_ranking
from trimtab.study.results.measures import CONVERGED, MINIMUM
from trimtab.study.results.result import Estimate, Row
from trimtab.study.results.summary import gap_text

RESULT = finished(a_plan())[2]
ROW = RESULT.overall.rows[0]


def with_means(level: float, least: float, gap: float | None, row: Row = ROW) -> Row:
    measures = {CONVERGED: Estimate(level, level, level), MINIMUM: Estimate(least, least, least)}
    return replace(row, measures=row.measures | measures, gap=Estimate(gap, gap, gap))


@pytest.mark.parametrize(
    ("level", "least", "gap", "text"),
    [
        (1.0, 3.0, 1.5, "1.50"),
        (0.6, 1.0, 12.0, "12.0"),
        (0.0, 5.0, 0.24, "never level"),
        (0.3, 5.0, 0.24, "level in 30 %"),
        (1.0, 0.65, 532.0, "little to do"),
        (1.0, 0.0, None, "nothing to do"),
        (0.0, 0.0, None, "never level"),
    ],
)
def test_a_ratio_that_would_mislead_is_not_shown(
    level: float, least: float, gap: float | None, text: str
) -> None:
    assert gap_text(with_means(level, least, gap)) == text


def test_the_page_and_the_terminal_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    rows = tuple(with_means(0.0, 5.0, 0.2, row) for row in RESULT.overall.rows)
    table = replace(RESULT.overall, rows=rows)
    show_ranking(RESULT, table, "")
    assert capsys.readouterr().out.count("never level") == len(rows)
    found = page_tables(replace(RESULT, overall=table))[0].rows
    assert {row.gap.value for row in found} == {"never level"}
    assert {row.gap.about for row in found} == {"the minimum is 5.00"}
