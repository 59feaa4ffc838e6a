"""Waiting for something to become true, in real time and with a limit."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], bool], what: str = "", limit_s: float = 60.0) -> None:
    """Return as soon as `condition` holds; AssertionError after `limit_s`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    while not condition():
        assert loop.time() < deadline, f"not within {limit_s} s: {what or condition}"
        await asyncio.sleep(0.01)
