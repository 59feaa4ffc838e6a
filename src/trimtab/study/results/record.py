"""What is kept of a run: the report card, the moves, a digest of everything, and a picture.

The unit on disk is a chunk: some seeds of one cell. It is written in one piece when all of
them are done, so a chunk either counts or was never there. A study can hold millions of
moves, so a chunk is read without them (`Chunk`) except where they are wanted (`FullChunk`).
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.errors import TrimtabError
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim.outcome import MigrationRecord, Outcome, ReportCard
from trimtab.study.inputs.identity import digest, run_id

# A run day by day: what a comparison needs to tell a better setting from a lucky day.
#
# Figures are taken at the descheduling cycles of the day, not integrated over it as those of the
# report card are, so their mean is near the card's figure and not equal to it.
DAY_S = 86_400.0


class DayFigures(Struct, frozen=True, array_like=True):
    """One part of a run, about a day long."""

    level: float
    """Standard deviation of the nodes' CPU use, in points."""
    unserved: float
    """Percent of the CPU demand that was above a node's capacity."""
    overload: float
    """Node-hours above a node's CPU or memory, in 24 hours."""
    migrations: float
    """That succeeded, in 24 hours."""


def days_in(duration_s: float) -> int:
    """How many parts of about a day a run has; one if it is shorter."""
    return max(1, round(duration_s / DAY_S))


def figures_of_days(scenario: Scenario, outcome: Outcome) -> tuple[DayFigures, ...]:
    """The figures of each part, all parts being equally long."""
    count, duration_s = days_in(scenario.duration_s), scenario.duration_s
    course = outcome.course
    day_of = _days(course.times, duration_s, count)
    capacity = np.array([float(node.cpu) for node in scenario.nodes])
    level = 100 * course.cpu.std(axis=1)
    above = np.maximum(course.cpu - 1, 0)
    unserved, demand = above @ capacity, course.cpu @ capacity
    overload = above.sum(axis=1) + np.maximum(course.memory - 1, 0).sum(axis=1)
    done = [move for move in outcome.moves if move.outcome == "succeeded"]
    ends = [move.ended_s or move.requested_s for move in done]
    moved = np.bincount(_days(ends, duration_s, count), minlength=count)
    found = []
    for day in range(count):
        here = day_of == day
        found.append(
            DayFigures(
                _mean(level[here]),
                100 * float(unserved[here].sum()) / max(float(demand[here].sum()), 1e-9),
                24 * _mean(overload[here]),
                float(moved[day]) * count * DAY_S / duration_s,
            )
        )
    return tuple(found)


def _days(
    times: Sequence[float] | NDArray[np.float64], duration_s: float, count: int
) -> NDArray[np.intp]:
    parts = np.asarray(times, dtype=np.float64) / duration_s * count
    return np.clip(parts.astype(np.intp), 0, count - 1)


def _mean(values: NDArray[np.float32]) -> float:
    return float(values.mean()) if len(values) else 0.0


PICTURE_ROWS = 144


class MoveRow(MigrationRecord, frozen=True, array_like=True):
    """A migration without its field names: studies hold many."""


class StudyPicture(Struct, frozen=True):
    """One run's course for the charts, in whole percent; every row stands for some cycles."""

    seed: int
    times: list[float]
    nodes: int
    cpu: bytes
    """(rows, nodes) uint8, percent of the node used, 255 and above as 255"""
    memory: bytes
    score: bytes
    classes: bytes
    """(rows, nodes) int8: -1 under-utilised, 0 appropriate, 1 over-utilised"""
    before: list[int]
    """the node of each VM of the scenario, -1 for none"""
    after: list[int]
    migrations: list[int] = []
    """requested in the time that each row stands for"""


class RunRecord(Struct, frozen=True):
    """One run."""

    id: str
    seed: int
    card: ReportCard
    digest: str
    """Of the whole outcome, course included: equal digests are equal runs, bit for bit."""
    errors: tuple[str, ...] = ()


