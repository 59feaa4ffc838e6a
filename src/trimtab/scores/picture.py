"""A small picture of a score: its value for one node as two of its inputs vary.

Five nodes; four stay as they are, the fifth is where the cell is. Bands of a tenth, so that a
picture is a handful of paths and the same on every platform.
"""

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.scores.arrays.evaluate import evaluate
from trimtab.scores.arrays.window import Floats, Window
from trimtab.scores.score import Score

COLUMNS, ROWS, CELL = 36, 24, 6
BANDS = 10
STEP_S = 15.0
MINUTES = 11
# From pale to dark, so that it reads in black and white as well.
COLOURS = (
    "#fff7dc", "#fee9b2", "#fdd488", "#fbba68", "#f59b56",
    "#e87a52", "#d25a57", "#b13f5f", "#872c62", "#571f57",
)  # fmt: skip
# CPU usage and memory usage of the four that stay as they are.
OTHERS = ((0.2, 0.5), (0.3, 0.4), (0.4, 0.3), (0.5, 0.6))


class PictureSamples(Struct, frozen=True):
    """What the axes are, and the samples (cells, samples, nodes, 6) of a window for them."""

    across: str
    up: str
    high_across: float
    low_up: float
    high_up: float
    samples: Callable[[Floats, Floats], Floats]


def picture(score: Score) -> str:
    """The score as an SVG."""
    scene = _scene(score)
    x = np.linspace(0, scene.high_across, COLUMNS)
    y = np.linspace(scene.low_up, scene.high_up, ROWS)
    grid_x, grid_y = (axis.reshape(-1) for axis in np.meshgrid(x, y))
    values = scene.samples(grid_x, grid_y)
    times = np.arange(values.shape[1], dtype=np.float64) * STEP_S
    scores = evaluate(score, Window(values, times))[:, -1].reshape(ROWS, COLUMNS)
    bands = np.minimum(np.floor(scores * BANDS + 1e-6), BANDS - 1).astype(int)
    return _svg(score.name, scene, bands[::-1])


def _scene(score: Score) -> PictureSamples:
    if score.reach_s:
        return PictureSamples(
            "CPU usage in the last minute", "CPU usage before", 1.2, 0, 1.2, _past
        )
    if score.reads_migrations:
        return PictureSamples("CPU usage", "CPU in flight", 1.2, -0.6, 0.6, _in_flight)
    return PictureSamples("CPU usage", "memory usage", 1.2, 0, 1, _usage)


def _still(cpu: Floats, memory: Floats) -> Floats:
    """One sample; pressure sets in at 70 % CPU and 80 % memory usage."""
    nodes = np.zeros((len(cpu), 1, len(OTHERS) + 1, 6))
    for k, (other_cpu, other_memory) in enumerate(OTHERS):
        nodes[:, 0, k, 0], nodes[:, 0, k, 2] = other_cpu, other_memory
    nodes[:, 0, -1, 0], nodes[:, 0, -1, 2] = cpu, memory
    nodes[:, 0, -1, 1] = np.clip((cpu - 0.7) / 0.6, 0, 1)
    nodes[:, 0, -1, 3] = np.clip((memory - 0.8) / 0.4, 0, 1)
    return nodes


def _usage(x: Floats, y: Floats) -> Floats:
    return _still(x, y)


def _in_flight(x: Floats, y: Floats) -> Floats:
    nodes = _still(x, np.full_like(x, 0.5))
    nodes[:, 0, -1, 4] = y
    return nodes


def _past(x: Floats, y: Floats) -> Floats:
    minute = round(60 / STEP_S)
    memory = np.full_like(x, 0.5)
    before, now = _still(y, memory), _still(x, memory)
    return np.concatenate([before] * (minute * (MINUTES - 1)) + [now] * minute, axis=1)


def _svg(name: str, scene: PictureSamples, bands: NDArray[np.int_]) -> str:
    width, height = COLUMNS * CELL, ROWS * CELL
    paths = "\n".join(
        f'<path fill="{colour}" d="{path}"/>'
        for band, colour in enumerate(COLOURS)
        if (path := _path(bands == band))
    )
    ticks = (
        f'<text x="0" y="{height + 12}">0</text>'
        f'<text x="{width}" y="{height + 12}" text-anchor="end">{scene.high_across:g}</text>'
        f'<text x="{width / 2:g}" y="{height + 12}" text-anchor="middle">{scene.across}</text>'
        f'<text x="-4" y="{height}" text-anchor="end">{scene.low_up:g}</text>'
        f'<text x="-4" y="8" text-anchor="end">{scene.high_up:g}</text>'
        f'<text transform="translate(-8 {height / 2:g}) rotate(-90)" text-anchor="middle">'
        f"{scene.up}</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-30 -6 {width + 64} {height + 26}" '
        f'width="{2 * (width + 64) // 2}" font-family="sans-serif" font-size="10" fill="#777" '
        f'role="img" aria-label="{name} over {scene.across} and {scene.up}">\n'
        f"{paths}\n{_legend(width, height)}\n{ticks}\n</svg>\n"
    )


def _path(cells: NDArray[np.bool_]) -> str:
    """Runs of cells in each row, as rectangles of one path."""
    parts = []
    for row, line in enumerate(cells):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(int)))
        for start, end in edges.reshape(-1, 2).tolist():
            length = (end - start) * CELL
            parts.append(f"M{start * CELL} {row * CELL}h{length}v{CELL}h-{length}z")
    return "".join(parts)


def _legend(width: int, height: int) -> str:
    size = height // BANDS
    boxes = "".join(
        f'<rect x="{width + 8}" y="{size * (BANDS - 1 - k)}" width="8" height="{size}" fill="{c}"/>'
        for k, c in enumerate(COLOURS)
    )
    return (
        f'{boxes}<text x="{width + 19}" y="8">1</text>'
        f'<text x="{width + 19}" y="{size * BANDS}">0</text>'
    )
