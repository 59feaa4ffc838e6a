"""Events: what happened to an object, for people who run `kubectl describe`.

`record` never waits and never fails; a background task writes. The same news about the same
object again becomes a count on the first Event instead of another one, and an object that
makes too much noise is cut off. Events are lost rather than anything delayed for them.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from msgspec import Struct, structs, to_builtins

from trimtab.errors import TrimtabError
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, NotFound, Unavailable
from trimtab.kube.resources import EVENTS, Free, ObjectReference, micro_time
from trimtab.kube.runtime.backoff import TokenBucket
from trimtab.kube.runtime.queue import Queue
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter

log = get_logger()
written = counter("trimtab_events_total", "Events by outcome: created, counted, dropped", "outcome")

SERIES = timedelta(minutes=6)  # a longer silence begins a new Event
ATTEMPTS = 5
REMEMBERED = 4096


class EventIdentity(NamedTuple):
    """What makes two Events the same."""

    about: ObjectReference
    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str
    related: ObjectReference | None


class RepeatedEvent(Struct):
    name: str = ""  # of the Event, once it exists
    count: int = 0
    failures: int = 0
    first: datetime = datetime.min
    last: datetime = datetime.min


class EventRecorder:
    """Writes as `controller` (a qualified name) on `instance` (this process)."""

    def __init__(
        self,
        client: Client,
        controller: str,
        instance: str,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        burst: int = 25,
        per_s: float = 1 / 60,
        count_every_s: float = 10.0,
    ) -> None:
        self._client = client
        self._source = {"reportingController": controller, "reportingInstance": instance[:128]}
        self._now = now
        self._noise = (per_s, burst)
        self._buckets: dict[ObjectReference, TokenBucket] = {}
        self._series: dict[EventIdentity, RepeatedEvent] = {}
        self._queue: Queue[EventIdentity] = Queue(at_most_every_s=count_every_s)

    def record(
        self,
        about: ObjectReference,
        reason: str,
        note: str,
        *,
        type: Literal["Normal", "Warning"] = "Normal",
        action: str = "",
        related: ObjectReference | None = None,
    ) -> None:
        """Tell about `about` (see `Kind.reference`); `reason` is a word in CamelCase."""
        news = EventIdentity(
            unversioned(about), type, reason, action or reason, note[:1024], related
        )
        now = self._now()
        series = self._series.pop(news, None)
        if series is None or now - series.last > SERIES:
            if not self._bearable(news.about, now):
                written.labels("dropped").inc()
                return
            series = RepeatedEvent(first=now)
        series.count += 1
        series.last = now
        self._series[news] = series  # the most recent last
        self._queue.add(news)
        forget_oldest(self._series)

    async def run(self) -> None:
        """Write what was recorded, until cancelled; then what is left, for two seconds at most."""
        try:
            while True:
                await self._write_next()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    while self._queue.ready:
                        await self._write_next()

    async def _write_next(self) -> None:
        news = await self._queue.get()
        try:
            series = self._series.get(news)
            if series is not None:
                await self._write(news, series)
        except asyncio.CancelledError:
            self._queue.add(news)  # for the last words
            raise
        finally:
            self._queue.done(news)

    async def _write(self, news: EventIdentity, series: RepeatedEvent) -> None:
        try:
            written.labels(await self._send(news, series)).inc()
            series.failures = 0
        except TrimtabError as error:  # also the veto of a guarded client
            series.failures += 1
            if isinstance(error, Unavailable) and series.failures < ATTEMPTS:
                self._queue.retry(news)
                return
            written.labels("dropped").inc()
            self._series.pop(news, None)
            log.warning("event dropped", reason=news.reason, note=news.note, error=str(error))

    async def _send(self, news: EventIdentity, series: RepeatedEvent) -> str:
        namespace = news.about.namespace or "default"
        if series.name:
            count = {"count": series.count, "lastObservedTime": micro_time(series.last)}
            with suppress(NotFound):  # Events live for an hour: then create another
                await self._client.patch(EVENTS, series.name, {"series": count}, namespace)
                return "counted"
            series.count, series.first = 1, series.last
        name = event_name(news, series.first)
        with suppress(AlreadyExists):  # an earlier attempt whose answer we did not hear
            await self._client.create(EVENTS, self._event(name, news, series), namespace)
        series.name = name
        if series.count > 1:  # it happened again before the first was written
            self._queue.add(news)
        return "created"

    def _event(self, name: str, news: EventIdentity, series: RepeatedEvent) -> Free:
        event: Free = {
            "metadata": {"name": name},
            "eventTime": micro_time(series.first),
            "type": news.type,
            "reason": news.reason[:128],
            "action": news.action[:128],
            "note": news.note,
            "regarding": to_builtins(news.about),
        }
        related: dict[str, Any] = {"related": to_builtins(news.related)} if news.related else {}
        return event | related | self._source

    def _bearable(self, about: ObjectReference, now: datetime) -> bool:
        bucket = self._buckets.pop(about, None) or TokenBucket(*self._noise)
        self._buckets[about] = bucket
        forget_oldest(self._buckets)
        return bucket.try_take(now.timestamp())


def forget_oldest(table: dict[Any, Any]) -> None:
    while len(table) > REMEMBERED:
        del table[next(iter(table))]


def unversioned(about: ObjectReference) -> ObjectReference:
    """Without the version, or each change of the object would begin a new Event."""
    return structs.replace(about, resource_version="")


def event_name(news: EventIdentity, first: datetime) -> str:
    """Unique among what this process ever says about the object, and a legal name."""
    digest = sha256(repr((news, first)).encode()).hexdigest()[:16]
    return f"{news.about.name[:230].rstrip('.-')}.{digest}"
