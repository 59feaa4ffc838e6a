"""Keeps a store equal to the API: list once, then watch for as long as the process lives.

A broken watch resumes at the last resourceVersion seen, so nothing between is lost; when the
server no longer remembers that version (410, as a status or inside the stream) everything is
listed again and the store swapped, so a deletion during the gap is seen too. No wait is
endless: the server ends a watch after `server_timeout_s`, and if it does not, we do.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Generic, TypeVar

from msgspec import Struct

from trimtab.kube.client import Client, Params, selectors
from trimtab.kube.codec import WatchEvent
from trimtab.kube.errors import ApiError, Expired, NotFound
from trimtab.kube.resources import Kind, metadata
from trimtab.kube.runtime.backoff import Backoff, Randomness, randomness
from trimtab.kube.runtime.store import Index, Store
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter, gauge

T = TypeVar("T")
log = get_logger()

restarts = counter("trimtab_kube_watch_restarts_total", "Watches begun anew", "store", "reason")
lists = counter("trimtab_kube_lists_total", "Full lists read", "store")
objects = gauge("trimtab_kube_objects", "Objects in the store", "store")
silence = gauge("trimtab_kube_last_event_age_seconds", "Since word from the API", "store")


class Patience(Struct, frozen=True):
    """How much to ask for at once, and how long to wait for it."""

    page: int = 500
    server_timeout_s: int = 290
    grace_s: float = 15.0
    backoff: Backoff = Backoff()


class Reflector(Generic[T]):
    """The store of one kind, optionally of one namespace or what some selectors match."""

    def __init__(
        self,
        client: Client,
        kind: Kind[T],
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Index[T]] | None = None,
        name: str = "",
        patience: Patience | None = None,
        random: Randomness | None = None,
    ) -> None:
        self.kind = kind
        self.name = name or kind.plural
        self.store: Store[T] = Store(indexes)
        self.synced = asyncio.Event()
        self.trouble: ApiError | None = None
        self.gap_s = 0.0
        """How long no watch ran before a new list after a 410; set while subscribers hear of it."""
        self.on_gap: Callable[[float], None] = lambda _: None
        """Called with `gap_s` before that: objects that came and went meanwhile were not seen."""
        self._client = client
        self._namespace = namespace
        self._selectors = selectors(labels, fields)
        self._patience = patience or Patience()
        self._random = random or randomness()
        self._version = ""
        self._failures = 0
        self._heard_at = 0.0
        self._deaf_since: float | None = None
        self._clock: Callable[[], float] = lambda: 0.0  # the loop's, once running
        self._limit_s = self._patience.server_timeout_s + self._patience.grace_s

    @property
    def version(self) -> str:
        """Up to which resourceVersion the store knows everything; empty before the first list."""
        return self._version

    def age_s(self) -> float:
        """Seconds since the API last said anything, bookmarks included; 0 before the start."""
        return self._clock() - self._heard_at

    @property
    def stale(self) -> bool:
        """Has it been silent for longer than any healthy watch is?"""
        return self.age_s() > 2 * self._limit_s

    async def run(self) -> None:
        """Follow the API until cancelled."""
        self._clock = asyncio.get_running_loop().time
        self._heard_at = self._clock()
        silence.labels(self.name).set_function(self.age_s)
        objects.labels(self.name).set_function(lambda: len(self.store))
        while True:
            self._failures += 1  # until a watch delivers something
            reason = await self._once()
            restarts.labels(self.name, reason).inc()
            if self._failures:
                await asyncio.sleep(self._patience.backoff.delay_s(self._failures, self._random))

    async def _once(self) -> str:
        """List if necessary, then one watch to its end; the reason why it ended."""
        try:
            if not self._version:
                await self._list()
            async with asyncio.timeout(self._limit_s):
                return await self._watch()
        except Expired:
            self._version = ""
            if self.synced.is_set() and self._deaf_since is None:
                self._deaf_since = self._heard_at
            return "expired"
        except TimeoutError:
            return "silent"
        except NotFound as error:  # the kind is not served, so there are no objects of it
            self._version = ""
            self.store.swap(())
            return self._note(error)
        except ApiError as error:
            return self._note(error)

    async def _list(self) -> None:
        found: list[T] = []
        version = ""
        pages = self._client.pages(self.kind, self._namespace, self._selectors, self._patience.page)
        async with aclosing(pages):
            async for page in pages:
                found += page.items
                version = page.metadata.resource_version
                self._hear()
        self._settle(found, version)

    async def _watch(self) -> str:
        started = self._clock()
        batches = self._client.watch(self.kind, self._namespace, self._params(), self._limit_s)
        async with aclosing(batches):
            async for batch in batches:
                self._hear()
                self._failures = 0
                for event in batch:
                    self._take(event)
        if self._failures and self._clock() - started > self._patience.server_timeout_s / 2:
            # Not even a bookmark: quite normal. But the API server is as silent about a version
            # it has not reached yet, which ours becomes when older data are restored under it.
            self._version = ""
            self._failures = 0
            return "quiet"
        return "ended"

    def _params(self) -> Params:
        spread = 1 - self._random() / 10  # so that not all watches end at the same moment
        return self._selectors | {
            "allowWatchBookmarks": "true",
            "timeoutSeconds": max(1, round(self._patience.server_timeout_s * spread)),
            "resourceVersion": self._version,
        }

    def _take(self, event: WatchEvent[T]) -> None:
        meta = metadata(event.object)
        if event.type == "DELETED":
            self.store.discard(meta.key)
        elif event.type != "BOOKMARK":
            self.store.put(event.object)
        self._version = meta.resource_version

    def _settle(self, found: Sequence[T], version: str) -> None:
        """A whole state as of `version`: the store becomes it."""
        lists.labels(self.name).inc()
        if self._deaf_since is not None:
            self.gap_s, self._deaf_since = self._clock() - self._deaf_since, None
            self.on_gap(self.gap_s)
        self.store.swap(found)
        self.gap_s = 0.0
        self._version = version
        if not self.synced.is_set():
            log.debug("store synced", store=self.name, objects=len(found))
        self.synced.set()

    def _hear(self) -> None:
        self._heard_at = self._clock()
        if self.trouble is not None:
            log.info("watch recovered", store=self.name)
            self.trouble = None

    def _note(self, error: ApiError) -> str:
        if self.trouble is None:
            log.warning("watch interrupted", store=self.name, error=str(error))
        self.trouble = error
        return error.reason or f"http {error.code}"
