"""What viewers cost the page's server: 1,000 nodes, 16,000 VMs, every load new at each look."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2

from builders.programs.served_page import ServedPage
from builders.values.pictures import FeedFile, a_picture

NODES, VMS = 1000, 16_000
LOOKS, EVERY_S = 8, 5.0
VIEWERS = 50


class Viewer:
    """Follows the page's stream, as a browser does, and counts."""

    def __init__(self, http: httpx2.AsyncClient, begun: str) -> None:
        self._http, self._begun = http, begun
        self.looks = self.bytes = 0

    async def follow(self) -> None:
        async with self._http.stream("GET", "v1/events", params={"after": self._begun}) as stream:
            async for chunk in stream.aiter_raw():
                self.bytes += len(chunk)
                self.looks += chunk.count(b"id: ")


async def cost(page: ServedPage, feed: FeedFile, viewers: int) -> tuple[float, float]:
    """CPU seconds of the server, and bytes that each viewer got, for a look."""
    allowed = {"Authorization": f"Bearer {page.token}"}
    pictures = [a_picture(NODES, VMS, seed=seed) for seed in (1, 2)]
    async with (
        httpx2.AsyncClient(
            base_url=page.url,
            headers=allowed,
            timeout=None,
            limits=httpx2.Limits(max_connections=None),
        ) as http,
        AsyncExitStack() as stack,
    ):
        head = (await http.get("v1/history")).json()
        begun = f"{head['epoch']}-{head['number']}"
        watching = [Viewer(http, begun) for _ in range(viewers)]
        for each in watching:
            following = asyncio.create_task(each.follow())
            stack.callback(following.cancel)
        await asyncio.sleep(2)
        before = page.cpu_s()
        for number in range(LOOKS):
            feed.add_at(pictures[number % 2], feed.last.at + EVERY_S)
            await asyncio.sleep(EVERY_S)
        async with asyncio.timeout(300):
            while any(each.looks < LOOKS for each in watching):
                await asyncio.sleep(0.1)
        used = page.cpu_s() - before
    return used / LOOKS, watching[0].bytes / LOOKS


def test_fifty_viewers_cost_little_more_than_one(tmp_path: Path) -> None:
    feed = FeedFile(tmp_path / "feed.jsonl", a_picture(NODES, VMS))
    with ServedPage(tmp_path / "state", feed.path) as page:
        one, size = asyncio.run(cost(page, feed, 1))
        many, _ = asyncio.run(cost(page, feed, VIEWERS))
    print(
        f"\na look at {NODES} nodes and {VMS} VMs ({size / 2**20:.2f} MiB): 1 viewer "
        f"{1000 * one:.0f} ms of the server's CPU, {VIEWERS} viewers {1000 * many:.0f} ms; "
        f"with a look every {EVERY_S:.0f} s {100 * many / EVERY_S:.1f} % of a core, "
        f"{1000 * (many - one) / (VIEWERS - 1):.2f} ms for each more"
    )
    assert many < VIEWERS * one / 2
