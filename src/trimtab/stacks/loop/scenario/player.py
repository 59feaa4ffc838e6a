"""Puts a scenario into a cluster once, then plays its events in the lab's time.

What has been done is written down in the ConfigMap trimtab-system/scenario, so a new process
or a resumed lab goes on where the last one stopped and makes nothing twice. A VM that somebody
deleted meanwhile stays deleted. Everything is API objects; the vm-controller does the rest.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from trimtab.errors import ConfigError, Unavailable
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.clock import Clock, ClockReader
from trimtab.kube.errors import NotFound, TooManyRequests
from trimtab.kube.http.web import Web
from trimtab.kube.resources import CONFIG_MAPS, NODES, PODS, ConfigMap, Free, ObjectMeta
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service
from trimtab.kube.scenario.kinds import OwnVms, VmKind, kind_of
from trimtab.kube.scenario.objects import MANAGED
from trimtab.kube.scenario.writer import ScenarioVms, until
from trimtab.kube.virtual_machines import LAUNCHER_LABEL
from trimtab.kube.worlds import world_of
from trimtab.lab.components.kwok import NOT_READY_LABEL
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.model.nodes_and_vms import RequestsModel
from trimtab.obs import get_logger
from trimtab.stacks.loop.scenario.objects import Script, ScriptEvent

NAME = "scenario"
RUNNING = "every VM runs"
RETRY_S = 1.0
BATCH, AHEAD, STALLED_S = 100, 200, 30.0
"""VMs are created so many at a time, while no more than AHEAD of them are still on their way."""
log = get_logger()


class Pace:
    """When to create more VMs: not while many are on their way, unless those will never arrive.

    Five thousand at once keep KubeVirt's controllers busy with their queues: on two cores 1,139 ran
    after sixteen minutes; created like this, twice as many after twenty.
    """

    def __init__(self) -> None:
        self._pending, self._since = -1, 0.0
        self._stuck = 0

    def may_go_on(self, pending: int, now: float) -> bool:
        """With so many that do not run yet; those that stood still are not waited for again.

        A computer that is short stands still too: pacing goes on beyond them.
        """
        if pending != self._pending:
            self._pending, self._since = pending, now
        elif now - self._since > STALLED_S:
            self._stuck = pending
        return pending <= AHEAD + self._stuck


class ScriptPlayer:
    """One script in one cluster."""

    def __init__(
        self,
        client: Client,
        script: Script,
        now: Callable[[], float] = time.time,
        kind: VmKind | None = None,
    ) -> None:
        self._client, self._script, self._now = client, script, now
        self._kind = kind or OwnVms()
        self._written = ScenarioVms(client, self._kind)
        self.vms: Reflector[Any] = Reflector(client, self._kind.kind, labels=MANAGED)
        self.clocks = Reflector(
            client,
            CONFIG_MAPS,
            namespace=SYSTEM_NAMESPACE,
            fields="metadata.name=clock",
            name="clock",
        )
        self._clock_reader = ClockReader()
        self._loaded = self._ran = False

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        return self.vms, self.clocks

    def progress(self) -> str:
        """What /running says; once every VM has run it stays so."""
        waiting = self._waiting()
        self._ran = self._ran or (self._loaded and not waiting)
        if self._ran:
            return RUNNING
        return (
            f"waiting for {', '.join(waiting[:3])} ({len(waiting)} VMs)" if waiting else "loading"
        )

    def _waiting(self) -> list[str]:
        settled = self._kind.is_settled
        return [vm.metadata.name for vm in self.vms.store if not settled(vm)]

    async def play(self) -> None:
        """Load the script unless that was done before, then wait for each event in turn."""
        mark = await _until_answered(self._read_mark)
        if mark.get("digest") != self._script.digest:
            await _until_answered(self._load)
            mark = self._mark(self._lab_s(), 0)
            await _until_answered(partial(self._write_mark, mark))
        await self._await_vms()
        self._loaded = True
        started, played = float(mark["started"]), int(mark["played"])
        for number, event in enumerate(self._script.events[played:], played + 1):
            await self._await(started + event.at)
            await _until_answered(partial(self._happen, event))
            await _until_answered(partial(self._write_mark, self._mark(started, number)))
            log.info("event played", what=event.what, name=event.name, at=event.at)

    # The mark

    def _mark(self, started: float, played: int) -> dict[str, str]:
        return {
            "name": self._script.name,
            "digest": self._script.digest,
            "started": repr(started),
            "played": str(played),
        }

    async def _read_mark(self) -> dict[str, str]:
        try:
            return (await self._client.get(CONFIG_MAPS, NAME, SYSTEM_NAMESPACE)).data
        except NotFound:
            return {}

    async def _write_mark(self, data: dict[str, str]) -> None:
        mark = ConfigMap(metadata=ObjectMeta(name=NAME, namespace=SYSTEM_NAMESPACE), data=data)
        await apply(self._client, CONFIG_MAPS, mark, force=True)

    # Time

    @property
    def _clock(self) -> Clock:
        return self._clock_reader.read(self.clocks.store.get("clock", SYSTEM_NAMESPACE))

    def _lab_s(self) -> float:
        return self._clock.lab_s(self._now())

    async def _await(self, lab_s: float) -> None:
        await asyncio.sleep(max(0.0, self._clock.real_s(lab_s - self._lab_s())))

    # Loading

    async def _load(self) -> None:
        await self._clear()
        for node in self._script.nodes:
            await self._patch_node(node.name, node.open)
            await self._patch_node(node.name, node.status, "status")
        pace = Pace()
        for first in range(0, len(self._script.vms), BATCH):
            await until(lambda: pace.may_go_on(len(self._waiting()), time.monotonic()))
            await self._written.create(self._script.vms[first : first + BATCH], again=True)
        closing = [node for node in self._script.nodes if node.closed]
        if closing:
            await until(self._all_run)
        for node in closing:
            await self._patch_node(node.name, node.closed)
        log.info("scenario loaded", scenario=self._script.name, vms=len(self._script.vms))

    async def _clear(self) -> None:
        """Remove the VMs of whatever scenario was here before, and wait until they are gone."""
        await self._written.delete(await self._written.list(), "Foreground")
        await until(lambda: not len(self.vms.store))

    def _all_run(self) -> bool:
        vms = list(self.vms.store)
        return len(vms) == len(self._script.vms) and all(map(self._kind.is_settled, vms))

    async def _await_vms(self) -> None:
        """Until the store has seen everything that was created here."""
        mine = await _until_answered(self._written.list)
        await until(lambda: all(vm.metadata.key in self.vms.store for vm in mine))

    # Events

    async def _happen(self, event: ScriptEvent) -> None:
        match event.what:
            case "arrive":
                assert event.vm is not None
                await self._written.create([event.vm], again=True)
            case "depart":
                leaving = [vm for vm in self.vms.store if vm.metadata.name == event.name]
                await self._written.delete(leaving, "Foreground")
            case "fail" | "recover":
                label = "true" if event.what == "fail" else None
                await self._patch_node(
                    event.name, {"metadata": {"labels": {NOT_READY_LABEL: label}}}
                )
            case "drain" | "undrain":
                cordon = event.what == "drain"
                await self._patch_node(event.name, {"spec": {"unschedulable": cordon}})
                if cordon:
                    await self._evict_from(event.name)

    async def _patch_node(self, name: str, patch: Free, subresource: str = "") -> None:
        await self._client.patch(NODES, name, patch, subresource=subresource)

    async def _evict_from(self, node: str) -> None:
        """Ask once for each VM on a node, as `kubectl drain` does; the answer is the webhook's."""
        launchers = await self._client.list(
            PODS, labels="=".join(LAUNCHER_LABEL), fields=f"spec.nodeName={node}"
        )
        for pod in launchers:
            try:
                await self._client.evict(pod.metadata.name, pod.metadata.namespace)
            except (TooManyRequests, NotFound) as answer:
                log.info("eviction answered", pod=pod.metadata.name, answer=str(answer))


async def _until_answered(step: Callable[[], Awaitable[Any]]) -> Any:
    """Repeat a step while the API server is away; every step may be done twice."""
    while True:
        try:
            return await step()
        except Unavailable as error:
            log.warning("step postponed", error=str(error))
            await asyncio.sleep(RETRY_S)


async def serve(
    client: Client, script: Script, *, host: str, port: int, requests: RequestsModel = "consumption"
) -> None:
    """Run until SIGTERM, with VMs of the kind that the cluster has."""
    player = ScriptPlayer(client, script, kind=kind_of(await world_of(client), requests))

    async def running(_: Request) -> Response:
        return PlainTextResponse(player.progress() + "\n")

    web = Web([Route("/running", running)], host=host, port=port)
    service = Service(NAME, reflectors=player.reflectors, jobs=[player.play], web=web)
    await service.run()


def read_script(text: bytes, where: str) -> Script:
    """A script as `lab up` wrote it."""
    try:
        return msgspec.json.decode(text, type=Script)
    except ValueError as error:  # also of texts that are not UTF-8
        raise ConfigError(
            f"{where}: {error}; start over with a file: trimtab lab scenario FILE"
        ) from error
