"""Labels beside points that cover neither each other nor the points."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DISTANCES = (5, 12, 22, 34, 48, 64, 84, 110)  # from the point, in points of print
_TURNS = 16
_FAR = 14  # from here on a line leads to the point


class Point(Struct, frozen=True):
    """A point in the units of the data, and what to write beside it."""

    x: float
    y: float
    text: str
    named: bool
    """A name may stand away from its point; a mere rank is left out where it does not fit."""


class _Box(Struct, frozen=True):
    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def inside(self, other: "_Box") -> bool:
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.bottom >= other.bottom
            and self.top <= other.top
        )


def write_labels(axes: "Axes", points: Sequence[Point], colour: str = "#1a1f24") -> list[str]:
    """Write what fits, the first points first; the texts that were written.

    Call it last: limits of the axes and the figure's layout must not change any more.
    """
    from matplotlib.text import Text

    figure: Any = axes.get_figure(root=True)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    unit = figure.dpi / 72
    area = _box_of(axes.get_window_extent(renderer), 1)
    marks = [axes.transData.transform((point.x, point.y)) for point in points]
    dots = [_Box(x - 3 * unit, y - 3 * unit, x + 3 * unit, y + 3 * unit) for x, y in marks]
    taken: list[_Box] = []
    written = []
    for point, (x, y) in zip(points, marks, strict=True):
        size = 7.5 if point.named else 6.5
        probe = Text(0, 0, point.text, fontsize=size, figure=figure)
        extent = probe.get_window_extent(renderer)
        place = _place(point, (x, y), (extent.width, extent.height), area, taken, dots, unit)
        if place is None:
            continue
        box, distance = place
        taken.append(box)
        written.append(point.text)
        label = axes.annotate(
            point.text,
            (point.x, point.y),
            xytext=((box.left - x) / unit, (box.bottom - y) / unit),
            textcoords="offset points",
            fontsize=size,
            color=colour if point.named else "#5f6b76",
            va="bottom",
            bbox={"fc": "white", "alpha": 0.7, "lw": 0, "pad": 0.3},
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "#98a4ae", "shrinkB": 2}
            if distance > _FAR
            else None,
        )
        label.set_in_layout(False)  # or the layout would move what was measured
    return written


def _place(
    point: Point,
    mark: tuple[float, float],
    size: tuple[float, float],
    area: _Box,
    taken: Sequence[_Box],
    dots: Sequence[_Box],
    unit: float,
) -> tuple[_Box, float] | None:
    for box, distance in _around(mark, size, unit):
        if not point.named and distance > _DISTANCES[0]:
            return None
        if not box.inside(area) or any(box.meets(other) for other in taken):
            continue
        if not any(box.meets(dot) for dot in dots):
            return box, distance
    return None


def _around(
    mark: tuple[float, float], size: tuple[float, float], unit: float
) -> Iterator[tuple[_Box, float]]:
    """Places round a point, nearest first: right, then against the clock."""
    (x, y), (width, height) = mark, size
    for distance in _DISTANCES:
        for turn in range(_TURNS):
            angle = 2 * math.pi * turn / _TURNS
            dx, dy = math.cos(angle), math.sin(angle)
            left = x + distance * unit * dx - width * (1 - dx) / 2
            bottom = y + distance * unit * dy - height * (1 - dy) / 2
            yield _Box(left, bottom, left + width, bottom + height), distance


def _box_of(extent: Any, margin: float) -> _Box:
    x0, y0, x1, y1 = extent.extents
    return _Box(x0 + margin, y0 + margin, x1 - margin, y1 - margin)
