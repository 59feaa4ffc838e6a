"""Pods, accounts and a whole service of promised availability, in a line each."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

import httpx2
import msgspec
from hypothesis import settings
from msgspec import Struct

from builders.examples import examples
from builders.waiting import until
from trimtab.kube.client import Client
from trimtab.kube.login.config import ClusterEntry, Config, UserEntry
from trimtab.kube.resources import PODS, Condition, Object, ObjectMeta, OwnerReference
from trimtab.kube.runtime.service import Service
from trimtab.qos.ledger.account import Account, AccountOwner
from trimtab.qos.ledger.pod_life import Incarnation, LifePod, LifeSpec, LifeStatus, PodMeta
from trimtab.qos.ledger.spans import Counting
from trimtab.qos.ledger.sums import AccountReading
from trimtab.qos.ledger.time_to_violation import SECOND, AccountGrowth
from trimtab.qos.page.slo_status import AccountView, AccountViews
from trimtab.qos.promise import Promise
from trimtab.qos.queue.key import horizon_of
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.queue.stamper import Stamper
from trimtab.qos.queue.waiting import WaitingQueue
from trimtab.qos.service.service import QosParts, assemble, page_web
from trimtab.qos.settings import QosSettings
from trimtab.qos.tracking.stores import QosStores
from trimtab.qos.tracking.tracker import AccountTracker

few = settings(max_examples=examples(20))
"""Property tests here are many: each looks at a few cases."""
START = 1_800_000_000
"""A moment to count seconds from."""


def at(second: float) -> int:
    """Nanoseconds, so many seconds after the start."""
    return START * SECOND + round(second * SECOND)


def when(second: float | None) -> datetime | None:
    return None if second is None else datetime.fromtimestamp(START + second, UTC)


def an_owner(
    name: str = "web", kind: str = "Deployment", namespace: str = "default"
) -> AccountOwner:
    return AccountOwner(f"uid-{namespace}-{name}", kind, name, namespace, "apps/v1")


def a_life(
    uid: str = "p1",
    created: float = 0,
    bound: float | None = None,
    ended: float | None = None,
    binding: float | None = None,
) -> Incarnation:
    """A pod's moments in seconds; `binding` is when its measured binding began."""
    return Incarnation(
        uid=uid,
        name=uid,
        created=at(created),
        bind_start=None if binding is None else at(binding),
        bound=None if bound is None else at(bound),
        ended=None if ended is None else at(ended),
        exact=binding is not None,
    )


def a_gated_life(
    uid: str = "p1",
    ungated: float | None = None,
    bound: float | None = None,
    ended: float | None = None,
) -> Incarnation:
    """A pod that was created with scheduling gates at second 0."""
    life = a_life(uid, 0, bound, ended)
    life.gated, life.ungated = True, None if ungated is None else at(ungated)
    return life


def an_account(*lives: Incarnation, kind: str = "Deployment", half_life_s: float = 0) -> Account:
    account = Account(an_owner(kind=kind), Counting(round(half_life_s * SECOND)))
    for life in lives:
        account.observe(life)
    return account


def a_view(
    name: str = "web",
    *,
    qos: float = 1.0,
    slo: float = 1.0,
    ttv: int | None = 0,
    running: int = 0,
    waiting: int = 0,
    binding: int = 0,
    approximate: bool = False,
    incarnations: int = 1,
) -> AccountView:
    """An account as it is shown; times in nanoseconds."""
    account = an_account()
    account.incarnations = incarnations
    reading = AccountReading(
        running, waiting, binding, running, waiting, False, AccountGrowth(1, 0), 0, 0, 0
    )
    promise = Promise(slo, "pod", f"{slo:g}")
    horizon = horizon_of(QosSettings(), is_vm=False)
    return AccountView(name, account, promise, reading, qos, ttv, approximate, at(0), horizon)


