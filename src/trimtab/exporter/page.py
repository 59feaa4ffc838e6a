"""The page that Prometheus scrapes: all nodes at one moment, and the exporter itself."""

import time
from collections.abc import Callable
from typing import Protocol

from trimtab.exporter import metrics
from trimtab.exporter.clock import Clock
from trimtab.exporter.exposition import render, render_pairs
from trimtab.exporter.ledger import Ledger
from trimtab.exporter.reading import Reader, Reading
from trimtab.model.pressure import DEFAULT_PRESSURE, PressureCurve
from trimtab.obs.metrics import exposition

PAIRS_UP_TO = 50
"""The Pareto rules compare all pairs of nodes; above, the exporter computes the score."""


class Timed(Protocol):
    """Whatever knows how fast curves go."""

    @property
    def clock(self) -> Clock: ...


class Page:
    """Writes the metrics of one ledger."""

    def __init__(
        self,
        ledger: Ledger,
        timed: Timed,
        *,
        pressure: PressureCurve = DEFAULT_PRESSURE,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.reader = Reader(ledger, pressure)
        self._timed = timed
        self._now = now

    def reading(self) -> Reading:
        return self.reader.read(self._timed.clock.curve_time(self._now()))

    def text(self) -> bytes:
        """The whole page."""
        with metrics.render_seconds.time():
            nodes = self.nodes()
        return nodes.encode() + exposition()

    def nodes(self) -> str:
        """Everything about nodes."""
        reading = self.reading()
        parts = [render(reading)]
        if len(reading.nodes) <= PAIRS_UP_TO:
            parts.append(render_pairs(reading.nodes))
        parts.append(
            "# HELP trimtab_time_scale Seconds of curve time in each real second.\n"
            f"# TYPE trimtab_time_scale gauge\ntrimtab_time_scale {self._timed.clock.scale!r}\n"
        )
        return "".join(parts)