class FullRun(RunRecord, frozen=True):
    """One run with its migrations, and day by day."""

    moves: tuple[MoveRow, ...] = ()
    days: tuple[DayFigures, ...] = ()


class Chunk(Struct, frozen=True):
    """Some seeds of one cell, and a picture of the first of them."""

    cell: str
    runs: tuple[RunRecord, ...]
    picture: StudyPicture


class FullChunk(Struct, frozen=True):
    """The same with all migrations: what is written."""

    cell: str
    runs: tuple[FullRun, ...]
    picture: StudyPicture


AnyChunk = TypeVar("AnyChunk", Chunk, FullChunk)


class Damaged(TrimtabError):
    """A file that does not hold a chunk (any more): run its seeds again."""


def make_chunk(
    cell: str, scenario: Scenario, seeds: Sequence[int], outcomes: Sequence[Outcome]
) -> FullChunk:
    """What is kept of `outcomes`, one for each of `seeds`."""
    return FullChunk(
        cell=cell,
        runs=tuple(_record(cell, scenario, s, o) for s, o in zip(seeds, outcomes, strict=True)),
        picture=make_picture(scenario, seeds[0], outcomes[0]),
    )


def encode(chunk: FullChunk) -> bytes:
    return msgspec.msgpack.encode(chunk, enc_hook=_plain)


def decode(data: bytes, kind: type[AnyChunk]) -> AnyChunk:
    """A chunk with or without its migrations."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise Damaged(f"not a chunk of runs: {error}") from error


def _record(cell: str, scenario: Scenario, seed: int, outcome: Outcome) -> FullRun:
    return FullRun(
        id=run_id(cell, seed),
        seed=seed,
        card=outcome.card,
        moves=tuple(MoveRow(*msgspec.structs.astuple(move)) for move in outcome.moves),
        digest=digest(outcome),
        errors=outcome.errors,
        days=figures_of_days(scenario, outcome),
    )


def make_picture(scenario: Scenario, seed: int, outcome: Outcome) -> StudyPicture:
    """The course of one run for the charts."""
    course = outcome.course
    rows = _rows(len(course.times))
    place = {node.name: index for index, node in enumerate(scenario.nodes)}
    return StudyPicture(
        seed=seed,
        times=[float(time) for time in course.times[rows]],
        nodes=course.cpu.shape[1],
        cpu=whole_percent(course.cpu[rows]),
        memory=whole_percent(course.memory[rows]),
        score=whole_percent(course.score[rows]),
        classes=course.classes[rows].astype(np.int8).tobytes(),
        before=[place.get(outcome.placement_before.get(vm.name, ""), -1) for vm in scenario.vms],
        after=[place.get(outcome.placement_after.get(vm.name, ""), -1) for vm in scenario.vms],
        migrations=_per_row(course.times[rows], outcome.moves),
    )


def _per_row(times: NDArray[np.float64], moves: Sequence[MigrationRecord]) -> list[int]:
    """How many of the moves were requested up to each of the times, since the one before."""
    asked = np.array([move.requested_s for move in moves])
    rows = np.minimum(np.searchsorted(times, asked), len(times) - 1)
    return [int(count) for count in np.bincount(rows, minlength=len(times))]


def _rows(cycles: int) -> NDArray[np.intp]:
    """All cycles, or so many at equal distances, the last one always among them."""
    if cycles <= PICTURE_ROWS:
        return np.arange(cycles)
    return np.linspace(0, cycles - 1, PICTURE_ROWS).round().astype(np.intp)


def whole_percent(values: NDArray[np.float32]) -> bytes:
    """Shares as a picture keeps them: a byte for each, 0 to 255 per cent."""
    return np.clip(np.nan_to_num(values * 100).round(), 0, 255).astype(np.uint8).tobytes()


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot store a {type(value).__name__}")
