"""Which cluster a `trimtab vm` command means, and talking to it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from trimtab.cli.cluster.options import Context, Kubeconfig, LabName
from trimtab.cli.common.numbers import Seconds

if TYPE_CHECKING:
    from trimtab.vm.requests import Desk

T = TypeVar("T")


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Which cluster and namespace a command means."""

    kubeconfig: Kubeconfig = None
    context: Context = ""
    lab: LabName = ""
    namespace: Annotated[
        str, Parameter(name=("--namespace", "-n"), help="The namespace of the VMs.")
    ] = "default"
    timeout: Annotated[Seconds, Parameter(help="Seconds to wait with --wait.")] = 300.0


HERE = Where()


def tell(
    where: Where, ask: "Callable[[Desk], Awaitable[object]]", done: str, *, json: bool
) -> None:
    """Make a request; say that it was made, or print what it led to."""
    from trimtab.view.terminal import err, show_json

    result = talk(where, ask)
    if json:
        show_json(result)
    else:
        err.print(done, markup=False)


def talk(where: Where, ask: "Callable[[Desk], Awaitable[T]]") -> T:
    """Run `ask` with a desk at the right cluster; waiting is shown on stderr."""
    import asyncio

    from trimtab.cli.cluster.which import say, which_cluster
    from trimtab.view.terminal import progress
    from trimtab.vm.requests import Desk

    cluster = say(which_cluster(where.kubeconfig, where.context, where.lab))

    async def talk() -> T:
        with progress("vm") as steps:
            async with cluster.connect() as client:
                desk = Desk(client, where.namespace, timeout_s=where.timeout, say=steps.note)
                return await ask(desk)

    return asyncio.run(talk())
