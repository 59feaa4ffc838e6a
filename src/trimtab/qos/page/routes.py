"""The page and its API over HTTP; only GET, nothing of a pod's spec leaves the house."""

from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import blake2b
from typing import Any

import msgspec
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trimtab.errors import ConfigError
from trimtab.kube.http.authorize import AccessDenied
from trimtab.obs.metrics import exposition
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.answers import (
    API,
    AccountRow,
    Controllers,
    HistoryAnswer,
    HistoryEntry,
    PromisesShown,
    QueueAnswer,
    SettingsShown,
    as_row,
    by_class,
)
from trimtab.qos.page.feed import Feed, PageAccess, TooManyReaders
from trimtab.qos.page.html import HEADERS, html_page
from trimtab.qos.page.slo_status import AccountView, AccountViews, by_deadline, by_ttv
from trimtab.qos.page.text import moment, page, wide_page
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.queue.waiting import NoSuchPod, WaitingQueue
from trimtab.qos.settings import QosSettings
from trimtab.qos.tracking.tracker import AccountTracker

SORTS = ("name", "ttv", "deadline")
STUCK_S = 30.0
"""A reader of events that takes nothing for so long is dropped."""
Endpoint = Callable[[Request], Awaitable[Response]]


class Routes:
    def __init__(
        self,
        tracker: AccountTracker,
        waiting: WaitingQueue,
        access: PageAccess,
        settings: QosSettings,
        *,
        leading: Callable[[], bool],
        skew: Callable[[], int],
    ) -> None:
        self._tracker = tracker
        self._accounts = AccountViews(tracker, settings)
        self._cores = PromisedCores(tracker)
        self._waiting = waiting
        self._access = access
        self._leading = leading
        self._skew = skew
        self._shown = SettingsShown(settings.safety_margin_s, settings.half_life_s)
        self._limits = settings.limits
        self._feed = Feed(self._encoded)

    def all(self) -> list[Route]:
        endpoints: dict[str, Endpoint] = {
            "/": self.table,
            "/v1/controllers": self.controllers,
            "/v1/queue": self.queue,
            "/v1/explain": self.explain,
            "/v1/history": self.history,
            "/v1/events": self.events,
            "/metrics": self.metrics,  # before the service's own, which asks nobody who they are
        }
        return [Route(path, self._guarded(each)) for path, each in endpoints.items()]

    async def metrics(self, _: Request) -> Response:
        return Response(exposition(), media_type="text/plain; version=0.0.4")

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            response = await self._answered(endpoint, request)
            response.headers["X-Content-Type-Options"] = "nosniff"
            return response

        return guarded

    async def _answered(self, endpoint: Endpoint, request: Request) -> Response:
        try:
            await self._access.check(request)
            if not self._tracker.ready and endpoint != self.metrics:
                return _text("the ledger is being rebuilt; ask again in a moment\n", 503)
            return await endpoint(request)
        except AccessDenied as denied:
            return denied.answer()
        except TooManyReaders as error:
            return _text(f"{error}\n", 503)
        except NoSuchPod as error:
            return _text(f"{error}\n", 404)
        except ConfigError as error:
            return _text(f"{error}\n", 400)

    async def table(self, request: Request) -> Response:
        """The page as text; JSON and HTML for whoever asks for them."""
        accepted = request.headers.get("accept", "")
        if "application/json" in accepted:
            return await self.controllers(request)
        if "text/html" in accepted:
            return self._html(request.query_params.get("ns", ""))
        query, now = request.query_params, self._tracker.now()
        namespace, wide = query.get("ns", ""), query.get("wide", "") in ("1", "true")
        by = query.get("sort", "name")
        if by not in SORTS:
            raise ConfigError(f"sort: {by!r} is none of {', '.join(SORTS)}")
        show = self._accounts.all if wide or by == "deadline" else self._accounts.on_the_page
        views = _sorted(show(now, namespace), by)
        text = wide_page(views, self._waiting.ranks(now)) if wide else page(views)
        return _tagged(request, text.encode())

    def _html(self, namespace: str) -> Response:
        now = self._tracker.now()
        text = html_page(self._accounts.all(now, namespace), moment(now) or "", namespace)
        return Response(text, media_type="text/html; charset=utf-8", headers=HEADERS)

    async def controllers(self, request: Request) -> Response:
        namespace = request.query_params.get("ns", "")
        return _json(self._controllers(self._tracker.now(), namespace))

    def _controllers(self, now: int, namespace: str) -> Controllers:
        views = self._accounts.all(now)
        return Controllers(
            API,
            moment(now) or "",
            self._leading(),
            self._skew() / SECOND,
            self._shown,
            by_class(views),
            self._cores.advice(),
            self._promises(),
            [
                self._row(view)
                for view in views
                if not namespace or view.owner.namespace == namespace
            ],
        )

    def _row(self, view: AccountView) -> AccountRow:
        return as_row(view, self._tracker.ceiling(view.owner))

    def _promises(self) -> PromisesShown:
        promised, limits = self._cores.promised(), self._limits
        budget = None if limits.budget is None else limits.budget * promised.capacity
        return PromisesShown(
            promised.cores, promised.capacity, budget, limits.highest_slo, limits.enforced
        )

    async def queue(self, request: Request) -> Response:
        note = "an estimate: the scheduler's attempts and back-off are not known here"
        pods, namespace = self._waiting.queue(), request.query_params.get("ns", "")
        chosen = [pod for pod in pods if not namespace or pod.namespace == namespace]
        return _json(QueueAnswer(API, moment(self._tracker.now()) or "", True, note, chosen))

    async def explain(self, request: Request) -> Response:
        namespace, slash, name = request.query_params.get("pod", "").partition("/")
        if not slash or not name:
            raise ConfigError("pod: write it like ?pod=namespace/name")
        return _json(self._waiting.explain(namespace, name))

    async def history(self, request: Request) -> Response:
        account = self._tracker.ledger.accounts.get(request.query_params.get("uid", ""))
        if account is None:
            raise NoSuchPod("uid: no controller has it; see /v1/controllers")
        entries = [HistoryEntry(moment(each.at), each.pod, each.what) for each in account.history]
        note = "since this process started; the newest 64"
        row = self._row(self._accounts.one(account, self._tracker.now()))
        return _json(HistoryAnswer(API, row, note, entries))

    async def events(self, request: Request) -> Response:
        """The controllers every two seconds, as server-sent events."""
        answers = self._feed.stream(request.query_params.get("ns", ""))

        async def stream() -> AsyncIterator[dict[str, str]]:
            try:
                async for answer in answers:
                    yield {"event": "controllers", "data": answer}
            finally:
                await answers.aclose()

        return EventSourceResponse(stream(), send_timeout=STUCK_S)

    def _encoded(self, namespace: str) -> str:
        return msgspec.json.encode(self._controllers(self._tracker.now(), namespace)).decode()


def _sorted(views: list[AccountView], by: str) -> list[AccountView]:
    return by_ttv(views) if by == "ttv" else by_deadline(views) if by == "deadline" else views


def _tagged(request: Request, body: bytes) -> Response:
    tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    return Response(body, media_type="text/plain; charset=utf-8", headers=headers)


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _text(text: str, status: int) -> Response:
    return Response(text, status, media_type="text/plain; charset=utf-8")
