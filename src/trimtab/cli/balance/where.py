"""Which cluster a command about plans means, and talking to it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from cyclopts import Parameter

from trimtab.balancer.requests import PlanRequests
from trimtab.cli.cluster.options import ClusterOptions
from trimtab.cli.common.numbers import Seconds
from trimtab.view.terminal import progress

T = TypeVar("T")


@Parameter(name="*")
@dataclass(frozen=True)
class PlansOptions(ClusterOptions):
    """Which cluster, and how long to wait."""

    timeout: Annotated[Seconds, Parameter(help="Seconds to wait for the end of a plan.")] = 600.0


HERE = PlansOptions()


def talk(where: PlansOptions, ask: Callable[[PlanRequests], Awaitable[T]]) -> T:
    """Make a request; waiting is shown on stderr."""
    cluster = where.cluster()

    async def run() -> T:
        with progress("balance") as steps:
            async with cluster.connect() as client:
                return await ask(PlanRequests(client, say=steps.note))

    return asyncio.run(run())
