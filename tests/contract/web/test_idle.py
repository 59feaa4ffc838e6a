"""What the page costs while nobody looks, over real HTTP: nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from builders.programs.page_over_http import TOKEN, page_over_http
from builders.waiting import LIMIT_S
from trimtab.prom.client import Sample
from trimtab.web.feed.picture import Picture
from trimtab.web.feed.places import Places
from trimtab.web.feed.sources import Seen
from trimtab.web.server import Page


class CountedSource:
    """A cluster that counts how often it was looked at."""

    name, explains, on_demand, prometheus = "counted", False, True, ""

    def __init__(self) -> None:
        self.looks_made = 0

    async def looks(self) -> AsyncIterator[Seen]:
        while True:
            self.looks_made += 1
            yield Seen(Picture(at=float(self.looks_made)))
            await asyncio.sleep(0.01)

    async def scores(self) -> Sequence[Sample]:
        return ()

    async def places(self) -> Places:
        return Places()

    async def past(self, after: float, until: float) -> Sequence[Picture]:
        return ()


@asynccontextmanager
async def followed(
    source: CountedSource, keep: Path | None = None
) -> AsyncIterator[tuple[httpx2.AsyncClient, Page]]:
    async with page_over_http(source, keep=keep) as (http, page):
        http.headers["Authorization"] = f"Bearer {TOKEN}"
        task = asyncio.create_task(page.follow())
        yield http, page
        task.cancel()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not holds():
            await asyncio.sleep(0.01)


async def stays(source: CountedSource, count: int) -> bool:
    """A page that goes on looking would have done so many times meanwhile."""
    await asyncio.sleep(0.3)
    return source.looks_made == count


def test_nothing_is_looked_at_until_somebody_looks_and_nothing_after_the_last_has_gone() -> None:
    async def story() -> None:
        source = CountedSource()
        async with followed(source) as (http, page):
            await http.get("/")
            assert await stays(source, 0)
            found = (await http.get("/v1/history")).json()
            after = f"{found['epoch']}-{found['number']}"
            async with http.stream("GET", "/v1/events", params={"after": after}):
                await until(lambda: source.looks_made >= 5)
            await until(lambda: page.history.viewers == 0)
            await asyncio.sleep(0.3)  # a look that was under way ends
            before = source.looks_made
            assert await stays(source, before)
            await http.get("/v1/history")
            await until(lambda: source.looks_made == before + 1)
            assert await stays(source, before + 1)  # a question is answered by one look

    asyncio.run(story())


def test_what_is_kept_in_a_file_is_looked_at_without_viewers(tmp_path: Path) -> None:
    async def story() -> None:
        source = CountedSource()
        async with followed(source, tmp_path / "kept.jsonl"):
            await until(lambda: source.looks_made >= 5)

    asyncio.run(story())
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) >= 4
