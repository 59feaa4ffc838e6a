"""What every VM uses in each slice of the run: means of its curves, in whole units.

Curves that many VMs share are evaluated once. The loads depend on the scenario alone, so
all seeds share them; they are computed slice by slice and never stored for the whole run.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.model.load.columns import shared_table
from trimtab.model.load.curve import Constant, Curve, Diurnal, Trace, value_at
from trimtab.model.load.curve_means import mean_matrix
from trimtab.sim.fleet import Fleet, Floats, Numbers, kinds_of

Key = tuple[object, ...]
MEANS_AT_ONCE = 8_000_000  # 64 MB
FEW_CURVES = 4
"""From so many VMs a curve on, loads are computed for each curve and size, then handed out."""


class _Constants:
    """Curves that never change."""

    def __init__(self, curves: Sequence[Curve], edges: Floats) -> None:
        self._values = np.array([curve.value for curve in curves if isinstance(curve, Constant)])

    def at_the_start(self) -> Floats:
        return self._values

    def key(self, slice_: int) -> Key:
        return ()

    def means(self, slice_: int) -> Floats:
        return self._values


class _Traces:
    """Recorded curves of one interval and length: a slice is a weighted mean of few rows."""

    def __init__(self, curves: Sequence[Trace], edges: Floats) -> None:
        first = curves[0]
        self._edges, self._interval, self._repeat = edges, first.interval, first.repeat
        self._count = len(first.values)
        self._rows: NDArray[np.floating[Any]]
        shared = shared_table(curves)
        self._picked: Numbers | None = None
        """The columns of a shared table; None where all of them are meant, in order."""
        if shared is None:
            self._rows = np.array([curve.values for curve in curves], dtype=np.float64).T.copy()
        else:
            self._rows, picked = shared
            if not np.array_equal(picked, np.arange(self._rows.shape[1])):
                self._picked = picked
        self._traces = len(curves)

    def at_the_start(self) -> Floats:
        return self._values(0)

    def _values(self, row: int) -> Floats:
        values = self._rows[row]
        return np.asarray(values if self._picked is None else values[self._picked], np.float64)

    def key(self, slice_: int) -> tuple[tuple[int, float], ...]:
        """The rows that the slice touches, each with its share of the slice."""
        start, end = float(self._edges[slice_]), float(self._edges[slice_ + 1])
        step = self._interval
        first, last = int(start // step), max(int(start // step), int(np.ceil(end / step)) - 1)
        if first == last:
            return ((self._row(first), 1.0),)
        shares = (
            (min(end, (index + 1) * step) - max(start, index * step)) / (end - start)
            for index in range(first, last + 1)
        )
        return tuple(zip(map(self._row, range(first, last + 1)), shares, strict=True))

    def _row(self, index: int) -> int:
        return index % self._count if self._repeat else min(index, self._count - 1)

    def means(self, slice_: int) -> Floats:
        shares = self.key(slice_)
        if len(shares) == 1:
            return self._values(shares[0][0])
        total = np.zeros(self._traces)
        for row, share in shares:
            total += self._values(row) * share
        return total


class _Cosines:
    """Diurnal curves: the mean of a cosine in closed form."""

    def __init__(self, curves: Sequence[Diurnal], edges: Floats) -> None:
        self._edges = edges
        low, high = (np.array([getattr(c, side) for c in curves]) for side in ("low", "high"))
        self._middle, self._swing = (high + low) / 2, (high - low) / 2
        self._turn = 2 * np.pi / np.array([curve.period for curve in curves])
        self._peak_at = np.array([curve.peak_at for curve in curves])
        self._first = _first_values(curves)

    def at_the_start(self) -> Floats:
        return self._first

    def key(self, slice_: int) -> Key:
        return (slice_,)

    def means(self, slice_: int) -> Floats:
        start, end = self._edges[slice_], self._edges[slice_ + 1]
        rise = np.sin(self._turn * (end - self._peak_at))
        rise -= np.sin(self._turn * (start - self._peak_at))
        mean = self._middle + self._swing * rise / (self._turn * (end - start))
        return np.asarray(np.maximum(mean, 0.0))


class _Table:
    """Everything else, curve by curve, for many slices at a time."""

    def __init__(self, curves: Sequence[Curve], edges: Floats) -> None:
        self._curves, self._edges = curves, edges
        self._length = max(64, MEANS_AT_ONCE // len(curves))
        self._read(0)

    def at_the_start(self) -> Floats:
        return _first_values(self._curves)

    def _read(self, first: int) -> None:
        self._first = first
        self._rows = mean_matrix(self._curves, self._edges[first : first + self._length + 1]).T
        moved = np.any(self._rows[1:] != self._rows[:-1], axis=1)
        self._version = np.concatenate([[0], np.cumsum(moved)])

    def key(self, slice_: int) -> Key:
        if not self._first <= slice_ < self._first + self._length:
            self._read(slice_ - slice_ % self._length)
        return (self._first, int(self._version[slice_ - self._first]))

    def means(self, slice_: int) -> Floats:
        return np.asarray(self._rows[slice_ - self._first])


def _first_values(curves: Sequence[Curve]) -> Floats:
    return np.array([value_at(curve, 0.0) for curve in curves], dtype=np.float64)


Group = _Constants | _Traces | _Cosines | _Table


class _Resource:
    """One resource of all VMs."""

    def __init__(self, curves: Sequence[Curve], sizes: Floats, edges: Floats) -> None:
        distinct, curve_of = kinds_of(curves, id)
        kinds, kind = kinds_of(distinct, _kind)
        order = np.argsort(kind, kind="stable")
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        members = np.split(order, np.cumsum(np.bincount(kind, minlength=len(kinds)))[:-1])
        self._groups = [
            _group([distinct[at] for at in some.tolist()], edges) for some in members if len(some)
        ]
        self._pick = position[curve_of]
        self._sizes, self._by_pair = sizes, False
        """By pair: `_pick` goes over the loads of each curve at each size, not over the curves."""
        if FEW_CURVES * len(distinct) <= len(sizes):
            different, size_of = np.unique(sizes, return_inverse=True)
            if FEW_CURVES * len(distinct) * len(different) <= len(sizes):
                self._pick = self._pick * len(different) + size_of
                self._sizes, self._by_pair = different, True

    def key(self, slice_: int) -> Key:
        return tuple(group.key(slice_) for group in self._groups)

    def loads(self, slice_: int) -> Floats:
        return self._rounded([group.means(slice_) for group in self._groups])

    def at_the_start(self) -> Floats:
        return self._rounded([group.at_the_start() for group in self._groups])

    def _rounded(self, levels: list[Floats]) -> Floats:
        level = np.concatenate(levels) if levels else np.zeros(0)
        if self._by_pair:
            pairs = np.multiply.outer(level, self._sizes).ravel()
            return np.rint(pairs, out=pairs).take(self._pick)
        loads = level.take(self._pick)
        loads *= self._sizes
        return np.rint(loads, out=loads)


_CONSTANTS: Key = (Constant,)
_COSINES: Key = (Diurnal,)
_TABLE: Key = (_Table,)


def _kind(curve: Curve) -> Key:
    if isinstance(curve, Constant):
        return _CONSTANTS
    if isinstance(curve, Diurnal):
        return _COSINES
    if isinstance(curve, Trace):
        return (Trace, curve.interval, len(curve.values), curve.repeat)
    return _TABLE


def _group(curves: list[Curve], edges: Floats) -> Group:
    first = curves[0]
    if isinstance(first, Constant):
        return _Constants(curves, edges)
    if isinstance(first, Trace):
        return _Traces([c for c in curves if isinstance(c, Trace)], edges)
    if isinstance(first, Diurnal):
        return _Cosines([c for c in curves if isinstance(c, Diurnal)], edges)
    return _Table(curves, edges)


class Loads:
    """CPU and memory of every VM, slice by slice; VMs that are not there use nothing.

    `cpu` and `memory` are new arrays whenever a load may have changed, so that sums are redone
    only then.
    """

    def __init__(self, fleet: Fleet, edges: Floats) -> None:
        vms = fleet.scenario.vms
        self._present = fleet.present.astype(np.float64)
        self._all_present = bool(fleet.present.all())
        self._cpu = _Resource([vm.cpu_load for vm in vms], fleet.cpu_size, edges)
        self._memory = _Resource([vm.memory_load for vm in vms], fleet.memory_size, edges)
        self._key: Key | None = None
        self._raw = self._cpu.at_the_start(), self._memory.at_the_start()
        self._mask()
        self.measured = self.cpu, self.memory
        """The loads of the slice before: what anyone can know when a slice begins."""

    def enter(self, slice_: int) -> None:
        """Go on to a slice; `cpu` and `memory` hold its loads from now on."""
        self.measured = self.cpu, self.memory
        key = (self._cpu.key(slice_), self._memory.key(slice_))
        if key == self._key:
            return
        known, self._key = self._key, key
        self._raw = (
            self._raw[0] if known and known[0] == key[0] else self._cpu.loads(slice_),
            self._raw[1] if known and known[1] == key[1] else self._memory.loads(slice_),
        )
        self._mask()

    def set_present(self, vm: int, present: bool) -> None:
        """A VM was created or deleted."""
        self._present[vm] = present
        self._all_present = bool(self._present.all())
        self._mask()

    def _mask(self) -> None:
        self.cpu: Floats = self._raw[0] if self._all_present else self._raw[0] * self._present
        self.memory: Floats = self._raw[1] if self._all_present else self._raw[1] * self._present
