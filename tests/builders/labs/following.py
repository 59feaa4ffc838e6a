"""Reflectors that run for the time of a block."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from builders.waiting import LIMIT_S
from trimtab.kube.runtime.reflector import Reflector


@asynccontextmanager
async def following(*reflectors: Reflector[Any], synced: bool = True) -> AsyncIterator[None]:
    """Run `reflectors`, at first until they are synced; what one raises, the block raises."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(reflector.run()) for reflector in reflectors]
        for reflector in reflectors if synced else ():
            await asyncio.wait_for(reflector.synced.wait(), LIMIT_S)
        yield
        for task in tasks:
            task.cancel()
