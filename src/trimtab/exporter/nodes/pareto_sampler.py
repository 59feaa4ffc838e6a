"""The Pareto score of clusters too large for PromQL: now, and of the last minute's means.

Its cost grows with the square of the nodes (0.5 s for 5,000), so it is computed beside the
scrapes, in a thread, from samples taken every few seconds.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from trimtab.exporter.nodes.reading import Column, NodeFigures
from trimtab.scores import MEAN_WINDOW_S, evaluate_means, find_score

PAIRS_UP_TO = 50
"""The Pareto rules compare all pairs of nodes; above, the exporter computes the score."""
SAMPLE_S = 5.0
SHARE = 0.2
"""At most this share of the time is spent computing."""


class ParetoInputs(Struct, frozen=True, eq=False):
    """The inputs (nodes, 4) at a moment."""

    at: float
    nodes: tuple[str, ...]
    inputs: Column


class Scores(Struct, frozen=True, eq=False):
    """The score of each node by its inputs now, and by their means."""

    nodes: tuple[str, ...] = ()
    now: Column = np.zeros(0)
    mean: Column = np.zeros(0)

    def of(self, nodes: tuple[str, ...]) -> "Scores":
        """Without the nodes that have left."""
        if nodes == self.nodes:
            return self
        still = set(nodes)
        kept = [row for row, node in enumerate(self.nodes) if node in still]
        return Scores(tuple(self.nodes[row] for row in kept), self.now[kept], self.mean[kept])


class ParetoSampler:
    """Samples the readings and keeps the latest scores; times of samples are real seconds."""

    def __init__(
        self,
        read: Callable[[], NodeFigures],
        scale: Callable[[], float],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.latest = Scores()
        self._read, self._scale, self._now = read, scale, now
        self._samples: deque[ParetoInputs] = deque()

    async def run(self) -> None:
        """Sample and compute until cancelled."""
        while True:
            began = self._now()
            if self.sample():
                self.latest = await asyncio.to_thread(compute, list(self._samples))
            spent = self._now() - began
            await asyncio.sleep(max(SAMPLE_S / self._scale(), spent / SHARE))

    def sample(self) -> bool:
        """Take a sample and drop those before the window; false if nobody needs them."""
        reading, now = self._read(), self._now()
        if len(reading.nodes) <= PAIRS_UP_TO:
            self._samples.clear()
            self.latest = Scores()
            return False
        self._samples.append(ParetoInputs(now, reading.nodes, reading.inputs))
        while self._samples[0].at <= now - MEAN_WINDOW_S / self._scale():
            self._samples.popleft()
        return True


def compute(samples: list[ParetoInputs]) -> Scores:
    """The scores of the nodes of the last sample."""
    last = samples[-1]
    score = find_score("pareto_front")
    both = np.stack([last.inputs, mean_inputs(samples)])
    now, mean = evaluate_means(score, both)
    return Scores(last.nodes, now, mean)


def mean_inputs(samples: list[ParetoInputs]) -> Column:
    """The mean of each node of the last sample over those samples in which it is."""
    last = samples[-1]
    rows = {node: row for row, node in enumerate(last.nodes)}
    total, count = np.zeros_like(last.inputs), np.zeros((len(rows), 1))
    for sample in samples:
        pairs = [(rows[node], k) for k, node in enumerate(sample.nodes) if node in rows]
        here, there = (list(each) for each in zip(*pairs, strict=True)) if pairs else ([], [])
        total[here] += sample.inputs[there]
        count[here] += 1
    return np.asarray(total / count)
