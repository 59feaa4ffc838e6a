"""Bars and lines of blocks, as wide as a table has room for."""

from math import ceil
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from rich.text import Text

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "·▁▂▃▄▅▆▇█"


class Bar(Struct, frozen=True):
    """A share as a bar; what exceeds the whole is marked at its end."""

    share: float | None
    widest: int = 16
    least: int = 4
    style: Literal["plain", "filled"] = "plain"
    """filled: the rest is shown too, and the colour tells how full it is."""

    def draw(self, width: int) -> Text:
        if self.share is None:
            return Text("no sample"[:width] if width >= len("no sample") else "–", style="dim")
        return self._filled(width) if self.style == "filled" else Text(self._eighths(width))

    def _eighths(self, width: int) -> str:
        share = self.share or 0.0
        room = width - 1  # the mark
        eighths = round(min(max(share, 0.0), 1.0) * room * 8)
        text = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        return f"{text:<{room}}" + ("▶" if share > 1.0 else " ")

    def _filled(self, width: int) -> Text:
        share = self.share or 0.0
        full = round(min(1.0, max(0.0, share)) * width)
        colour = "red" if share > 0.85 else "yellow" if share > 0.6 else "green"
        return Text.assemble(("█" * full, colour), ("░" * (width - full), "dim"))


class Spark(Struct, frozen=True):
    """Values over time: one character per group of neighbours, which shows the largest of them."""

    values: NDArray[np.float64]
    top: float | None = None
    """What the tallest block means; the largest value if left out."""
    widest: int = 60
    least: int = 12

    def draw(self, width: int) -> Text:
        return Text(sparkline(buckets(self.values, width), self.top))


def sparkline(values: NDArray[np.float64], top: float | None = None) -> str:
    """One character per value, a dot for 0, the tallest for `top` or the largest value."""
    most = top if top is not None else float(values.max(initial=0.0))
    if most <= 0.0:
        return _LEVELS[0] * len(values)
    tallest = len(_LEVELS) - 1
    steps = np.minimum(np.ceil(values / most * tallest).astype(int), tallest)
    return "".join(_LEVELS[step] for step in steps)


def buckets(values: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    """The values in at most `columns` groups of neighbours: the largest of each."""
    size = max(1, ceil(len(values) / columns))
    return np.array([values[i : i + size].max() for i in range(0, len(values), size)])
