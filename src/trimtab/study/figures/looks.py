"""What the figures share: paper size, colours, who is named, axes of counts and of time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trimtab.study.results.measures import MIGRATIONS
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.result import CandidateTable, Row, StudyResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.0  # inches: two columns of a journal
ACCENT, GOLD, INK, MUTED, OWN = "#0b7285", "#b7791f", "#1a1f24", "#5f6b76", "#8257d8"
FEW = 40  # candidates in a chart with a row for each


def sheet(height: float, rows: int = 1, columns: int = 1) -> tuple["Figure", Any]:
    """A figure of the usual width with its axes: one, or an array of them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)  # it measures texts; no window is ever opened
    return figure, figure.subplots(rows, columns, sharex=rows > 1, sharey=columns > 1)


def tidy(axes: "Axes") -> None:
    axes.grid(visible=True, lw=0.4, color="#d5dadd")
    axes.set_axisbelow(True)


def row_names(axes: "Axes", names: Sequence[str]) -> None:
    """A name for each row, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0, labelsize=6.5)
    axes.set_ylim(len(names) - 0.5, -0.5)


def count_axis(axes: "Axes", rows: Sequence[Row]) -> None:
    """Migrations along x: logarithmic where a quarter of the values crowd in the first tenth."""
    values = [row.measures[MIGRATIONS].value or 0 for row in rows if row.candidate != NOTHING]
    most = max((row.measures[MIGRATIONS].high or 0 for row in rows), default=0)
    crowded = sum(value < most / 10 for value in values) >= max(2, len(values) / 4)
    if crowded:
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlim(left=0)
    axes.set_xlabel("migrations per run" + (", logarithmic" if crowded else ""))


def time_unit(end_s: float) -> tuple[float, str]:
    """What a time axis counts in: seconds of one unit, and its name."""
    return (3600, "hours") if end_s > 3 * 3600 else (60, "minutes")


def importance(row: Row, table: CandidateTable, result: StudyResult) -> int:
    """Below `FEW` for those that are named; they are drawn and labelled first."""
    order = (table.pick, table.best, table.stock_pick, result.default)
    if row.candidate in order:
        return order.index(row.candidate)
    if result.candidates[row.candidate].is_own:
        return len(order)
    return len(order) + 1 if row.candidate == NOTHING else FEW + row.rank


def name_of(row: Row, table: CandidateTable, result: StudyResult) -> str:
    """The candidate with its roles: `max_metric (best, default)`."""
    roles = (("best", table.best), ("pick", table.pick), ("default", result.default))
    words = [word for word, candidate in roles if row.candidate == candidate]
    if "pick" not in words and row.candidate == table.stock_pick:
        words.append("pick of today")
    if result.candidates[row.candidate].is_own:
        words.append("own score")
    return result.labels[row.candidate] + (f" ({', '.join(words)})" if words else "")


def marker(row: Row, table: CandidateTable, result: StudyResult) -> dict[str, Any]:
    """How the candidate is drawn, as arguments of `Axes.plot`."""
    look: dict[str, Any] = {"marker": "o", "ms": 4, "color": ACCENT, "ls": "", "alpha": 0.6}
    if row.candidate == NOTHING:
        return look | {"marker": "D", "ms": 5, "color": MUTED, "alpha": 1, "clip_on": False}
    if row.candidate == table.pick:
        return look | {"ms": 7, "color": GOLD, "alpha": 1}
    if row.candidate == table.best:
        return look | {"ms": 6, "alpha": 1}
    if row.candidate == table.stock_pick:
        return look | {"ms": 6, "color": GOLD, "mfc": "white", "alpha": 1}
    if row.candidate == result.default:
        return look | {"ms": 6, "mfc": "white", "alpha": 1}
    if result.candidates[row.candidate].is_own:
        return look | {"color": OWN, "ms": 6, "alpha": 1}
    return look
