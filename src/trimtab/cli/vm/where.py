"""Which cluster a `trimtab vm` command means, and talking to it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from cyclopts import Parameter

from trimtab.cli.cluster.options import ClusterOptions
from trimtab.cli.common.numbers import Seconds
from trimtab.cli.common.output import emit
from trimtab.kube.worlds import world_of
from trimtab.view.terminal import err, progress
from trimtab.vm.kubevirt_requests import KubevirtRequests
from trimtab.vm.requests import VmRequests

T = TypeVar("T")


@Parameter(name="*")
@dataclass(frozen=True)
class VmOptions(ClusterOptions):
    """Which cluster and namespace a command means."""

    namespace: Annotated[
        str, Parameter(name=("--namespace", "-n"), help="The namespace of the VMs.")
    ] = "default"
    timeout: Annotated[Seconds, Parameter(help="Seconds to wait with --wait.")] = 300.0


HERE = VmOptions()


def tell(
    where: VmOptions, ask: Callable[[VmRequests], Awaitable[object]], done: str, *, json: bool
) -> None:
    """Make a request; say that it was made, or print what it led to."""
    emit(talk(where, ask), json, lambda _: err.print(done, markup=False))


def talk(where: VmOptions, ask: Callable[[VmRequests], Awaitable[T]]) -> T:
    """Run `ask` with requests to the cluster that is meant; waiting is shown on stderr."""
    cluster = where.cluster()

    async def talk() -> T:
        with progress("vm") as steps:
            async with cluster.connect() as client:
                kind = KubevirtRequests if await world_of(client) == "kubevirt" else VmRequests
                requests = kind(client, where.namespace, timeout_s=where.timeout, say=steps.note)
                return await ask(requests)

    return asyncio.run(talk())
