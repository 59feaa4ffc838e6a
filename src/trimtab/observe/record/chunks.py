"""Long queries in pieces that a busy Prometheus can answer, each kept as soon as it is there.

A piece is a file; a piece that exists is not asked for again, so a recording that was killed
goes on where it was. A value depends on its moment alone and not on the piece it came in, so
the result is the same however often it was interrupted.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.errors import NotReady, TrimtabError, Unavailable
from trimtab.files.writing import write_whole
from trimtab.observe.record.prometheus_queries import SourceTable
from trimtab.prom.client import NoAnswer, PartialAnswer, Prometheus, QueryFailed

SAMPLES_PER_QUERY = 10_000_000
"""That the server loads; its own limit is 50 million unless somebody lowered it."""
POINTS_PER_QUERY = 250_000
"""That come back: some 100 MB of memory while they are read."""
POINTS_PER_SERIES = 10_000  # Prometheus refuses more than 11,000
ATTEMPTS = 5
WAIT_S = 1.0
_SUFFIX = ".part"


class Grid(Struct, frozen=True):
    """The moments of a recording."""

    start: float
    step_s: float
    moments: int

    def at(self, moment: int) -> float:
        return self.start + moment * self.step_s


class Piece(Struct, frozen=True):
    """Moments from `first` up to but without `last` of one table."""

    table: str
    first: int
    last: int

    @property
    def file(self) -> str:
        return f"{self.table}-{self.first:06}-{self.last:06}{_SUFFIX}"


class _Content(Struct):
    labels: list[dict[str, str]]
    values: bytes


def pieces_of(table: SourceTable, grid: Grid, scrape_s: float) -> list[Piece]:
    """Cut so that no query loads or returns too much."""
    loaded = max(grid.step_s / scrape_s, 1.0) * table.series  # samples for each moment
    size = int(min(SAMPLES_PER_QUERY / loaded, POINTS_PER_QUERY / table.series, POINTS_PER_SERIES))
    size = max(size, 1)
    return [
        Piece(table.name, first, min(first + size, grid.moments))
        for first in range(0, grid.moments, size)
    ]


class Fetcher:
    """Asks for pieces one after the other."""

    def __init__(
        self,
        prometheus: Prometheus,
        directory: Path,
        grid: Grid,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._prometheus, self._directory, self._grid = prometheus, directory, grid
        self._sleep = sleep

    async def fetch(self, table: SourceTable, piece: Piece) -> None:
        """Have the piece in its file, in halves of halves if need be."""
        if self._was_halved(piece):
            for half in _halves(piece):
                await self.fetch(table, half)
            return
        attempt = 0
        while not (self._directory / piece.file).exists():
            try:
                await self._ask(table, piece)
            except (QueryFailed, NotReady, NoAnswer, PartialAnswer) as error:
                if isinstance(error, QueryFailed) and error.kind == "bad_data":
                    raise
                attempt += 1
                if _is_too_much(error) and piece.last - piece.first > 1:
                    await self._sleep(WAIT_S)
                    for half in _halves(piece):
                        await self.fetch(table, half)
                    return
                if attempt == ATTEMPTS:
                    raise _given_up(error, piece) from error
                await self._sleep(WAIT_S * 2**attempt)

    def _was_halved(self, piece: Piece) -> bool:
        """Whether parts of it are there: before it was interrupted, the whole was too much."""
        if (self._directory / piece.file).exists() or piece.last - piece.first <= 1:
            return False
        there = (_piece(path) for path in self._directory.glob(f"{piece.table}-*{_SUFFIX}"))
        return any(piece.first <= each.first and each.last <= piece.last for each in there)

    async def _ask(self, table: SourceTable, piece: Piece) -> None:
        start, end = self._grid.at(piece.first), self._grid.at(piece.last - 1)
        step_s = self._grid.step_s
        found = await self._prometheus.whole_range(table.query, start, end, step_s)
        values = np.full((piece.last - piece.first, len(found)), np.nan, dtype=np.float32)
        for column, series in enumerate(found):
            rows = np.rint((np.array(series.times) - start) / step_s).astype(np.int64)
            with np.errstate(over="ignore"):
                values[rows, column] = series.values
        content = _Content([series.labels for series in found], values.tobytes())
        data = zlib.compress(msgspec.msgpack.encode(content), 1)
        write_whole(self._directory / piece.file, data, 0o600)


def _is_too_much(error: TrimtabError) -> bool:
    """Whether half of it may do: too many samples, a time-out, a server that is overloaded."""
    return isinstance(error, QueryFailed | NotReady | NoAnswer)


def _halves(piece: Piece) -> tuple[Piece, Piece]:
    middle = (piece.first + piece.last) // 2
    return (
        Piece(piece.table, piece.first, middle),
        Piece(piece.table, middle, piece.last),
    )


def _given_up(error: TrimtabError, piece: Piece) -> Unavailable:
    return Unavailable(
        f"{piece.table} was asked for {ATTEMPTS} times and not answered ({error}); what is there "
        "already is kept: the same command goes on with the rest"
    )


class Columns(Struct, frozen=True, eq=False):
    """A table as it came: one column for each set of labels."""

    labels: list[Mapping[str, str]]
    values: NDArray[np.float32]


def assembled(directory: Path, table: SourceTable, grid: Grid) -> Columns:
    """All pieces of a table as one; columns in the order of their labels."""
    columns: dict[tuple[str, ...], int] = {}
    covered = np.zeros(grid.moments, dtype=np.bool_)
    parts = list(_parts(directory, table.name))
    for _, content in parts:
        for labels in content.labels:
            columns.setdefault(_identity(table, labels), 0)
    order = {key: number for number, key in enumerate(sorted(columns))}
    values = np.full((grid.moments, len(order)), np.nan, dtype=np.float32)
    for piece, content in parts:
        covered[piece.first : piece.last] = True
        if content.labels:
            held = np.frombuffer(content.values, np.float32).reshape(-1, len(content.labels))
            where = [order[_identity(table, labels)] for labels in content.labels]
            values[piece.first : piece.last, where] = held
    if not covered.all():
        raise Unavailable(
            f"{table.name}: {int((~covered).sum())} of {grid.moments} moments are missing; "
            "the same command goes on with them"
        )
    names = [dict(zip(table.labels, key, strict=True)) for key in order]
    return Columns(list(names), values)


def _identity(table: SourceTable, labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(labels.get(label, "") for label in table.labels)


def _piece(path: Path) -> Piece:
    table, first, last = path.stem.rsplit("-", 2)
    return Piece(table, int(first), int(last))


def _parts(directory: Path, table: str) -> Iterator[tuple[Piece, _Content]]:
    for path in sorted(directory.glob(f"{table}-*{_SUFFIX}")):
        try:
            content = msgspec.msgpack.decode(zlib.decompress(path.read_bytes()), type=_Content)
        except (zlib.error, msgspec.MsgspecError) as error:  # the computer lost its power
            path.unlink()
            raise Unavailable(
                f"{path} was damaged and is removed; the same command asks for it again"
            ) from error
        yield _piece(path), content
