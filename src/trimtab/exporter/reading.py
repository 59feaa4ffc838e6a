"""One look at all nodes: the five numbers of each, and what is moving between them.

Computed for all nodes at once, because the pressure curve and the Pareto front are array
functions. What does not depend on time is kept in columns and only patched where a pod
changed, so 5,000 nodes without curves take well under a millisecond.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.exporter.consumption import BYTES, CORES, Amounts, Contribution, Role
from trimtab.exporter.ledger import Ledger
from trimtab.model.pressure import DEFAULT_PRESSURE, PressureCurve, pressure

Column = NDArray[np.float64]
_REFERENCE = np.array([CORES, BYTES])


@dataclass(frozen=True, slots=True)
class Reading:
    """Columns over `nodes`, which are in name order; `usage` and `psi` are (nodes, 2)."""

    nodes: tuple[str, ...]
    usage: Column
    """CPU and memory in use, as shares of the node"""
    psi: Column
    vms: Sequence[int]
    leaving: dict[int, tuple[float, float]]
    """By place in `nodes`: CPU and memory of VMs that are to leave, as shares of the node"""
    arriving: dict[int, tuple[float, float]]

    @property
    def inputs(self) -> Column:
        """(nodes, 4) in the order that the scores expect."""
        return np.stack([self.usage, self.psi], axis=-1).reshape(-1, 4)


class Reader:
    """Looks at one ledger, again and again."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._changes = ledger, ledger.follow()
        self._nodes: tuple[str, ...] = ()
        self._rows: dict[str, int] = {}
        self._fixed = np.zeros((0, 2), np.int64)
        self._sizes = np.ones((0, 2))
        self._vms: list[int] = []
        self._curved: set[int] = set()
        self._moving: set[int] = set()

    def read(self, time: float, curve: PressureCurve = DEFAULT_PRESSURE) -> Reading:
        """How all measurable nodes are at a moment of curve time."""
        self._catch_up()
        amounts = self._fixed
        if self._curved:
            amounts = amounts.copy()
            for row in self._curved:
                amounts[row] = self._ledger.nodes[self._nodes[row]].amounts(time)
        usage = amounts * _REFERENCE / self._sizes
        leaving, arriving = self._in_flight(time)
        psi = pressure(usage, curve)
        return Reading(self._nodes, usage, psi, tuple(self._vms), leaving, arriving)

    def _catch_up(self) -> None:
        changed = self._changes.take()
        if changed is None:
            self._start_anew()
        for name in self._nodes if changed is None else changed:
            if name in self._rows:
                self._patch(name, self._rows[name])

    def _start_anew(self) -> None:
        self._nodes = tuple(self._ledger.measurable())
        self._rows = {name: row for row, name in enumerate(self._nodes)}
        count = len(self._nodes)
        self._fixed, self._sizes = np.zeros((count, 2), np.int64), np.ones((count, 2))
        self._vms = [0] * count
        self._curved, self._moving = set(), set()

    def _patch(self, name: str, row: int) -> None:
        book = self._ledger.nodes[name]
        assert book.facts is not None
        self._fixed[row] = book.fixed
        self._sizes[row] = book.facts.sizes
        self._vms[row] = book.vms
        (self._curved.add if book.curves else self._curved.discard)(row)
        (self._moving.add if book.moving else self._moving.discard)(row)

    def _in_flight(
        self, time: float
    ) -> tuple[dict[int, tuple[float, float]], dict[int, tuple[float, float]]]:
        leaving, arriving = {}, {}
        for row in self._moving:
            book = self._ledger.nodes[self._nodes[row]]
            out, into = _flows(book.moving.values(), time)
            leaving[row], arriving[row] = book.ratios(out), book.ratios(into)
        return leaving, arriving


def _flows(contributions: Iterable[Contribution], time: float) -> tuple[Amounts, Amounts]:
    """What leaves a node, and what arrives; memory that is copied is carried there already."""
    out = into = Amounts()
    for each in contributions:
        if each.role is Role.LEAVING:
            out = out.plus(each.whole(time))
        else:
            into = into.plus(Amounts(each.whole(time).cpu, 0))
    return out, into
