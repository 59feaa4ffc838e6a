"""Counters as a real node would have them: time idle and busy, time spent waiting.

They add up over real time from change to change, never from scrape to scrape, so a value
depends on the moment alone and not on who asked before. Where load follows curves, time is
cut into seconds and each second takes its exact mean: the rate within a second is constant,
so nothing can run backwards. Everything is whole nanoseconds: sums do not depend on order.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.exporter.nodes.ledger import NodeBook, NodeLedger
from trimtab.exporter.nodes.reading import Column, NodeFigures
from trimtab.kube.clock import Clock
from trimtab.model.load.curve_means import means
from trimtab.model.load.pressure import pressure
from trimtab.model.load.pressure_curve import PressureCurve

CELL_MS = 1000
NS_PER_MS = 1_000_000
OWN_SHARE = 1e-6
"""What a node uses for itself. Prometheus subtracts large rounded numbers: an idle node could
seem idle for more than all of the time, and a negative load stops the descheduler."""

Table = NDArray[np.int64]
"""(nodes, 4) nanoseconds: idle, busy, waiting for CPU, waiting for memory"""


@dataclass(slots=True)
class CounterAccount:
    """Nanoseconds up to `since_ms`."""

    since_ms: int
    began_ms: int
    busy: int = 0
    cpu_waiting: int = 0
    memory_waiting: int = 0

    def row(self, now_ms: int, more: NDArray[np.int64]) -> tuple[int, int, int, int]:
        busy = self.busy + int(more[0])
        idle = (now_ms - self.began_ms) * NS_PER_MS - busy
        return idle, busy, self.cpu_waiting + int(more[1]), self.memory_waiting + int(more[2])

    def close(self, until_ms: int, more: NDArray[np.int64]) -> None:
        self.since_ms = until_ms
        self.busy += int(more[0])
        self.cpu_waiting += int(more[1])
        self.memory_waiting += int(more[2])


class Counters:
    """The accounts of a ledger's nodes; a node that comes back begins at 0, as after a boot."""

    def __init__(
        self,
        ledger: NodeLedger,
        clock: Callable[[], Clock],
        curve: Callable[[], PressureCurve],
        now_ms: Callable[[], int],
    ) -> None:
        self._ledger, self._clock, self._curve, self._now_ms = ledger, clock, curve, now_ms
        self._accounts: dict[str, CounterAccount] = {}
        ledger.before_change = self.settle
        self.settle_all()

    def settle(self, name: str, book: NodeBook) -> None:
        """Add up what was until now: the node's numbers are about to change."""
        now_ms = self._now_ms()
        account = self._accounts.get(name)
        if account is None or not book.measurable:
            self._accounts[name] = CounterAccount(now_ms, now_ms)
        elif now_ms > account.since_ms:
            account.close(now_ms, self._since(account, book, now_ms))

    def settle_all(self) -> None:
        """The same for all nodes: curves are about to go on at another pace."""
        for name, book in self._ledger.nodes.items():
            self.settle(name, book)

    def read(self, reading: NodeFigures, now_ms: int) -> Table:
        """All counters at a moment that is not before the last change; `reading` is of then."""
        books = self._ledger.nodes
        self._accounts = {name: a for name, a in self._accounts.items() if name in books}
        accounts = [self._accounts[name] for name in reading.nodes]
        spans = np.array([now_ms - account.since_ms for account in accounts], np.int64)
        more = _grown(reading.usage, reading.psi, spans)
        for row, name in enumerate(reading.nodes):
            if books[name].curves:
                more[row] = self._in_this_second(accounts[row], books[name], now_ms)
        rows = [account.row(now_ms, more[row]) for row, account in enumerate(accounts)]
        return np.array(rows, np.int64).reshape(-1, 4)

    def _in_this_second(
        self, account: CounterAccount, book: NodeBook, now_ms: int
    ) -> NDArray[np.int64]:
        """What has been added in the second under way, the full ones before it put away."""
        begun = now_ms // CELL_MS * CELL_MS
        if begun > account.since_ms:
            account.close(begun, self._since(account, book, begun))
        return self._since(account, book, now_ms)

    def _since(self, account: CounterAccount, book: NodeBook, now_ms: int) -> NDArray[np.int64]:
        """(3,) busy, waiting for CPU, waiting for memory since the account was closed."""
        edges = _edges(account.since_ms, now_ms, cut=bool(book.curves))
        usage = self._usage(book, edges)
        spans = np.diff(np.minimum(edges, now_ms))
        total: NDArray[np.int64] = _grown(usage, pressure(usage, self._curve()), spans).sum(axis=0)
        return total

    def _usage(self, book: NodeBook, edges: Table) -> Column:
        """(cells, 2) the mean share of CPU and memory between neighbouring edges."""
        clock = self._clock()
        assert book.facts is not None
        usage = np.tile(np.array(book.ratios(book.fixed)), (len(edges) - 1, 1))
        times = (edges / 1000 - clock.epoch) * clock.scale
        if times[0] < 0:  # a curve before its beginning is as at its beginning
            times = np.maximum(times, 0.0) + np.arange(len(times)) * 1e-9
        sizes = (book.facts.cores, book.facts.bytes)
        for each in book.curves.values():
            load = each.load
            assert load is not None
            if each.runs:
                usage[:, 0] += means(load.cpu, times) * (load.cores / sizes[0])
            if each.carries_memory:
                usage[:, 1] += means(load.memory, times) * (load.bytes / sizes[1])
        return usage


def _edges(since_ms: int, now_ms: int, *, cut: bool) -> Table:
    """From the account's last change over every full second to the end of the one begun."""
    if not cut:
        return np.array([since_ms, max(now_ms, since_ms + 1)])
    first = since_ms // CELL_MS + 1
    last = now_ms // CELL_MS + 1
    return np.concatenate([[since_ms], np.arange(first, last + 1) * CELL_MS])


def _grown(usage: Column, psi: Column, spans_ms: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, 3) nanoseconds busy, waiting for CPU and waiting for memory within each span."""
    shares = np.column_stack([np.clip(usage[:, 0], OWN_SHARE, 1.0), psi])
    return np.floor(shares * (spans_ms * NS_PER_MS)[:, np.newaxis]).astype(np.int64)
