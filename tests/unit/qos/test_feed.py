"""The stream of events: one computation for all, and not for any number of readers."""

import asyncio

import pytest

from trimtab.qos.page.feed import READERS, Feed, TooManyReaders


async def test_all_readers_of_a_turn_share_one_computation() -> None:
    asked: list[str] = []

    def answer(namespace: str) -> str:
        asked.append(namespace)
        return f"all of {namespace}"

    feed = Feed(answer, every_s=3600)
    streams = [feed.stream("a") for _ in range(40)] + [feed.stream("b")]
    said = [await anext(stream) for stream in streams]
    assert said == ["all of a"] * 40 + ["all of b"]
    assert sorted(asked) == ["a", "b"]
    for stream in streams:
        await stream.aclose()


async def test_a_new_turn_has_a_new_answer() -> None:
    numbers = iter(range(10))
    feed = Feed(lambda _: str(next(numbers)), every_s=0.01)
    stream = feed.stream("")
    first = await anext(stream)
    assert await anext(stream) > first
    await stream.aclose()


async def test_one_reader_too_many_is_refused_until_another_leaves() -> None:
    feed = Feed(lambda _: "", every_s=3600)
    streams = [feed.stream("") for _ in range(READERS)]
    for stream in streams:
        await anext(stream)
    with pytest.raises(TooManyReaders, match="close one"):
        feed.stream("")
    await streams[0].aclose()
    again = feed.stream("")
    assert await anext(again) == ""
    await asyncio.gather(*(stream.aclose() for stream in [*streams[1:], again]))
