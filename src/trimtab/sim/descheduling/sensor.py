"""What the descheduler sees: scores of what was scraped before, not of what is.

Prometheus scrapes, its rules average the samples of the last minute, the descheduler asks
for the rules' last result. So a decision is made on loads that are up to a minute and a
half old, with VMs where they were then. Between changes a node's load is constant, so the
mean over the samples is a mean over pieces of time, weighted by the samples in each.
"""

from collections import deque
from collections.abc import Sequence
from math import ceil, inf

import numpy as np
from msgspec import Struct

from trimtab.scores import MEAN_WINDOW_S, Score, Window, evaluate, evaluate_means
from trimtab.sim.fleet import Flags, Floats, Numbers
from trimtab.sim.spec import Timing
from trimtab.sim.streams import Purpose, stream


class Pieces(Struct, frozen=True, eq=False):
    """Stretches of time in which the nodes' use was constant.

    owner: (pieces,) the replica each belongs to. In order of time within a replica, and the
        last of all replicas stand together at the end, in order.
    inputs: (pieces, columns, nodes), the columns that `scores` reads.
    """

    owner: Numbers
    start: Floats
    end: Floats
    inputs: Floats

    def add(self, values: Floats, to: Floats) -> None:
        """Add a value of each piece, (pieces, ...), to that of its replica, (replicas, ...)."""
        inner = len(self.owner) - len(to)
        for piece in range(inner):
            to[self.owner[piece]] += values[piece]
        to += values[inner:]


class Sensor:
    """Keeps as much of the past as the score looks at, for all replicas."""

    def __init__(
        self, score: Score, node_names: Sequence[str], timing: Timing, seeds: Sequence[int]
    ) -> None:
        self._score, self._timing = score, timing
        self._replicas = len(seeds)
        self._by_name = np.array(
            sorted(range(len(node_names)), key=node_names.__getitem__), dtype=np.intp
        )
        self._looks_back = score.lookback_s > MEAN_WINDOW_S
        sight = max(score.lookback_s, MEAN_WINDOW_S)
        self._samples = ceil(round(sight / timing.rules_s, 9))
        self._reach = sight + timing.rules_s + timing.scrape_s
        self._phases = np.array([phases(seed, timing) for seed in seeds])
        self._past: deque[Pieces] = deque()
        self._order: Numbers = np.zeros(0, dtype=np.intp)
        self._known: Floats = np.zeros((0, 0))
        self.seen: Floats = np.zeros((0, 0, 0))
        """(replicas, columns, nodes) the means of the last minute behind the last scores"""

    def remember(self, pieces: Pieces) -> None:
        self._past.append(pieces)

    def start_with(self, inputs: Floats) -> None:
        """Before the run nothing changed: (replicas, columns, nodes) have been so for ever."""
        ends = np.zeros(self._replicas)
        self.remember(Pieces(np.arange(self._replicas), ends - inf, ends, inputs))

    def scores(self, now: float, ready: Flags) -> Floats:
        """The scores that a query at `now` returns: (replicas, nodes), NaN for lost nodes."""
        while self._past and self._past[0].end.max() < now - self._reach:
            self._past.popleft()
        order = self._by_name if ready.all() else self._by_name[ready[self._by_name]]
        scores = np.full((self._replicas, len(ready)), np.nan)
        if len(order):
            see = self._window if self._looks_back else self._means
            scores[:, order] = see(now, order)
        return scores

    def scrapes(self, now: float) -> Floats:
        """When each sample that counts was scraped, newest first: (replicas, samples)."""
        scrape, rules = self._timing.scrape_s, self._timing.rules_s
        scrape_phase, rules_phase = self._phases[:, :1], self._phases[:, 1:]
        last_rules = rules_phase + np.floor((now - rules_phase) / rules) * rules
        evaluated = last_rules - rules * np.arange(self._samples)
        return np.asarray(scrape_phase + np.floor((evaluated - scrape_phase) / scrape) * scrape)

    def _means(self, now: float, order: Numbers) -> Floats:
        scrapes = self.scrapes(now)
        first = self._past[0].inputs
        total = np.zeros((self._replicas, *first.shape[1:]))
        for pieces in self._past:
            counts = _hits(pieces, scrapes).sum(axis=1)
            for piece in counts.nonzero()[0]:
                total[pieces.owner[piece]] += counts[piece] * pieces.inputs[piece]
        return self._evaluated(total / self._samples, order)

    def _evaluated(self, seen: Floats, order: Numbers) -> Floats:
        """Scores of the replicas whose view has changed since the last query; the rest is known."""
        same_order = order is self._order or np.array_equal(order, self._order)
        same_nodes = same_order and seen.shape == self.seen.shape
        changed = (seen != self.seen).any(axis=(1, 2)) if same_nodes else np.ones(len(seen), bool)
        if not same_nodes:
            self._known = np.empty((len(seen), len(order)))
        if changed.any():
            some = seen if changed.all() else seen[changed]
            values = some.take(order, axis=2).transpose(0, 2, 1)
            self._known[changed] = evaluate_means(self._score, values)
        self.seen, self._order = seen, order
        return self._known

    def _window(self, now: float, order: Numbers) -> Floats:
        scrapes = self.scrapes(now)
        shape = self._past[0].inputs.shape[1:]
        values = np.zeros((self._replicas, self._samples, *shape))
        for pieces in self._past:
            hits = _hits(pieces, scrapes)
            for piece in np.flatnonzero(hits.any(axis=1)):
                values[pieces.owner[piece], hits[piece]] = pieces.inputs[piece]
        newest = ceil(round(MEAN_WINDOW_S / self._timing.rules_s, 9))
        self.seen = values[:, :newest].mean(axis=1)
        times = self._timing.rules_s * np.arange(self._samples, dtype=np.float64)
        oldest_first = values[:, ::-1][..., order].transpose(0, 1, 3, 2)
        return evaluate(self._score, Window(oldest_first, times))


def phases(seed: int, timing: Timing) -> tuple[float, float]:
    """Where in its period scraping and rule evaluation start in this run."""
    scrape, rules = timing.scrape_phase_s, timing.rules_phase_s
    if timing.random_phases:
        drawn = stream(seed, Purpose.TIMER_PHASES)
        scrape += drawn.random() * timing.scrape_s
        rules += drawn.random() * timing.rules_s
    return scrape, rules


def _hits(pieces: Pieces, scrapes: Floats) -> Flags:
    """(pieces, samples): which sample was scraped during which piece.

    A scrape at the very moment of a change sees what was before it; so the one at the moment
    of a decision is of the last piece.
    """
    taken = scrapes[pieces.owner]
    return np.asarray((taken > pieces.start[:, None]) & (taken <= pieces.end[:, None]))
