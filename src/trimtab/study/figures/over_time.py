"""Figures of single runs: migrations so far, and the nodes' load, over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trimtab.study.figures.labels import Point, write_labels
from trimtab.study.figures.looks import FEW, importance, marker, name_of, sheet, tidy, time_unit
from trimtab.study.report.data import moved_so_far
from trimtab.study.results.ranking import NOTHING
from trimtab.study.results.record import Picture
from trimtab.study.results.result import StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOMENTS = 200


def draw_moves(result: StudyResult, place: int, pictures: Sequence[Picture]) -> "Figure":
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


def draw_load(result: StudyResult, nodes: Sequence[str], pictures: Sequence[Picture]) -> "Figure":
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
