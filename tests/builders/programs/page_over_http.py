"""The page's server in this process on a real port, for tests that speak HTTP to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import msgspec

from trimtab.kube.http.web import Web
from trimtab.web.access import Gate, TokenHolders, Viewers
from trimtab.web.feed.sources import FeedSource
from trimtab.web.server import Page
from trimtab.web.service import hosts_of

TOKEN = "t" * 32
MIGRATE = {"action": "migrate", "vm": "default/web"}


@asynccontextmanager
async def page_over_http(
    source: FeedSource,
    viewers: Viewers | None = None,
    *,
    changes: bool = False,
    keep: Path | None = None,
) -> AsyncIterator[tuple[httpx2.AsyncClient, Page]]:
    """A client of the page, and the page itself; its source is not followed."""
    web = Web()
    hosts = hosts_of("127.0.0.1", web.port)
    page = Page(
        source, Gate(viewers or TokenHolders(TOKEN), hosts, web.port, changes=changes), keep
    )
    web.routes.extend(page.routes())
    serving = asyncio.create_task(web.run())
    try:
        async with httpx2.AsyncClient(base_url=f"http://{hosts[0]}") as http:
            yield http, page
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def enter(http: httpx2.AsyncClient, token: str = TOKEN) -> dict[str, str]:
    """Headers with which the page's own script asks for a change; the cookie is the client's."""
    entered = await http.post("/v1/session", headers={"Authorization": f"Bearer {token}"})
    assert entered.status_code == 204, entered.text
    csrf = (await http.get("/v1/session")).json()["csrf"]
    origin = str(http.base_url).rstrip("/")
    return {"Origin": origin, "X-Trimtab-Csrf": csrf, "Content-Type": "application/json"}


async def ask(
    http: httpx2.AsyncClient, headers: dict[str, str], body: object = MIGRATE
) -> httpx2.Response:
    return await http.post("/v1/change", headers=headers, content=msgspec.json.encode(body))
