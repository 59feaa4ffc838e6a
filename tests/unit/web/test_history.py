"""The history: bounded, encoded once, back to its beginning, and filled where nobody looked."""

import asyncio
from gzip import decompress

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from builders.values.pictures import a_picture, pictures
from trimtab.web.feed.history import History
from trimtab.web.feed.picture import Change, Picture, apply


class Packed(Struct):
    epoch: str
    number: int
    changes: list[Change]


def unpacked(history: History) -> Packed:
    return msgspec.json.decode(decompress(history.packed()), type=Packed)


def states(history: History) -> list[Picture]:
    """The picture after each change that is kept."""
    found, state = [], Picture()
    for change in unpacked(history).changes:
        state = apply(state, change)
        found.append(state)
    return found


def in_order(seen: list[Picture]) -> list[Picture]:
    return [replace(picture, at=float(at)) for at, picture in enumerate(seen, 1)]


@given(st.lists(pictures, max_size=12), st.integers(2, 5))
def test_what_is_kept_are_pictures_that_were_seen_from_the_first_to_the_newest(
    seen: list[Picture], most: int
) -> None:
    seen = in_order(seen)
    history = History(most_changes=most)
    for picture in seen:
        history.publish(picture)
    kept = states(history)
    assert len(kept) <= most
    assert all(picture in seen for picture in kept)
    assert kept[:1] == seen[:1]
    assert history.latest == (seen[-1] if seen else Picture())
    assert kept[-1:] == seen[-1:]
    assert unpacked(history).number == len(seen)


def test_too_many_bytes_are_thinned_out_as_too_many_changes_are() -> None:
    history = History(most_bytes=60)
    for at in range(40):
        history.publish(Picture(at=float(at)))
    assert len(unpacked(history).changes) <= 6
    assert [states(history)[at].at for at in (0, -1)] == [0, 39]


@given(st.lists(pictures, max_size=6), st.lists(pictures, max_size=6), st.integers(0, 6))
def test_a_stretch_is_filled_where_nobody_looked(
    seen: list[Picture], missed: list[Picture], gap: int
) -> None:
    everything = in_order([*seen[:gap], *missed, *seen[gap:]])
    between = everything[len(seen[:gap]) :][: len(missed)]
    history = History()
    for picture in everything:
        if picture not in between:
            history.publish(picture)
    before = history.epoch
    history.fill(between)
    assert states(history) == everything
    assert history.number == len(everything)
    assert (history.epoch == before) == (not between)


def test_a_viewer_goes_on_where_it_was_and_only_there() -> None:
    history = History(most_changes=3)
    for at in range(5):
        history.publish(Picture(at=float(at)))
    known = [number for number in range(-1, 8) if history.knows(history.epoch, number)]
    assert known == [0, 1, 2, 3, 4, 5]
    assert not history.knows("another", 3)


async def test_a_viewer_that_fell_behind_ends_where_all_others_are() -> None:
    history = History(most_changes=4)
    for at in range(9):
        history.publish(Picture(at=float(at)))
    heard = []
    async for each in history.after(2):
        heard.append(each)
        if each.number == history.number:
            break
    assert [each.number for each in heard] == sorted(each.number for each in heard)
    assert heard[-1].change.at == 8


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


def test_the_newest_picture_alone_is_where_the_whole_history_leads() -> None:
    history = History()
    for number in range(3):
        history.publish(a_picture(3, 6, seed=number, at=float(number)))
    for packed in (history.packed(), history.packed_newest()):
        found = msgspec.json.decode(decompress(packed), type=Packed)
        assert (found.epoch, found.number) == (history.epoch, 3)
        state = Picture()
        for change in found.changes:
            state = apply(state, change)
        assert state == history.latest
    assert len(found.changes) == 1


async def test_viewers_begin_again_when_the_past_is_there() -> None:
    history = History()
    history.publish(Picture(at=5.0))

    async def follow() -> list[int]:
        return [each.number async for each in history.after(0)]

    viewer = asyncio.create_task(follow())
    await asyncio.sleep(0)
    history.fill([Picture(at=1.0), Picture(at=2.0)])
    assert await viewer == [1]
    assert [picture.at for picture in states(history)] == [1, 2, 5]