def a_life_pod(
    name: str = "web-1",
    *,
    namespace: str = "default",
    uid: str = "",
    owner: OwnerReference | None = None,
    created: float = 0,
    scheduled: float | None = None,
    deleted: float | None = None,
    grace: int = 0,
    phase: str = "",
    annotations: dict[str, str] | None = None,
    version: int = 1,
    **spec: Any,
) -> LifePod:
    """A pod object; times in seconds after the start."""
    conditions: tuple[Condition, ...] = ()
    if scheduled is not None:
        told = when(scheduled)
        conditions = (Condition(type="PodScheduled", status="True", last_transition_time=told),)
        spec.setdefault("node_name", "n1")
    return LifePod(
        metadata=PodMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"uid-{name}",
            resource_version=str(version),
            creation_timestamp=when(created),
            deletion_timestamp=None if deleted is None else when(deleted + grace),
            deletion_grace_period_seconds=None if deleted is None else grace,
            annotations=annotations or {},
            owner_references=() if owner is None else (owner,),
        ),
        spec=LifeSpec(**({"scheduler_name": "default-scheduler"} | spec)),
        status=LifeStatus(phase=phase, conditions=conditions),
    )


def controlled_by(kind: str, name: str, uid: str = "", api: str = "apps/v1") -> OwnerReference:
    return OwnerReference(
        api_version=api, kind=kind, name=name, uid=uid or f"uid-{name}", controller=True
    )


@cache
def unconnected() -> Client:
    """A client of an API server that is not there: what only reads stores does not mind."""
    return Client(Config(ClusterEntry("http://127.0.0.1:9"), UserEntry()))


class World:
    """The service's parts on stores that a test fills, with a clock that it sets."""

    def __init__(self, settings: QosSettings | None = None, *, measured: bool = True) -> None:
        self.second = 0.0
        self.settings = settings or QosSettings()
        self.stores = QosStores(unconnected())
        self.tracker = AccountTracker(self.stores, self.settings, self.now)
        self.tracker.ledger.bindings_heard = measured
        self.stamper = Stamper(self.tracker, self.settings)
        self.cores = PromisedCores(self.tracker)
        self.waiting = WaitingQueue(self.tracker, self.stamper, self.cores)
        self.accounts = AccountViews(self.tracker, self.settings)
        for reflector in [*self.stores.needed, *self.stores.optional]:
            reflector.synced.set()
        self.tracker.follow()
        self.tracker.open()
        self.tracker.replaying_from = None

    def now(self) -> int:
        return at(self.second)

    def put(self, *pods: LifePod) -> None:
        for pod in pods:
            self.stores.pods.store.put(pod)

    def remove(self, pod: LifePod) -> None:
        self.stores.pods.store.discard(pod.metadata.key)

    def owner(self, kind: str, name: str, **meta: Any) -> None:
        """An owner appears or changes; its uid follows its name."""
        found = ObjectMeta(**({"name": name, "namespace": "default", "uid": f"uid-{name}"} | meta))
        for reflector in self.stores.owners:
            if reflector.kind.kind == kind:
                reflector.store.put(Object(metadata=found))

    def account(self, uid: str) -> Account:
        return self.tracker.ledger.accounts[uid]

    def sums(self, uid: str) -> tuple[float, float]:
        """Running and waiting, in seconds, now."""
        reading = self.account(uid).at(self.now())
        return reading.running / SECOND, reading.waiting / SECOND


class Running(Struct):
    """A service in this process, and a way to its page."""

    qos: QosParts
    service: Service
    http: httpx2.AsyncClient

    async def text(self, path: str = "/", **headers: str) -> str:
        response = await self.http.get(path, headers=headers)
        assert response.status_code == 200, response.text
        return response.text

    async def json(self, path: str) -> Any:
        response = await self.http.get(path)
        assert response.status_code == 200, response.text
        return response.json()


@asynccontextmanager
async def running_qos(client: Client, settings: QosSettings) -> AsyncIterator[Running]:
    """The service, ready; stopped at the end as by SIGTERM."""
    qos = QosParts(client, settings)
    web = page_web(qos, settings)
    service = await assemble(qos, web, settings)
    task = asyncio.create_task(service.run())
    url = f"http://127.0.0.1:{web.port}"
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        try:
            await until(lambda: service.ready.is_set() or task.done(), "the service is ready")
            if task.done():
                await task
            yield Running(qos, service, http)
        finally:
            service.stop()
            await task


async def bind(client: Client, namespace: str, name: str) -> None:
    """What a scheduler does at the end."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    path = PODS.path(namespace, name, "binding")
    await client.request("POST", path, body=msgspec.json.encode(body))
