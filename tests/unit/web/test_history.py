"""The history: bounded, encoded once, and readable from any place that is kept."""

import asyncio
from gzip import decompress

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from builders.values.pictures import pictures
from trimtab.web.feed.events import Change, Picture, apply
from trimtab.web.feed.history import History


class Packed(Struct):
    epoch: str
    number: int
    base: Picture
    changes: list[Change]


def unpacked(history: History) -> Packed:
    return msgspec.json.decode(decompress(history.packed()), type=Packed)


@given(st.lists(pictures, max_size=9), st.integers(1, 4))
def test_what_is_kept_leads_to_the_newest_picture(seen: list[Picture], most: int) -> None:
    history = History(most_changes=most)
    for picture in seen:
        history.publish(picture)
    packed = unpacked(history)
    state = packed.base
    for change in packed.changes:
        state = apply(state, change)
    assert state == history.latest == (seen[-1] if seen else Picture())
    assert len(packed.changes) == min(len(seen), most)
    assert packed.number == len(seen)


def test_too_many_bytes_are_folded_as_too_many_changes_are() -> None:
    history = History(most_bytes=50)
    for at in range(20):
        history.publish(Picture(at=float(at)))
    assert len(unpacked(history).changes) <= 5
    assert history.latest.at == 19


def test_a_viewer_goes_on_where_it_was_and_only_there() -> None:
    history = History(most_changes=3)
    for at in range(5):
        history.publish(Picture(at=float(at)))
    known = [number for number in range(-1, 8) if history.knows(history.epoch, number)]
    assert known == [2, 3, 4, 5]
    assert not history.knows("another", 3)


async def test_every_viewer_hears_every_change_once() -> None:
    history = History()

    async def follow(count: int) -> list[int]:
        heard = []
        async for each in history.after(0):
            heard.append(each.number)
            if len(heard) == count:
                break
        return heard

    viewers = [asyncio.create_task(follow(4)) for _ in range(5)]
    for at in range(4):
        history.publish(Picture(at=float(at)))
        await asyncio.sleep(0)
    assert await asyncio.gather(*viewers) == [[1, 2, 3, 4]] * 5


async def test_a_viewer_that_fell_behind_is_sent_away() -> None:
    history = History(most_changes=2)
    for at in range(9):
        history.publish(Picture(at=float(at)))
    assert [each async for each in history.after(1)] == []
