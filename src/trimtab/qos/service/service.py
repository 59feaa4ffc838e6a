"""The qos service as a process: every replica keeps the ledger and serves the page, one acts.

First the stores, then the ledger from its checkpoints, then everything else. Whoever holds the
lease stamps, writes checkpoints and tells Events; the webhook answers on every replica.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec

from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError
from trimtab.kube.events import Recorder
from trimtab.kube.http.callers import Callers
from trimtab.kube.http.web import Tls, Web
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service, unique_identity
from trimtab.obs import get_logger
from trimtab.obs.metrics import REGISTRY
from trimtab.qos.ledger.ledger import JOINED, LEFT, LOST, Change
from trimtab.qos.page.access import PageAccess
from trimtab.qos.page.demand import Demand
from trimtab.qos.page.routes import Routes, Summary
from trimtab.qos.page.rows import Book
from trimtab.qos.page.series import Series
from trimtab.qos.queue.estimate import Waiting
from trimtab.qos.queue.key import ANNOTATION, parse
from trimtab.qos.queue.stamper import Restamper, Stamper
from trimtab.qos.queue.time_to_violation import SECOND
from trimtab.qos.service import metrics
from trimtab.qos.service.bindings import Bindings
from trimtab.qos.service.checkpoint import Checkpoints
from trimtab.qos.service.clock_skew import ServerTime, steady
from trimtab.qos.service.keeper import Keeper
from trimtab.qos.service.pauses import EVERY_S
from trimtab.qos.service.rebuild import Rebuild
from trimtab.qos.service.rounds import Rounds
from trimtab.qos.service.signals import Signals
from trimtab.qos.service.stores import Stores
from trimtab.qos.service.webhook import Webhook
from trimtab.qos.settings import NAME, NAMESPACE, Settings

log = get_logger()
JUDGE_S = 2.0
SKEW_S = 30.0
TIDY_EVERY = 5
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Qos:
    """All parts of one process, wired."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        now: Callable[[], int] = time.time_ns,
        clock: Callable[[], int] = steady,
    ) -> None:
        self._client = client
        self._settings = settings
        identity = unique_identity()
        self.elector = Elector(client, NAME, NAMESPACE, identity)
        self.recorder = Recorder(client, f"trimtab.dev/{NAME}", identity)
        self.time = ServerTime(now, clock)
        self.stores = Stores(client)
        self.keeper = Keeper(self.stores, settings, self.time)
        self.stamper = Stamper(self.keeper, settings, self.time)
        self.bindings = Bindings(settings.bindings, self.keeper.ledger, self.time.of_wall)
        self.book = Book(self.keeper, self.stamper, settings, lambda: self.bindings.live)
        self.demand = Demand(self.keeper, self.book)
        self.waiting = Waiting(self.keeper, self.stamper, self.time, self.demand.advice)
        self.signals = Signals(self.book, self.stamper, self.recorder, lambda: self.elector.leading)
        self._counted_from = self.time()
        self._wire(client.guarded(self.elector.check))

    def _wire(self, writing: Client) -> None:
        accounts = self.keeper.ledger.accounts
        self.checkpoints = Checkpoints(
            writing, self.keeper, self.book.line, self._settings.checkpoint_s
        )
        self.saving = Rounds(
            "qos-checkpoints", self.checkpoints.reconcile, lambda: accounts, at_most_every_s=2.0
        )
        restamper = Restamper(writing, self.stamper, self.keeper)
        self.stamping = Rounds(
            "qos-stamps", restamper.reconcile, lambda: accounts, at_most_every_s=1.0
        )
        self.keeper.on_touch = self.stamping.nudge
        self.keeper.on_begin = self._save
        self.keeper.on_complaint = self.signals.complain
        self.keeper.ledger.listen(self._heard)
        self.stores.pods.on_gap = self._missed
        self.keeper.follow()

    def _save(self, uid: str) -> None:
        self.checkpoints.changed(uid)
        self.saving.nudge(uid)

    def _heard(self, change: Change) -> None:
        uid = change.account.owner.uid
        self.checkpoints.changed(uid)
        metrics.lost_pods.inc(change.what == LOST)
        if change.what in ("ended", LOST, LEFT, JOINED) or uid not in self.checkpoints.written_at:
            self.saving.nudge(uid)
        if change.at >= self._counted_from:
            self._count(change)

    def _missed(self, seconds: float) -> None:
        metrics.watch_gaps.inc()
        log.warning("pods not followed", seconds=round(seconds, 1))
        now = self.time()
        for uid, account in self.keeper.ledger.accounts.items():
            account.unwatched(now - round(seconds * SECOND), now)
            self._save(uid)

    def _count(self, change: Change) -> None:
        pod = change.pod
        waited = ((pod.bound or pod.ended or pod.created) - pod.created) / SECOND
        if change.what == "bound":
            metrics.pod_wait.labels("bound").observe(waited)
        elif change.what == "ended" and pod.bound is None:
            metrics.pod_wait.labels("gone").observe(waited)
        elif change.what == "created":
            seen = self.keeper.members.get(change.account.owner.uid, {}).get(pod.uid)
            expected = not self._settings.measure_only
            if seen is not None and expected and self.stamper.is_ours(seen):
                metrics.unstamped.inc(not parse(seen.metadata.annotations.get(ANNOTATION, "")))

    # Jobs

    async def rebuild(self) -> None:
        started = time.monotonic()
        await self.measure_skew()
        rebuild = Rebuild(self._client, self.keeper)
        rebuild.on_start = self.checkpoints.begin
        outcome = await rebuild.run()
        self.checkpoints.know(rebuild.owners)
        self._counted_from = outcome.as_of or self._counted_from
        metrics.rebuild_seconds.set(time.monotonic() - started)
        metrics.watch_gaps.inc(outcome.gap)
        log.info("ledger rebuilt", **msgspec.to_builtins(outcome))

    async def judge(self) -> None:
        """Tell of promises at risk; settle what is over."""
        turn = 0
        while True:
            await asyncio.sleep(JUDGE_S)
            now, turn = self.time(), turn + 1
            self.signals.judge(now)
            if turn % TIDY_EVERY == 0:
                for account in list(self.keeper.ledger.accounts.values()):
                    self.keeper.tidy(account, now)

    async def pay_attention(self) -> None:
        while True:
            self.keeper.attention.look(self.time())
            await asyncio.sleep(EVERY_S)

    async def watch_skew(self) -> None:
        while True:
            await asyncio.sleep(SKEW_S)
            await self.measure_skew()

    async def measure_skew(self) -> None:
        """Ask the API server for the time, in passing."""
        sent = self.time.local()
        try:
            answer = await self._client.request("POST", REVIEW, body=_WHO_AM_I)
        except ApiError as error:
            log.warning("clock skew not measured", error=str(error))
            return
        said = msgspec.json.decode(answer)["metadata"].get("creationTimestamp")
        if said is None:
            return
        second = int(datetime.fromisoformat(said).timestamp()) * SECOND
        skew = self.time.skew
        skew.learn(sent, self.time.local(), second)
        metrics.skew_seconds.set(skew.offset / SECOND)
        metrics.skew_bound.set(max(abs(skew.least), abs(skew.most)) / SECOND)

    async def serve_webhook(self) -> None:
        chosen = self._settings
        if chosen.measure_only or chosen.certificate is None or chosen.key is None:
            return
        callers = Callers(chosen.client_ca, chosen.client_name)
        callers.warn()
        tls = Tls(chosen.certificate, chosen.key, client_ca=chosen.client_ca)
        web = Web(
            [Webhook(self.stamper, self.demand, callers, chosen.limits.enforced).route],
            host=chosen.webhook_address or chosen.address,
            port=chosen.webhook_port,
            tls=tls,
        )
        await web.run()

    def routes(self) -> Routes:
        summary = Summary(
            lambda: self.elector.leading,
            lambda: self.time.skew.offset,
            self.demand.classes,
            self.demand.advice,
            self.demand.promised,
        )
        access = PageAccess(self._client, self._settings.exposed)
        return Routes(self.keeper, self.book, self.waiting, summary, access, self._settings)


