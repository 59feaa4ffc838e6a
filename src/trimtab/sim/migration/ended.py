"""Attempts that have ended, one way or the other: in columns, since a day may have millions."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.sim.fleet import Fleet, Floats
from trimtab.sim.outcome import MigrationRecord

Outcomes = NDArray[np.int8]
SUCCEEDED, FAILED, TIMED_OUT = range(3)
NAMES = ("succeeded", "failed", "timed-out")
GB = 1e9
AT_ONCE = 10_000
"""Records are made of so many rows at a time, to keep what is made in between small."""
_COLUMNS = (np.int32, np.int32, np.int32, np.float64, np.float64, np.float64, np.float64, np.int8)
"""VM, source, target (`marks.NONE` if missing), requested, begun, ended, bytes sent, outcome."""


class MovesDone(Struct, frozen=True, eq=False):
    """Attempts that succeeded, in order of time: a column for each figure."""

    vms: NDArray[np.integer[Any]]
    sources: NDArray[np.integer[Any]]
    targets: NDArray[np.integer[Any]]
    ended_s: Floats


class EndedAttempts:
    """Those of one replica, in order of time."""

    def __init__(self) -> None:
        self._added: list[tuple[NDArray[Any], ...]] = []

    def add(self, *columns: NDArray[Any]) -> None:
        """One entry for each attempt, in the columns of `_COLUMNS`."""
        self._added.append(columns)

    def columns(self) -> tuple[NDArray[Any], ...]:
        """The same columns over all of them."""
        if len(self._added) != 1:
            parts = zip(*self._added, strict=True) if self._added else ([],) * len(_COLUMNS)
            whole = (
                np.concatenate([np.zeros(0), *part], dtype=kind, casting="unsafe")
                for kind, part in zip(_COLUMNS, parts, strict=True)
            )
            self._added = [tuple(whole)]
        return self._added[0]

    def succeeded(self) -> MovesDone:
        vms, sources, targets, _, _, ended_s, _, outcomes = self.columns()
        done = outcomes == SUCCEEDED
        return MovesDone(vms[done], sources[done], targets[done], ended_s[done])


class MoveRecords(Sequence[MigrationRecord]):
    """The migrations of a run, each made into a record when it is asked for.

    Millions of records take seconds and a gigabyte; most who run a simulation read its card.
    """

    def __init__(
        self, ended: EndedAttempts, fleet: Fleet, unfinished: Sequence[MigrationRecord]
    ) -> None:
        self._columns, self._unfinished = ended.columns(), unfinished
        self._vms, self._nodes = fleet.vm_names, (*fleet.node_names, None)
        """A target that is missing is the last one."""

    def __len__(self) -> int:
        return len(self._columns[0]) + len(self._unfinished)

    def __iter__(self) -> Iterator[MigrationRecord]:
        for first in range(0, len(self._columns[0]), AT_ONCE):
            yield from self._ended(slice(first, first + AT_ONCE))
        yield from self._unfinished

    @overload
    def __getitem__(self, at: int) -> MigrationRecord: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[MigrationRecord]: ...
    def __getitem__(self, at: int | slice) -> MigrationRecord | Sequence[MigrationRecord]:
        places = range(len(self))[at]
        if isinstance(places, range):
            return tuple(map(self.__getitem__, places))
        if places >= len(self._columns[0]):
            return self._unfinished[places - len(self._columns[0])]
        return next(self._ended(slice(places, places + 1)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} migrations>"

    def _ended(self, some: slice) -> Iterator[MigrationRecord]:
        columns = (column[some] for column in self._columns)
        vms, sources, targets, requested_s, begun_s, ended_s, sent, outcomes = columns
        return map(
            MigrationRecord,
            map(self._vms.__getitem__, vms.tolist()),
            map(self._nodes.__getitem__, sources.tolist()),
            map(self._nodes.__getitem__, targets.tolist()),
            requested_s.tolist(),
            begun_s.tolist(),
            ended_s.tolist(),
            (sent / GB).tolist(),
            map(NAMES.__getitem__, outcomes.tolist()),
        )
