"""The player as a process: what the pure functions decide is read and written here.

VMIs are read and written as KubeVirt's own handler account, because its webhook lets nobody
else touch them. Pods and nodes are written under the player's own account: an admission policy
of KubeVirt lets a handler change only the node that its token is bound to, and we are all nodes.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from trimtab.errors import TrimtabError
from trimtab.kube.client import Client
from trimtab.kube.clock import Clock, ClockReader
from trimtab.kube.errors import NotFound
from trimtab.kube.http.web import Web
from trimtab.kube.kubevirt import VMIS, MigrationState, Vmi
from trimtab.kube.resources import CONFIG_MAPS, NODES, Key, Node
from trimtab.kube.runtime.controller import After, Controller, Done, Outcome
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service
from trimtab.kube.virtual_machines import LAUNCHER_LABEL
from trimtab.kube.worlds import refuse_beside, watch_for
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.model.quantity import parse_quantity
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter
from trimtab.player.guests import Guest, guest_of, vcpus
from trimtab.player.launchers import (
    LAUNCHERS,
    Ending,
    PlayedLauncher,
    endings,
    finished_status,
    lives_as,
)
from trimtab.player.metrics import GuestMetrics, NodeSizes, Running
from trimtab.player.migration import MigrationFacts
from trimtab.player.nodes import (
    HEARTBEAT,
    heartbeat_every_s,
    label_changes,
    parse_models,
    resource_changes,
)
from trimtab.player.patches import json_patch
from trimtab.player.settings import PlayerSettings
from trimtab.player.turn import next_step
from trimtab.virt.copies import Copies, CopyOrder, Progress
from trimtab.virt.migration_backoff import completion_limit_s

NAME = "virt-handler-player"
WORKERS = 16
BEATERS = 16
RETRY_S = 5.0
log = get_logger()
steps = counter("trimtab_player_steps_total", "Writes to VMIs by what they meant", "step")


class Player:
    """All handlers, launchers and kubelets of one cluster."""

    def __init__(
        self,
        handler: Client,
        kubelet: Client,
        settings: PlayerSettings,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._handler, self._kubelet, self._settings, self._now = handler, kubelet, settings, now
        self._models = parse_models(settings.cpu_model)
        self.vmis = Reflector(handler, VMIS, indexes={"node": _nodes_of})
        self.launchers = Reflector(
            kubelet,
            LAUNCHERS,
            labels="=".join(LAUNCHER_LABEL),
            indexes={"vmi": lambda each: (str(each.vmi),)},
            name="launchers",
        )
        self.nodes = Reflector(kubelet, NODES)
        self.clocks = Reflector(
            kubelet,
            CONFIG_MAPS,
            namespace=SYSTEM_NAMESPACE,
            fields="metadata.name=clock",
            name="clock",
        )
        self._clock_reader = ClockReader()
        self.controller = Controller("vmis", self._turn, workers=WORKERS)
        self.controller.follow(self.vmis)
        self.controller.follow(self.launchers, lambda each: (each.vmi,))
        self.nodes.store.subscribe(self._node_changed)
        self.node_controller = Controller("nodes", self._fit).follow(self.nodes)
        self._copies = Copies(settings.bandwidth, self.controller.queue.add)
        self._begun: dict[str, float] = {}
        self._guests: dict[Key, tuple[str, Guest]] = {}
        self.metrics = GuestMetrics(time.monotonic)

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        return self.vmis, self.launchers, self.nodes, self.clocks

    # VMIs and their launchers

    async def _turn(self, key: Key) -> Outcome:
        vmi = self.vmis.store.get(key.name, key.namespace)
        launchers = self.launchers.store.by("vmi", str(key))
        outcome: Outcome = Done()
        if vmi is None:
            self._copies.drop(key, self._lab_s())
            self._guests.pop(key, None)
        else:
            outcome = await self._handle(vmi, launchers)
        for ending in endings(vmi, launchers):
            if self._answers(ending.launcher.spec.node_name):
                await self._end(ending)
        return outcome

    async def _handle(self, vmi: Vmi, launchers: list[PlayedLauncher]) -> Outcome:
        step = next_step(vmi, launchers, self._facts(vmi, launchers))
        if step.patch is not None:
            await self._write(vmi, step.patch)
            steps.labels(step.event).inc()
            log.debug(step.event, vmi=str(vmi.metadata.key), node=vmi.status.node_name)
        if step.again_s is None:
            return Done()
        return After(max(0.0, self._clock.real_s(step.again_s)))

    def _facts(self, vmi: Vmi, launchers: list[PlayedLauncher]) -> MigrationFacts:
        state = vmi.status.migration_state or MigrationState()
        return MigrationFacts(
            now=self._moment(),
            source_answers=self._answers(vmi.status.node_name),
            target_answers=self._answers(state.target_node),
            target_address=state.target_node,
            target_lives=any(lives_as(each, state.target_pod) for each in launchers),
            copy=self._copy(vmi, state),
        )

    def _copy(self, vmi: Vmi, state: MigrationState) -> Progress | None:
        key, lab_s = vmi.metadata.key, self._lab_s()
        if state.start_timestamp is None or state.end_timestamp is not None or state.ended:
            self._copies.drop(key, lab_s)
            return None
        # stored times are whole seconds: this process knows better when it wrote one
        written = self._clock.lab_s(state.start_timestamp.timestamp())
        begun_s = self._begun.setdefault(state.migration_uid, max(written, lab_s - 1.0))
        settings, guest = state.migration_configuration, self._guest(vmi)
        size = guest.memory_used(begun_s)
        order = CopyOrder(
            migration=state.migration_uid,
            source=state.source_node,
            target=state.target_node,
            size=size,
            dirty_rate=self._dirty_rate(guest),
            begun_s=begun_s,
            limit_s=completion_limit_s(size, settings.completion_timeout_per_gi_b),
            bandwidth=_quantity(settings.bandwidth_per_migration),
        )
        return self._copies.progress(key, order, lab_s)

    async def _write(self, vmi: Vmi, patch: dict[str, Any]) -> None:
        meta = vmi.metadata
        state = vmi.status.migration_state
        started = patch.get("status", {}).get("migrationState", {}).get("startTimestamp")
        if state is not None and started:
            self._begun[state.migration_uid] = self._lab_s()
        elif state is not None and state.ended:
            self._begun.pop(state.migration_uid, None)
        await self._handler.patch(VMIS, meta.name, json_patch(vmi, patch), meta.namespace)

    async def _end(self, ending: Ending) -> None:
        meta = ending.launcher.metadata
        try:
            if ending.finish:
                status = finished_status(ending.launcher, self._moment())
                await self._kubelet.patch(
                    LAUNCHERS, meta.name, {"status": status}, meta.namespace, subresource="status"
                )
            if ending.remove:
                await self._kubelet.delete(
                    LAUNCHERS, meta.name, meta.namespace, uid=meta.uid, grace_s=0
                )
        except NotFound:
            log.debug("launcher gone", pod=meta.name)

    # Nodes

    def _answers(self, name: str) -> bool:
        """Whether the handler on this node lives."""
        node = self.nodes.store.get(name)
        return node is not None and node.ready

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        """Its VMIs care whether its handler lives, not about heartbeats.

        With ten VMIs a node, looking at all of them after each heartbeat took more CPU than all
        else that an idle player does.
        """
        node = new or old
        lived, lives = old is not None and old.ready, new is not None and new.ready
        if node is not None and lived != lives:
            for vmi in self.vmis.store.by("node", node.metadata.name):
                self.controller.enqueue(vmi.metadata.key)

    async def _fit(self, key: Key) -> Outcome:
        """Make a node fit for VMs: its labels are virt-handler's, its devices the kubelet's.

        Labels come with a heartbeat. virt-controller takes one of them away where a heartbeat is
        late, and would take it away again and again.
        """
        node = self.nodes.store.get(key.name)
        if node is None or not node.ready:
            return Done()
        if changes := label_changes(node, self._models):
            patch = {"metadata": {"labels": changes} | self._heartbeat()}
            await self._kubelet.patch(NODES, key.name, patch)
        if resources := resource_changes(node):
            status = {"capacity": dict(resources), "allocatable": dict(resources)}
            await self._kubelet.patch(NODES, key.name, {"status": status}, subresource="status")
        return Done()

    def unfit(self) -> list[str]:
        """Ready nodes that lack something."""
        return [
            node.metadata.name
            for node in self.nodes.store
            if node.ready and (label_changes(node, self._models) or resource_changes(node))
        ]

    async def beat(self) -> None:
        """Write the heartbeat of every node that lives, for ever.

        Several at a time: one after the other, 500 nodes took longer than KubeVirt's five minutes
        as soon as the API server needed a second for each, and virt-controller then lists the VMIs
        of every node that is late.
        """
        while True:
            names = [node.metadata.name for node in self.nodes.store if node.ready]
            every_s = heartbeat_every_s(len(names)) if names else RETRY_S
            now = asyncio.get_running_loop().time()
            turns = [(now + every_s * at / len(names), name) for at, name in enumerate(names)]
            lanes = (self._beat_in_turn(turns[lane::BEATERS]) for lane in range(BEATERS))
            await asyncio.gather(asyncio.sleep(every_s), *lanes)

    async def _beat_in_turn(self, turns: list[tuple[float, str]]) -> None:
        for due, name in turns:
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            await self._beat_once(name)

    async def _beat_once(self, name: str) -> None:
        if not self._answers(name):
            return
        try:
            await self._kubelet.patch(NODES, name, {"metadata": self._heartbeat()})
        except TrimtabError as error:  # the next round is soon enough: five minutes are allowed
            log.warning("heartbeat not written", node=name, error=str(error))

    def _heartbeat(self) -> dict[str, Any]:
        return {"annotations": {HEARTBEAT: self._moment()}}

    # Time and guests

    @property
    def _clock(self) -> Clock:
        return self._clock_reader.read(self.clocks.store.get("clock", SYSTEM_NAMESPACE))

    def _moment(self) -> str:
        """Now, as Go writes it into objects."""
        return datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _lab_s(self) -> float:
        return self._clock.lab_s(self._now())

    def _guest(self, vmi: Vmi) -> Guest:
        """Read once for each version of the VMI: a curve takes a while to decode."""
        meta = vmi.metadata
        known = self._guests.get(meta.key)
        if known is None or known[0] != meta.resource_version:
            known = self._guests[meta.key] = (meta.resource_version, guest_of(vmi))
        return known[1]

    def _dirty_rate(self, guest: Guest) -> float:
        return self._settings.dirty_rate if guest.dirty_rate is None else guest.dirty_rate

    # What Prometheus scrapes

    def page(self) -> str:
        """The series of all guests that run on nodes that answer."""
        lab_s = self._lab_s()
        pods = {each.metadata.uid: each.metadata.name for each in self.launchers.store}
        rows = [
            self._row(vmi, pods, lab_s)
            for vmi in self.vmis.store
            if vmi.status.phase == "Running" and self._answers(vmi.status.node_name)
        ]
        sizes = {node.metadata.name: _sizes(node) for node in self.nodes.store if node.ready}
        return self.metrics.page(rows, sizes, lab_s)

    def _row(self, vmi: Vmi, pods: dict[str, str], lab_s: float) -> Running:
        meta, status, guest = vmi.metadata, vmi.status, self._guest(vmi)
        mine = (uid for uid, node in status.active_pods.items() if node == status.node_name)
        return Running(
            key=meta.key,
            node=status.node_name,
            pod=next((pods[uid] for uid in mine if uid in pods), ""),
            uid=meta.uid,
            guest=guest,
            vcpus=vcpus(vmi),
            dirty_rate=self._dirty_rate(guest),
            copy=self._copies.look(meta.key, lab_s),
        )


def _nodes_of(vmi: Vmi) -> list[str]:
    """Also where its last migration went to: a launcher may have to end there."""
    state = vmi.status.migration_state
    target = state.target_node if state is not None else ""
    return [name for name in dict.fromkeys((vmi.status.node_name, target)) if name]


def _sizes(node: Node) -> NodeSizes:
    given = node.status.allocatable
    return NodeSizes(_quantity(given.get("cpu", 0)), _quantity(given.get("memory", 0)))


def _quantity(text: str | int) -> float:
    return float(parse_quantity(text, "quantity"))


async def serve(handler: Client, kubelet: Client, settings: PlayerSettings) -> None:
    """Run until SIGTERM."""
    await refuse_beside(kubelet, "trimtab")
    player = Player(handler, kubelet, settings)

    async def guests(_: Request) -> Response:
        return PlainTextResponse(player.page(), media_type="text/plain; version=0.0.4")

    async def fit(_: Request) -> Response:
        unfit = player.unfit()
        said = f"{len(unfit)} nodes are not labelled yet" if unfit else "every node is fit for VMs"
        return PlainTextResponse(said + "\n")

    routes = [Route("/guests/metrics", guests), Route("/nodes-fit", fit)]
    web = Web(routes, host=settings.host, port=settings.port)
    await Service(
        NAME,
        reflectors=player.reflectors,
        controllers=[player.controller, player.node_controller],
        jobs=[player.beat, partial(watch_for, kubelet, "trimtab")],
        web=web,
    ).run()
