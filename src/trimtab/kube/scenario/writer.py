"""Creates and deletes the VMs of scenarios. VMs that no scenario made are never touched.

The vm-controller or KubeVirt, and the scheduler, do the rest.
"""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

from msgspec import json

from trimtab.errors import ConfigError, Conflict
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, Invalid, NotFound
from trimtab.kube.resources import Free
from trimtab.kube.scenario.kinds import VmKind
from trimtab.kube.scenario.objects import MANAGED
from trimtab.obs import get_logger

T = TypeVar("T")
AT_ONCE = 8
"""Requests that run at the same time: one after the other, a thousand VMs take minutes."""
LOOK_EVERY_S = 0.05
"""Between two looks into a store."""
ASK_EVERY_S = 0.5
"""Between two requests to the API server."""
log = get_logger()


class VmRefused(ConfigError):
    """The API server would not take a VM; `field` of its spec is wrong."""

    def __init__(self, vm: str, error: Invalid) -> None:
        super().__init__(f'VM "{vm}": {error.message}')
        self.field = error.causes[0].field if error.causes else ""


class ScenarioVms:
    """The VMs that scenarios have made, in one namespace or (without one) in all of them."""

    def __init__(self, client: Client, kind: VmKind, namespace: str | None = None) -> None:
        self._client, self._kind, self._namespace = client, kind, namespace

    async def list(self) -> Sequence[Any]:
        return await self._client.list(self._kind.kind, self._namespace, labels=MANAGED)

    async def everyones(self) -> Sequence[Any]:
        """All VMs, whoever made them; also stopped ones."""
        return await self._client.list(self._kind.kind, self._namespace)

    async def create(self, vms: Iterable[Free], *, again: bool = False) -> None:
        """Create VMs; with `again`, one that is there already is taken for an earlier try's."""

        async def create(vm: Free) -> None:
            try:
                await self._client.create(self._kind.kind, self._kind.manifest(vm))
            except AlreadyExists:
                if not again:
                    raise
                log.debug("vm exists", vm=vm["metadata"]["name"])

        await each(vms, create)

    async def rehearse(self, vms: Iterable[Free]) -> None:
        """Let the API server judge every distinct spec; VmRefused if one is bad."""
        distinct = {json.encode(vm["spec"], order="sorted"): vm for vm in vms}
        await each(distinct.values(), self._dry_run)

    async def _dry_run(self, vm: Free) -> None:
        made = self._kind.manifest(vm)
        metadata = {field: value for field, value in made["metadata"].items() if field != "name"}
        other = made | {"metadata": metadata | {"generateName": "rehearsal-"}}
        try:
            await self._client.create(self._kind.kind, other, dry_run=True)
        except Invalid as error:
            raise VmRefused(vm["metadata"]["name"], error) from error

    async def delete(
        self, vms: Iterable[Any], propagation: Literal["Background", "Foreground"] = "Background"
    ) -> None:
        """Delete these very VMs; with Foreground they stay until their pods are gone."""

        async def delete(vm: Any) -> None:
            meta = vm.metadata
            try:
                await self._client.delete(
                    self._kind.kind,
                    meta.name,
                    meta.namespace,
                    uid=meta.uid,
                    propagation=propagation,
                )
            except (NotFound, Conflict):  # Conflict: another VM has its name now
                log.debug("vm gone", vm=str(meta.key))

        await each(vms, delete)

    async def await_gone(self, vms: Iterable[Any], limit_s: float) -> bool:
        """Wait until these very VMs are removed; false if they are not in time.

        KubeVirt removes a VM some time after its VMI, and until then its name is taken.
        """
        leaving = {vm.metadata.uid for vm in vms}
        clock = asyncio.get_running_loop().time
        deadline = clock() + limit_s
        while leaving & {vm.metadata.uid for vm in await self.list()}:
            if clock() >= deadline:
                return False
            await asyncio.sleep(ASK_EVERY_S)
        return True


async def each(items: Iterable[T], do: Callable[[T], Awaitable[object]]) -> None:
    """`do` for all items, some at a time; the first error ends it when those have ended."""
    left = deque(items)

    async def work() -> None:
        while left:
            try:
                await do(left.popleft())
            except BaseException:
                left.clear()
                raise

    workers = (work() for _ in range(min(AT_ONCE, len(left))))
    for result in await asyncio.gather(*workers, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


async def until(holds: Callable[[], bool], limit_s: float = math.inf) -> bool:
    """Wait for something in the stores to become true; false if it does not in time."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + limit_s
    while not holds():
        if clock() >= deadline:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True
