"""The qos service as a process: every replica keeps the ledger and serves the page, one acts.

First the stores, then the ledger from its checkpoints, then everything else. Whoever holds the
lease stamps, writes checkpoints and tells Events; the webhook answers on every replica.
"""

import asyncio
import time
from datetime import datetime
from typing import Any

import msgspec

from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError
from trimtab.kube.events import EventRecorder
from trimtab.kube.http.callers import Callers
from trimtab.kube.http.web import Tls, Web
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service, unique_identity
from trimtab.obs import get_logger
from trimtab.obs.metrics import REGISTRY
from trimtab.qos.ledger.ledger import JOINED, LEFT, LOST, AccountChange
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.feed import PageAccess
from trimtab.qos.page.routes import Routes
from trimtab.qos.page.slo_status import AccountViews
from trimtab.qos.queue.key import ANNOTATION, parse
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.queue.stamper import Stamper
from trimtab.qos.queue.waiting import WaitingQueue
from trimtab.qos.service import metrics
from trimtab.qos.service.bindings import Bindings, ServerTime, steady
from trimtab.qos.service.checkpoint import Checkpoints
from trimtab.qos.service.controllers import AccountController, Restamper
from trimtab.qos.service.rebuild import Rebuild
from trimtab.qos.service.slo_events import SloEvents
from trimtab.qos.service.webhook import StampingWebhook
from trimtab.qos.settings import NAME, NAMESPACE, QosSettings
from trimtab.qos.tracking.stores import EVERY_S, QosStores
from trimtab.qos.tracking.tracker import AccountTracker

log = get_logger()
JUDGE_S = 2.0
SKEW_S = 30.0
TIDY_EVERY = 5
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class QosParts:
    """All parts of one process, wired."""

    def __init__(self, client: Client, settings: QosSettings) -> None:
        self._client = client
        self._settings = settings
        identity = unique_identity()
        self.elector = Elector(client, NAME, NAMESPACE, identity)
        self.recorder = EventRecorder(client, f"trimtab.dev/{NAME}", identity)
        self.time = ServerTime(time.time_ns, steady)
        self.stores = QosStores(client)
        self.tracker = AccountTracker(self.stores, settings, self.time)
        self.stamper = Stamper(self.tracker, settings)
        self.cores = PromisedCores(self.tracker)
        self.waiting = WaitingQueue(self.tracker, self.stamper, self.cores)
        self.accounts = AccountViews(self.tracker, settings)
        self.bindings = Bindings(settings.bindings, self.tracker.ledger, self.time.of_wall)
        self.events = SloEvents(
            self.tracker, self.accounts, self.recorder, lambda: self.elector.leading
        )
        self._counted_from = self.time()
        self._control(client.guarded(self.elector.check))

    def _control(self, writing: Client) -> None:
        """The two controllers, and what gives accounts a turn."""
        ledger = self.tracker.ledger
        self.checkpoints = Checkpoints(
            writing, self.tracker, self.accounts, self._settings.checkpoint_s
        )
        self.saving = AccountController(
            "qos-checkpoints", self.checkpoints.reconcile, ledger, at_most_every_s=2.0
        )
        restamper = Restamper(writing, self.stamper, self.tracker)
        self.stamping = AccountController(
            "qos-stamps", restamper.reconcile, ledger, at_most_every_s=1.0
        )
        self.tracker.on_change = self._changed
        ledger.listen(self._heard)
        self.stores.pods.on_gap = self._missed
        self.tracker.follow()

    def _changed(self, uid: str) -> None:
        self.stamping.enqueue_account(uid)
        if uid not in self.tracker.ledger.accounts:
            self.saving.enqueue_account(uid)
        elif uid not in self.checkpoints.written_at:
            self._save(uid)

    def _save(self, uid: str) -> None:
        self.checkpoints.changed(uid)
        self.saving.enqueue_account(uid)

    def _heard(self, change: AccountChange) -> None:
        uid = change.account.owner.uid
        self.checkpoints.changed(uid)
        metrics.lost_pods.inc(change.what == LOST)
        if change.what in ("ended", LOST, LEFT, JOINED) or uid not in self.checkpoints.written_at:
            self.saving.enqueue_account(uid)
        if change.at >= self._counted_from:
            self._count(change)

    def _missed(self, seconds: float) -> None:
        metrics.watch_gaps.inc()
        log.warning("pods not followed", seconds=round(seconds, 1))
        now = self.time()
        for uid, account in self.tracker.ledger.accounts.items():
            account.unwatched(now - round(seconds * SECOND), now)
            self._save(uid)

    def _count(self, change: AccountChange) -> None:
        pod = change.pod
        waited = ((pod.bound or pod.ended or pod.created) - pod.created) / SECOND
        if change.what == "bound":
            metrics.pod_wait.labels("bound").observe(waited)
        elif change.what == "ended" and pod.bound is None:
            metrics.pod_wait.labels("gone").observe(waited)
        elif change.what == "created":
            seen = self.tracker.members.get(change.account.owner.uid, {}).get(pod.uid)
            expected = not self._settings.measure_only
            if seen is not None and expected and self.stamper.is_ours(seen):
                metrics.unstamped.inc(not parse(seen.metadata.annotations.get(ANNOTATION, "")))

    # Jobs

    async def rebuild(self) -> None:
        started = time.monotonic()
        await self.measure_skew()
        rebuild = Rebuild(self._client, self.tracker)
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
            self.events.judge(now)
            if turn % TIDY_EVERY == 0:
                for account in list(self.tracker.ledger.accounts.values()):
                    self.tracker.tidy(account, now)

    async def pay_attention(self) -> None:
        while True:
            self.tracker.pauses.look(self.time())
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
            [StampingWebhook(self.stamper, self.cores, callers, chosen.limits.enforced).route],
            host=chosen.webhook_address or chosen.address,
            port=chosen.webhook_port,
            tls=tls,
        )
        await web.run()

    def routes(self) -> Routes:
        return Routes(
            self.tracker,
            self.waiting,
            PageAccess(self._client, self._settings.exposed),
            self._settings,
            leading=lambda: self.elector.leading,
            skew=lambda: self.time.skew.offset,
        )


