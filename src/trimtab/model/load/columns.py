"""Traces that share one table: for a million VMs whose loads all differ.

As tuples of numbers, a million traces of eight hours take 3 GB; in a table of 32-bit numbers they
take 0.4 GB, and a table on disk (`numpy.memmap`) is read row by row as time goes on.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from trimtab.model.load.curve_kinds import Trace

Table = NDArray[np.floating[Any]]


class Column(Sequence[float]):
    """The values of one trace in a table with a row for each moment: one of its columns."""

    __slots__ = ("number", "table")

    def __init__(self, table: Table, number: int) -> None:
        self.table, self.number = table, number

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[float, ...]: ...
    def __getitem__(self, index: int | slice) -> float | tuple[float, ...]:
        if isinstance(index, slice):
            return tuple(self.table[index, self.number].tolist())
        return float(self.table[index, self.number])

    def __iter__(self) -> Iterator[float]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column | tuple) and self[:] == other[:]

    def __hash__(self) -> int:
        return hash(self[:])


def traces_in(table: Table, interval: float = 300.0, *, repeat: bool = True) -> list[Trace]:
    """A trace for each column of a table (moments, traces); nothing of it is copied."""
    # Readers of a trace see a tuple; only the loads of a run look for the table.
    columns = (cast("tuple[float, ...]", Column(table, at)) for at in range(table.shape[1]))
    return [Trace(column, interval, repeat) for column in columns]


def shared_table(traces: Sequence[Trace]) -> tuple[Table, NDArray[np.intp]] | None:
    """The table of which all these traces are columns, and their numbers; None without one."""
    first: object = traces[0].values
    if not isinstance(first, Column):
        return None
    columns = [cast("object", trace.values) for trace in traces]
    table, found = first.table, np.empty(len(columns), dtype=np.intp)
    for at, column in enumerate(columns):
        if not isinstance(column, Column) or column.table is not table:
            return None
        found[at] = column.number
    return table, found
