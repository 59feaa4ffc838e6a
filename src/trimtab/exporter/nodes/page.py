"""The page that Prometheus scrapes: all nodes at one moment, and the exporter itself."""

import time
from collections.abc import Callable
from typing import Protocol

from trimtab.exporter import metrics
from trimtab.exporter.nodes.counters import Counters
from trimtab.exporter.nodes.exposition import render, render_fronts, render_pairs
from trimtab.exporter.nodes.ledger import NodeLedger
from trimtab.exporter.nodes.pareto_sampler import PAIRS_UP_TO, ParetoSampler
from trimtab.exporter.nodes.production import render_production
from trimtab.exporter.nodes.reading import NodeFigures, NodeReader
from trimtab.kube.clock import Clock
from trimtab.model.load.pressure_curve import PressureCurve
from trimtab.obs.metrics import exposition


class Timed(Protocol):
    """Whatever knows the nodes, how fast their curves go, and how they press."""

    @property
    def ledger(self) -> NodeLedger: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def pressure(self) -> PressureCurve: ...


class WallClock:
    """Milliseconds since 1970 that never go back, whatever is done to the computer's clock."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now, self._last = now, 0

    def ms(self) -> int:
        self._last = max(self._last, int(self._now() * 1000))
        return self._last


class MetricsPage:
    """Writes the metrics of one source; with `production` also what real nodes would say."""

    def __init__(
        self, timed: Timed, *, production: bool = False, now: Callable[[], float] = time.time
    ) -> None:
        self._timed = timed
        self._wall = WallClock(now)
        self._reader = NodeReader(timed.ledger)
        self.fronts = ParetoSampler(self.reading, lambda: timed.clock.scale)
        self.counters: Counters | None = None
        if production:
            self.counters = Counters(
                timed.ledger, lambda: timed.clock, lambda: timed.pressure, self._wall.ms
            )

    def curve_time(self) -> float:
        return self._timed.clock.lab_s(self._wall.ms() / 1000)

    def reading(self) -> NodeFigures:
        """All nodes at this moment."""
        return self._reader.read(self.curve_time(), self._timed.pressure)

    def text(self) -> bytes:
        """The whole page."""
        with metrics.render_seconds.time():
            nodes = self.nodes()
        return nodes.encode() + exposition()

    def nodes(self) -> str:
        """Everything about nodes."""
        reading = self.reading()
        parts = [render(reading), self._pareto(reading), self._time_scale()]
        if self.counters is not None:
            at_ms = self._wall.ms()
            table = self.counters.read(reading, at_ms)
            parts.append(render_production(reading, self._timed.ledger, table, at_ms))
        return "".join(parts)

    def _pareto(self, reading: NodeFigures) -> str:
        if len(reading.nodes) <= PAIRS_UP_TO:
            return render_pairs(reading.nodes)
        scores = self.fronts.latest.of(reading.nodes)
        return render_fronts(scores.nodes, scores.now, scores.mean)

    def _time_scale(self) -> str:
        name = "trimtab_time_scale"
        text = "Seconds of curve time in each real second."
        return f"# HELP {name} {text}\n# TYPE {name} gauge\n{name} {self._timed.clock.scale!r}\n"
