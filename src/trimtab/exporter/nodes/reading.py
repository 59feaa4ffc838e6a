"""One look at all nodes: the five numbers of each, and what is moving between them.

Computed for all nodes at once, because the pressure curve and the Pareto front are array
functions. What does not depend on time is kept in columns and only patched where a pod
changed, so 5,000 nodes without curves take well under a millisecond.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.exporter.nodes.consumption import BYTES, CORES, Amounts, PodContribution, PodRole
from trimtab.exporter.nodes.ledger import NodeBook, NodeLedger
from trimtab.model.load.pressure import pressure
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE, PressureCurve

Column = NDArray[np.float64]
Flow = tuple[float, float]
"""CPU and memory as shares of a node"""
_REFERENCE = np.array([CORES, BYTES])


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """Columns over `nodes`, which are in name order; `usage` and `psi` are (nodes, 2)."""

    nodes: tuple[str, ...]
    usage: Column
    """CPU and memory in use, as shares of the node"""
    psi: Column
    vms: Sequence[int]
    leaving: dict[int, Flow]
    """By place in `nodes`: VMs that are to leave"""
    arriving: dict[int, Flow]

    @property
    def inputs(self) -> Column:
        """(nodes, 4) in the order that the scores expect."""
        return np.stack([self.usage, self.psi], axis=-1).reshape(-1, 4)


class NodeReader:
    """Looks at one ledger, again and again."""

    def __init__(self, ledger: NodeLedger) -> None:
        self._ledger, self._changes = ledger, ledger.follow()
        self._nodes: tuple[str, ...] = ()
        self._rows: dict[str, int] = {}
        self._books: list[NodeBook] = []
        self._fixed = np.zeros((0, 2), np.int64)
        self._sizes = np.ones((0, 2))
        self._vms = np.zeros(0, np.int64)
        self._curved: set[int] = set()
        self._moving: set[int] = set()

    def read(self, time: float, curve: PressureCurve = DEFAULT_PRESSURE) -> NodeFigures:
        """How all measurable nodes are at a moment of curve time."""
        self._catch_up()
        amounts = self._fixed
        if self._curved:
            amounts = amounts.copy()
            for row in self._curved:
                amounts[row] = self._books[row].amounts(time)
        usage = amounts * _REFERENCE / self._sizes
        leaving, arriving = self._in_flight(time)
        psi = pressure(usage, curve)
        return NodeFigures(self._nodes, usage, psi, self._vms.tolist(), leaving, arriving)

    def _catch_up(self) -> None:
        changed = self._changes.take()
        if changed is None:
            self._start_anew()
        if changed is None or 2 * len(changed) > len(self._nodes):
            self._patch(range(len(self._nodes)))  # in order, which is twice as quick
        elif changed:
            self._patch([self._rows[name] for name in changed if name in self._rows])

    def _start_anew(self) -> None:
        self._nodes = tuple(self._ledger.measurable())
        self._rows = {name: row for row, name in enumerate(self._nodes)}
        self._books = [self._ledger.nodes[name] for name in self._nodes]
        sizes = [book.facts.sizes for book in self._books if book.facts is not None]
        self._sizes = np.array(sizes).reshape(-1, 2)
        self._fixed = np.zeros((len(sizes), 2), np.int64)
        self._vms = np.zeros(len(sizes), np.int64)
        self._curved, self._moving = set(), set()

    def _patch(self, rows: Sequence[int]) -> None:
        books = [self._books[row] for row in rows]
        self._fixed[rows, 0] = [book.fixed_cpu for book in books]
        self._fixed[rows, 1] = [book.fixed_memory for book in books]
        self._vms[rows] = [book.vms for book in books]
        self._curved.difference_update(rows)
        self._moving.difference_update(rows)
        self._curved.update([row for row, book in zip(rows, books, strict=True) if book.curves])
        self._moving.update([row for row, book in zip(rows, books, strict=True) if book.moving])

    def _in_flight(self, time: float) -> tuple[dict[int, Flow], dict[int, Flow]]:
        leaving, arriving = {}, {}
        for row in self._moving:
            book = self._books[row]
            out, into = _flows(book.moving.values(), time)
            leaving[row], arriving[row] = book.ratios(out), book.ratios(into)
        return leaving, arriving


def _flows(contributions: Iterable[PodContribution], time: float) -> tuple[Amounts, Amounts]:
    """What leaves a node, and what arrives; memory that is copied is carried there already."""
    out = into = Amounts()
    for each in contributions:
        if each.role is PodRole.LEAVING:
            out = out.plus(each.whole(time))
        else:
            into = into.plus(Amounts(each.whole(time).cpu, 0))
    return out, into
