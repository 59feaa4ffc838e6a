"""A machine-config operator for labs: renders configs and rolls nodes, one by one.

It is not OpenShift's: nothing boots, nothing is drained. A node is cordoned for the time that
a reboot takes, and then says that it runs the new config. Before it begins it puts a small
OpenShift cluster in place, as far as that is not there.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from msgspec.json import encode

from trimtab.advisor.cluster.objects import kind_of
from trimtab.advisor.kinds import (
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    NAMESPACES,
    resource_of,
)
from trimtab.advisor.plan.profile import dig
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists
from trimtab.kube.http.web import Web, probe_route
from trimtab.kube.resources import NODES, Free, Key, Node
from trimtab.kube.runtime.controller import After, Controller, Done, Outcome
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service
from trimtab.obs import get_logger
from trimtab.stacks.advisor.machine_configs import (
    Begin,
    WaitForNode,
    configuration,
    members,
    name_of,
    next_step,
    patch_for,
    rendered,
    settled,
    status,
)

NAME = "machine-config-operator"
SETTLED = "settled"
INSTALLER = "cluster-installer"
"""Who owns the fields of the baseline, in plans that take them."""
CONFIGS, POOLS = kind_of(MACHINE_CONFIGS), kind_of(MACHINE_CONFIG_POOLS)
log = get_logger()


class MachineConfigOperator:
    """Reconciles pools; whatever happens to a config or a node concerns all of them."""

    def __init__(
        self,
        client: Client,
        reboot_s: float,
        start_with: Sequence[Free],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._reboot_s, self._now = client, reboot_s, now
        self._start_with = start_with
        self.configs = Reflector(client, CONFIGS)
        self.pools = Reflector(client, POOLS)
        self.nodes = Reflector(client, NODES)
        self.controller = Controller(NAME, self.reconcile, workers=1)
        self.controller.follow(self.pools)
        self.controller.follow(self.configs, self._every_pool)
        self.controller.follow(self.nodes, self._every_pool)
        self.installed = asyncio.Event()

    def _every_pool(self, _: object) -> list[Key]:
        return self.pools.store.keys()

    async def install(self) -> None:
        """Put in place what is missing of the cluster to start with."""
        for obj in self._start_with:
            resource = resource_of(obj["apiVersion"], obj["kind"])
            path = kind_of(resource or NAMESPACES).path(dig(obj, "metadata", "namespace"))
            try:
                await self._client.request("POST", path, {"fieldManager": INSTALLER}, encode(obj))
            except AlreadyExists:  # from an earlier start, or changed by a person: it stays
                continue
            log.info("object installed", kind=obj["kind"], name=name_of(obj))
        self.installed.set()

    @property
    def settled(self) -> bool:
        """Is the cluster to start with there, and each node of its pools known?"""
        kind, nodes = MACHINE_CONFIG_POOLS.kind, list(self.nodes.store)
        names = [name_of(obj) for obj in self._start_with if obj["kind"] == kind]
        pools = [self.pools.store.get(name) for name in names]
        return self.installed.is_set() and all(
            pool is not None and settled(pool, members(pool, nodes)) for pool in pools
        )

    async def reconcile(self, key: Key) -> Outcome:
        pool = self.pools.store.get(key.name)
        if pool is None or not self.installed.is_set():
            return Done() if pool is None else After(0.1)
        configs = list(self.configs.store)
        wanted = configuration(pool, configs)
        await self._render(pool, configs, wanted["name"])
        nodes = members(pool, list(self.nodes.store))
        await self._update(pool, wanted, status(pool, nodes, wanted))
        return await self._roll(pool, nodes, wanted["name"])

    async def _render(self, pool: Free, configs: Sequence[Free], name: str) -> None:
        if self.configs.store.get(name) is not None:
            return
        try:
            await self._client.create(CONFIGS, rendered(pool, configs))
        except AlreadyExists:
            return
        log.info("config rendered", config=name)

    async def _update(self, pool: Free, wanted: Free, told: Free) -> None:
        """Spec and status in one patch, if something of it is new."""
        is_new = dig(pool, "spec", "configuration") != wanted
        if is_new or not told.items() <= (pool.get("status") or {}).items():
            patch = {"spec": {"configuration": wanted}, "status": told}
            await self._client.patch(POOLS, name_of(pool), patch)

    async def _roll(self, pool: Free, nodes: Sequence[Node], target: str) -> Outcome:
        step = next_step(pool, nodes, target, self._now(), self._reboot_s)
        if step is None:
            return Done()
        if isinstance(step, WaitForNode):
            return After(step.seconds)
        await self._client.patch(NODES, step.node, patch_for(step, self._now()))
        log.info("node changed", node=step.node, step=type(step).__name__, config=step.config)
        return After(self._reboot_s) if isinstance(step, Begin) else Done()


async def serve(operator: MachineConfigOperator, *, host: str, port: int) -> None:
    """Run until SIGTERM."""
    await Service(
        NAME,
        reflectors=(operator.configs, operator.pools, operator.nodes),
        controllers=[operator.controller],
        jobs=[operator.install],
        web=Web([probe_route(SETTLED, lambda: operator.settled)], host=host, port=port),
    ).run()
