"""One function for each chart of the report; all draw the numbers that the report shows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trimtab.study.extra import need
from trimtab.study.figures.files import STYLE, file_name
from trimtab.study.figures.labels import Point, write_labels
from trimtab.study.figures.looks import (
    ACCENT,
    FEW,
    GOLD,
    INK,
    MUTED,
    count_axis,
    importance,
    marker,
    name_of,
    row_names,
    sheet,
    tidy,
    time_unit,
)
from trimtab.study.inputs.plan import Cells, StudyPlan
from trimtab.study.report.data import family_of, matrix, moved_so_far
from trimtab.study.results.collect import KnownRuns
from trimtab.study.results.measures import IMBALANCE, MIGRATIONS, MINIMUM
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.record import StudyPicture
from trimtab.study.results.result import Comparison, Estimate, StudyResult
from trimtab.study.results.summary import gap_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_all(
    plan: StudyPlan, cells: Cells, runs: KnownRuns, result: StudyResult
) -> dict[str, "Figure"]:
    """Every figure under the name of its file. A chart that has nothing to show is left out."""
    with need("matplotlib").rc_context(STYLE):
        found = {
            "balance-against-migrations": draw_front(result),
            "ranking": draw_ranking(result),
            "gap-to-the-bound": draw_gap(result),
        }
        if len(result.tables) > 1:
            found["candidates-by-scenario"] = draw_matrix(result)
        if groups := families(plan):
            found["sensitivity-to-thresholds"] = draw_thresholds(result, groups)
        for place, scenario in enumerate(plan.scenarios):
            pictures = [runs.pictures[cell] for cell in cells[place]]
            name = f"{place + 1:02}-{file_name(scenario.name)}"
            found[f"{name}-migrations"] = draw_moves(result, place, pictures)
            nodes = [node.name for node in scenario.nodes]
            found[f"{name}-load"] = draw_load(result, nodes, pictures)
    return found


def draw_front(result: StudyResult) -> "Figure":
    """Imbalance against migrations, with intervals, names of the notable and the Pareto front."""
    table = result.scopes[0]
    figure, axes = sheet(4.2)
    rows = sorted(table.rows, key=lambda row: importance(row, table, result))
    for row in rows:
        x, y = row.measures[MIGRATIONS], row.measures[IMBALANCE]
        axes.hlines(y.value or 0, x.low or 0, x.high or 0, color=MUTED, lw=0.6, alpha=0.6)
        axes.vlines(x.value or 0, y.low or 0, y.high or 0, color=MUTED, lw=0.6, alpha=0.6)
        axes.plot(x.value or 0, y.value or 0, **marker(row, table, result))
    front = sorted(
        (row.measures[MIGRATIONS].value or 0, row.measures[IMBALANCE].value or 0)
        for row in table.rows
        if row.on_front
    )
    axes.plot([x for x, _ in front], [y for _, y in front], "--", color=GOLD, lw=1)
    count_axis(axes, rows)
    axes.set_ylabel("imbalance, points")
    axes.set_ylim(bottom=0)
    tidy(axes)
    points = [
        Point(
            row.measures[MIGRATIONS].value or 0,
            row.measures[IMBALANCE].value or 0,
            name_of(row, table, result) if importance(row, table, result) < FEW else f"{row.rank}",
            named=importance(row, table, result) < FEW,
        )
        for row in rows
    ]
    write_labels(axes, points)
    return figure


def draw_ranking(result: StudyResult) -> "Figure":
    """Imbalance of each candidate with its interval; dashed is doing nothing."""
    table = result.scopes[0]
    rows = table.rows[:FEW]
    figure, axes = sheet(0.9 + 0.19 * len(rows))
    for place, row in enumerate(rows):
        estimate = row.measures[IMBALANCE]
        look = marker(row, table, result)
        axes.hlines(place, estimate.low or 0, estimate.high or 0, color=look["color"], lw=1.2)
        axes.plot(estimate.value or 0, place, **look)
    nothing = next(row for row in table.rows if row.candidate == NOTHING)
    axes.axvline(nothing.measures[IMBALANCE].value or 0, color=MUTED, ls="--", lw=0.8)
    row_names(axes, [f"{row.rank} {name_of(row, table, result)}" for row in rows])
    axes.set_xlabel("imbalance, points (95 % intervals); dashed: nothing is done")
    axes.set_xlim(left=0)
    return figure


def draw_gap(result: StudyResult) -> "Figure":
    """Migrations of each candidate against the fewest that any rebalancer needs."""
    table = result.scopes[0]
    rows = [row for row in table.rows if row.candidate != NOTHING][:FEW]
    figure, axes = sheet(0.9 + 0.19 * len(rows))
    moved = [row.measures[MIGRATIONS].value or 0 for row in rows]
    least = [row.measures[MINIMUM].value or 0 for row in rows]
    colours = [GOLD if row.candidate == table.pick else ACCENT for row in rows]
    axes.barh(range(len(rows)), moved, color=colours, alpha=0.7, height=0.65)
    axes.scatter(least, range(len(rows)), marker="|", s=90, color=INK, label="minimum", zorder=3)
    count_axis(axes, rows)
    for place, row in enumerate(rows):
        text = gap_text(row)
        text = f"{text}×" if text[0].isdigit() else text
        axes.annotate(
            text, (max(moved[place], least[place]), place), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=6.5, color=MUTED,
        )  # fmt: skip
    row_names(axes, [f"{row.rank} {name_of(row, table, result)}" for row in rows])
    axes.set_xlim(right=1.15 * max([1, *moved, *least]))
    axes.legend(loc="lower right")
    return figure


def draw_matrix(result: StudyResult) -> "Figure":
    """Imbalance against doing nothing, candidate by scenario; the best of each has a frame."""
    from matplotlib.patches import Rectangle

    rows = matrix(result)[:FEW]
    versus = [{row.candidate: row.versus_nothing for row in t.rows} for t in result.tables]
    values = np.array([[_percent(found[row.candidate]) for found in versus] for row in rows])
    figure, axes = sheet(1.3 + 0.19 * len(rows))
    image = axes.imshow(values, cmap="RdYlGn_r", vmin=-100, vmax=100, aspect="auto", alpha=0.8)
    for y, row in enumerate(rows):
        for x, cell in enumerate(row.cells):
            axes.text(x, y, cell.change.text, ha="center", va="center", fontsize=6.5)
            if cell.is_best:
                axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, ec=INK, lw=1.2))
    row_names(axes, [f"{row.rank} {row.label}" for row in rows])
    names = [table.scenario or "" for table in result.tables]
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    figure.colorbar(image, ax=axes, label="imbalance against doing nothing, %", shrink=0.8)
    return figure


def draw_thresholds(result: StudyResult, groups: Sequence[tuple[str, Sequence[int]]]) -> "Figure":
    """Imbalance and migrations of a score over the pairs of thresholds that it was tried with."""
    rows = {row.candidate: row for row in result.scopes[0].rows}
    pair_of = {c: result.candidates[c].thresholds or (0, 0) for _, group in groups for c in group}
    pairs = sorted(set(pair_of.values()), key=lambda pair: (pair[1], pair[0]))
    figure, (above, below) = sheet(4.4, rows=2)
    for name, group in groups:
        members = sorted(group, key=lambda c: pairs.index(pair_of[c]))
        places = [pairs.index(pair_of[c]) for c in members]
        for axes, measure in ((above, IMBALANCE), (below, MIGRATIONS)):
            estimates = [rows[c].measures[measure] for c in members]
            middle = [e.value or 0.0 for e in estimates]
            axes.errorbar(
                places, middle, _reach(estimates), marker="o", ms=3.5, lw=1, capsize=2, label=name
            )
    for axes, label in ((above, "imbalance, points"), (below, "migrations per run")):
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        tidy(axes)
    below.set_xticks(range(len(pairs)), [f"{low:g} below,\n{high:g} above" for low, high in pairs])
    above.legend(fontsize=6.5)
    return figure


def families(plan: StudyPlan) -> list[tuple[str, list[int]]]:
    """Candidates that differ in their thresholds only, at least two together."""
    found: dict[str, list[int]] = {}
    for place, candidate in enumerate(plan.candidates):
        if place != NOTHING and candidate.thresholds:
            name = family_of(candidate, plan.candidates[NOTHING])
            found.setdefault(name, []).append(place)
    return [(name, places) for name, places in found.items() if len(places) > 1]


def _percent(comparison: Comparison | None) -> float:
    return 0.0 if comparison is None else comparison.percent.value or 0.0


def _reach(estimates: Sequence[Estimate]) -> list[list[float]]:
    """How far the intervals reach below and above their values.

    An end may lie a rounding step on the other side of its value: that is no reach.
    """
    return [
        [max(0.0, (e.value or 0.0) - (e.low or 0.0)) for e in estimates],
        [max(0.0, (e.high or 0.0) - (e.value or 0.0)) for e in estimates],
    ]


# Figures of single runs: migrations so far, and the nodes' load, over time.
MOMENTS = 200


def draw_moves(result: StudyResult, place: int, pictures: Sequence[StudyPicture]) -> "Figure":
    """Migrations so far of every candidate in the same run of one scenario."""
    table = result.tables[place]
    counts = moved_so_far(pictures, MOMENTS)
    unit, word = time_unit(counts["times"][-1])
    times = [0.0, *(time / unit for time in counts["times"])]
    figure, axes = sheet(3.6)
    rows = sorted(
        (r for r in table.rows if r.candidate != NOTHING and counts["moved"][r.candidate]),
        key=lambda row: importance(row, table, result),
    )
    points = []
    for row in rows:
        moved = counts["moved"][row.candidate]
        named = importance(row, table, result) < FEW
        colour = marker(row, table, result)["color"]
        width, alpha = (1.6, 1.0) if named else (0.8, 0.5)
        axes.step(times, [0, *moved], where="post", color=colour, lw=width, alpha=alpha)
        text = name_of(row, table, result) if named else f"{row.rank}"
        points.append(Point(times[-1], moved[-1], text, named))
    axes.set_xlabel(word)
    axes.set_ylabel("migrations so far")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, times[-1] * 1.04)
    axes.set_title(table.scenario or "", fontsize=8, loc="left")
    tidy(axes)
    write_labels(axes, points)
    return figure


def draw_load(
    result: StudyResult, nodes: Sequence[str], pictures: Sequence[StudyPicture]
) -> "Figure":
    """CPU of every node over time: the pick beside doing nothing."""
    shown = list(dict.fromkeys([NOTHING, result.overall.pick, result.default]))[:2]
    height = min(6.0, 1.4 + 0.11 * len(nodes))
    figure, panels = sheet(height, columns=len(shown))
    for axes, candidate in zip(panels, shown, strict=True):
        picture = pictures[candidate]
        cpu = np.frombuffer(picture.cpu, np.uint8).reshape(-1, picture.nodes)
        unit, word = time_unit(picture.times[-1])
        image = axes.imshow(
            cpu.T, aspect="auto", vmin=0, vmax=100, cmap="RdYlBu_r", interpolation="nearest",
            extent=(0, picture.times[-1] / unit, len(nodes) - 0.5, -0.5),
        )  # fmt: skip
        axes.set_title(result.labels[candidate], fontsize=7.5, loc="left")
        axes.set_xlabel(word)
        axes.tick_params(length=2)
    step = max(1, len(nodes) // 20)
    panels[0].set_yticks(range(0, len(nodes), step), nodes[::step], fontsize=6.5)
    figure.colorbar(image, ax=panels, label="CPU used, %", shrink=0.8)
    return figure