_WHO_AM_I = msgspec.json.encode(
    {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
)


async def serve(client: Client, settings: QosSettings) -> None:
    """Run until SIGTERM."""
    qos = QosParts(client, settings)
    web = page_web(qos, settings)
    series = metrics.AccountMetrics(
        qos.tracker, qos.accounts, qos.cores, qos.checkpoints.oldest, settings.series
    )
    REGISTRY.register(series)
    try:
        await (await assemble(qos, web, settings)).run()
    finally:
        REGISTRY.unregister(series)


async def assemble(qos: QosParts, web: Web, settings: QosSettings) -> Service:
    """The service of these parts; kinds that are not served yet are followed when they are."""
    there = await qos.stores.served()
    later: list[Reflector[Any]] = [each for each in qos.stores.optional if each not in there]
    jobs = [qos.bindings.run, qos.pay_attention, qos.judge, qos.watch_skew, qos.serve_webhook]
    return Service(
        NAME,
        prepare=qos.rebuild,
        reflectors=[*qos.stores.needed, *there],
        controllers=[qos.saving] if settings.measure_only else [qos.saving, qos.stamping],
        jobs=[*jobs, lambda: qos.stores.follow_later(later)],
        elector=qos.elector,
        recorder=qos.recorder,
        web=web,
    )


def page_web(qos: QosParts, settings: QosSettings) -> Web:
    """The page's port; for others than this computer it is TLS if there is a certificate."""
    tls = None
    if settings.exposed:
        if settings.certificate is not None and settings.key is not None:
            tls = Tls(settings.certificate, settings.key)
        else:
            log.warning("tokens travel in the clear", what_to_do="give --certificate and --key")
    return Web(qos.routes().all(), host=settings.address, port=settings.port, tls=tls)