_WHO_AM_I = msgspec.json.encode(
    {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
)


class QosService(Service):
    """Ready only when the ledger is rebuilt."""

    def __init__(self, rebuild: Callable[[], Awaitable[None]], **parts: Any) -> None:
        super().__init__(NAME, **parts)
        self._rebuild = rebuild

    async def _act(self) -> None:
        for reflector in self._reflectors:
            await reflector.synced.wait()
        await self._rebuild()
        await super()._act()


async def serve(client: Client, settings: Settings) -> None:
    """Run until SIGTERM."""
    qos = Qos(client, settings)
    web = page_web(qos, settings)
    series = Series(qos.keeper, qos.book, qos.demand, qos.checkpoints.oldest, settings.series)
    REGISTRY.register(series)
    try:
        await (await assemble(qos, web, settings)).run()
    finally:
        REGISTRY.unregister(series)


async def assemble(qos: Qos, web: Web, settings: Settings) -> QosService:
    """The service of these parts; kinds that are not served yet are followed when they are."""
    there = await qos.stores.served()
    later: list[Reflector[Any]] = [each for each in qos.stores.optional if each not in there]
    jobs = [qos.bindings.run, qos.pay_attention, qos.judge, qos.watch_skew, qos.serve_webhook]
    return QosService(
        qos.rebuild,
        reflectors=[*qos.stores.needed, *there],
        controllers=[qos.saving] if settings.measure_only else [qos.saving, qos.stamping],
        jobs=[*jobs, lambda: qos.stores.follow_later(later)],
        elector=qos.elector,
        recorder=qos.recorder,
        web=web,
    )


def page_web(qos: Qos, settings: Settings) -> Web:
    """The page's port; for others than this computer it is TLS if there is a certificate."""
    tls = None
    if settings.exposed:
        if settings.certificate is not None and settings.key is not None:
            tls = Tls(settings.certificate, settings.key)
        else:
            log.warning("tokens travel in the clear", what_to_do="give --certificate and --key")
    return Web(qos.routes().all(), host=settings.address, port=settings.port, tls=tls)
