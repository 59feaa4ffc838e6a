"""What is kept of a run reads back as it was; what is damaged is noticed."""

import math

import numpy as np
import pytest

from builders.values.outcomes import a_card, a_course, a_scenario, an_outcome
from trimtab.study.results.record import (
    PICTURE_ROWS,
    Chunk,
    Damaged,
    FullChunk,
    decode,
    encode,
    make_chunk,
)


def test_a_chunk_reads_back_as_it_was_written() -> None:
    scenario = a_scenario()
    card = a_card(first_converged_s=math.nan, migrations=7)
    chunk = make_chunk("cell", scenario, [4, 9], [an_outcome(scenario, card)] * 2)
    back = decode(encode(chunk), FullChunk)
    assert [run.seed for run in back.runs] == [4, 9]
    assert back.runs[0].moves == chunk.runs[0].moves
    assert len(back.runs[0].moves) == 2
    assert math.isnan(back.runs[0].card.first_converged_s)
    assert back.picture == chunk.picture


def test_a_chunk_can_be_read_without_its_migrations() -> None:
    scenario = a_scenario()
    chunk = make_chunk("cell", scenario, [0], [an_outcome(scenario)])
    slim = decode(encode(chunk), Chunk)
    assert not hasattr(slim.runs[0], "moves")
    assert slim.runs[0].digest == chunk.runs[0].digest


def test_the_picture_counts_migrations_row_by_row() -> None:
    scenario = a_scenario()
    picture = make_chunk("cell", scenario, [0], [an_outcome(scenario, moved=3)]).picture
    assert picture.times[:3] == [60, 120, 180]
    assert picture.migrations == [2, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_the_picture_shows_the_first_seed_in_whole_percent() -> None:
    scenario = a_scenario(nodes=4)
    picture = make_chunk("c", scenario, [4, 9], [an_outcome(scenario)] * 2).picture
    cpu = np.frombuffer(picture.cpu, np.uint8).reshape(-1, picture.nodes)
    assert picture.seed == 4
    assert cpu[0].tolist() == [90, 40, 40, 40]
    assert cpu[-1, 0] < 50


def test_a_long_course_is_thinned_and_keeps_its_end() -> None:
    scenario = a_scenario(nodes=4)
    outcome = an_outcome(scenario, course=a_course(4, 1440))
    picture = make_chunk("c", scenario, [0], [outcome]).picture
    assert len(picture.times) == PICTURE_ROWS
    assert picture.times[-1] == 1440 * 60
    assert len(picture.classes) == PICTURE_ROWS * 4


def test_the_picture_knows_where_each_vm_was_and_is() -> None:
    scenario = a_scenario(nodes=4, vms=12)
    picture = make_chunk("c", scenario, [0], [an_outcome(scenario, moved=2)]).picture
    assert picture.before[1] == 1
    assert picture.after[:2] == [3, 3]
    assert picture.after[2:] == picture.before[2:]


@pytest.mark.parametrize("data", [b"", b"\x93", b"{}"], ids=["empty", "cut off", "something else"])
def test_damage_is_noticed(data: bytes) -> None:
    with pytest.raises(Damaged):
        decode(data, Chunk)
