"""The tables of the report, ready to print: readable without a line of JavaScript."""

from collections.abc import Sequence

from msgspec import Struct

from trimtab.study.results.measures import IMBALANCE, MIGRATIONS, MINIMUM
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.result import CandidateTable, Comparison, Estimate, Row, StudyResult
from trimtab.study.results.summary import gap_text, interval, number

_WIDTH = 200.0  # of an interval's picture, in the units of its viewBox


class Cell(Struct, frozen=True):
    """A number as text with what a pointer reveals."""

    value: str
    about: str


class DifferenceText(Struct, frozen=True):
    """A difference to another candidate as text."""

    text: str
    verdict: str
    about: str


class Badge(Struct, frozen=True):
    kind: str
    text: str
    about: str


class IntervalBar(Struct, frozen=True):
    """Places on the axis of an interval's picture."""

    value: str
    low: str
    high: str
    reference: str


class PageRow(Struct, frozen=True):
    candidate: int
    rank: int
    label: str
    classes: str
    badges: tuple[Badge, ...]
    imbalance: dict[str, str]
    bar: IntervalBar
    nothing: DifferenceText
    default: DifferenceText
    migrations: Cell
    gap: Cell
    moved_again: str
    overload: str


class PageTable(Struct, frozen=True):
    title: str
    caption: str
    rows: tuple[PageRow, ...]


def page_tables(result: StudyResult) -> list[PageTable]:
    """The table over all scenarios, then one for each (a single scenario has one table)."""
    return [_page_table(table, result) for table in result.scopes]


def _page_table(table: CandidateTable, result: StudyResult) -> PageTable:
    reference = next(r for r in table.rows if r.candidate == NOTHING).measures[IMBALANCE].value or 0
    highest = max(row.measures[IMBALANCE].high or 0.0 for row in table.rows)
    scale = _WIDTH / (max(highest, reference) * 1.05 or 1.0)
    scope = "Mean over all scenarios" if table.scenario is None else f"Scenario {table.scenario}"
    return PageTable(
        title=table.scenario or "All scenarios",
        caption=f"{scope}, {len(result.seeds)} seeds each.",
        rows=tuple(_page_row(row, table, result, scale, reference) for row in table.rows),
    )


def _page_row(
    row: Row, table: CandidateTable, result: StudyResult, scale: float, reference: float
) -> PageRow:
    imbalance = row.measures[IMBALANCE]
    shown = badges(row, table, result)
    return PageRow(
        candidate=row.candidate,
        rank=row.rank,
        label=result.labels[row.candidate],
        classes=" ".join(
            [badge.kind for badge in shown] + ["nothing"] * (row.candidate == NOTHING)
        ),
        badges=shown,
        imbalance={end: number(getattr(imbalance, end)) for end in ("value", "low", "high")},
        bar=_bar(imbalance, scale, reference),
        nothing=change_of(row.versus_nothing),
        default=change_of(row.versus_default),
        migrations=Cell(number(row.measures[MIGRATIONS].value), interval(row.measures[MIGRATIONS])),
        gap=_gap(row),
        moved_again=number(row.measures["moved_again"].value),
        overload=number(row.measures["overload"].value),
    )


def _gap(row: Row) -> Cell:
    text, least = gap_text(row), number(row.measures[MINIMUM].value)
    ratio = f"{interval(row.gap)} times " if text == number(row.gap.value) else ""
    return Cell(text, f"{ratio}the minimum of {least}" if ratio else f"the minimum is {least}")


def _bar(estimate: Estimate, scale: float, reference: float) -> IntervalBar:
    places = ((x or 0.0) * scale for x in (estimate.value, estimate.low, estimate.high, reference))
    return IntervalBar(*(f"{place:.1f}" for place in places))


def badges(row: Row, table: CandidateTable, result: StudyResult) -> tuple[Badge, ...]:
    """What a candidate is in this table: best, pick, default, …; the terminal shows the same."""
    found = []
    if row.candidate == table.best:
        found.append(Badge("best", "best", "the least imbalance"))
    elif row.among_best:
        found.append(Badge("same", "≈ best", "cannot be told apart from the best"))
    if row.candidate == table.pick:
        about = (
            f"best compromise with the migrations, in {100 * row.picked_in:.0f} % of the resamples"
        )
        found.append(Badge("pick", "pick", about))
    elif row.candidate == table.stock_pick:
        about = "best compromise of those that need nothing new in the cluster"
        found.append(Badge("stock", "pick of today", about))
    if row.candidate == result.default:
        found.append(Badge("default", "default", "the others are compared with it"))
    if result.candidates[row.candidate].is_own:
        found.append(Badge("own", "own score", "a score of your own, not one of the catalogue"))
    if result.candidates[row.candidate].is_what_if:
        about = "needs more than today's descheduler and scheduler can do"
        found.append(Badge("what-if", "what-if", about))
    return tuple(found)


def change_of(comparison: Comparison | None) -> DifferenceText:
    """A difference with its verdict and what a pointer reveals."""
    if comparison is None or comparison.percent.value is None:
        return DifferenceText("–", "same", "nothing to compare")
    about = (
        f"{interval(comparison.difference)} points; better in {100 * comparison.better_in:.0f} % "
        f"of the seeds; corrected p = {comparison.p:.2g}"
    )
    return DifferenceText(change_text(comparison), comparison.verdict, about)


def change_text(comparison: Comparison | None) -> str:
    """`−64 %`; a dash where there is nothing to compare."""
    if comparison is None or comparison.percent.value is None:
        return "–"
    value = comparison.percent.value
    text = f"{abs(value):.0f}" if abs(value) >= 10 else f"{abs(value):.1f}"
    return f"{'−' if value < 0 else '+'}{text} %" if float(text) else "0 %"


def headline(labels: Sequence[str], table: CandidateTable, default: int) -> list[dict[str, str]]:
    """The tiles at the top: best, pick, default, and what doing nothing means."""
    rows = {row.candidate: row for row in table.rows}
    best, pick, nothing = rows[table.best], rows[table.pick], rows[NOTHING]
    if pick.candidate == best.candidate:
        tiles = [_tile("pick", "Least imbalance, and best compromise", labels, best)]
    else:
        tiles = [_tile("best", "Least imbalance", labels, best)]
        tiles.append(_tile("pick", "Best compromise with migrations", labels, pick))
    if table.stock_pick not in (best.candidate, pick.candidate):
        what = "Best compromise with nothing new in the cluster"
        tiles.append(_tile("stock", what, labels, rows[table.stock_pick]))
    if default not in (best.candidate, pick.candidate, table.stock_pick):
        tiles.append(_tile("default", "Default", labels, rows[default]))
    tiles.append(
        {
            "kind": "nothing",
            "what": "Without any move",
            "value": f"{number(nothing.measures[IMBALANCE].value)} points of imbalance",
            "how": f"{number(nothing.measures['overload'].value)} node·s of overload",
        }
    )
    return tiles


def _tile(kind: str, what: str, labels: Sequence[str], row: Row) -> dict[str, str]:
    change = change_text(row.versus_nothing)
    moved = number(row.measures[MIGRATIONS].value)
    return {
        "kind": kind,
        "what": what,
        "value": labels[row.candidate],
        "how": f"imbalance {change} against doing nothing, {moved} migrations per run",
    }
