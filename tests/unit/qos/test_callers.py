"""The stamping webhook answers to the API server only, and not to bodies without end."""

from pathlib import Path
from typing import Any, cast

import pytest
from starlette.requests import Request

from trimtab.kube.http.callers import API_SERVER, MAX_POD, PEER, Callers
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.queue.stamper import Stamper
from trimtab.qos.service.webhook import StampingWebhook

NOBODY_STAMPS = cast(Stamper, None)
"""What is refused, or is no pod, never reaches the stamper."""
NO_CORES = cast(PromisedCores, None)


async def status(body: bytes, **scope: str) -> int:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    endpoint = StampingWebhook(NOBODY_STAMPS, NO_CORES, Callers(Path("ca.crt"))).route.endpoint
    request = Request({"type": "http", "method": "POST", "headers": [], **scope}, receive)
    return int((await endpoint(request)).status_code)


@pytest.mark.parametrize("peer", [{}, {PEER: "kwok"}], ids=["nobody", "somebody else"])
async def test_others_than_the_api_server_are_refused(peer: dict[str, str]) -> None:
    assert await status(b"{}", **peer) == 403


async def test_the_api_server_is_heard_within_limits() -> None:
    server = {PEER: API_SERVER}
    assert await status(b'{"request": {"uid": "1"}}', **server) == 200
    assert await status(b"{}", **server) == 400
    assert await status(b" " * (MAX_POD + 1), **server) == 413
