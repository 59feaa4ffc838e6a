"""The reconcile loop: a key changed somehow, make the world right for it.

`reconcile(key)` is level-triggered: it is told which object, never what happened. It reads
stores, writes through the client, and answers `Done` or `After(seconds)`. If it raises, the
key comes back, ever later. Keys run side by side, one key never does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from trimtab.errors import Conflict, NotReady, TrimtabError
from trimtab.kube.resources import Key, metadata
from trimtab.kube.runtime.queue import Queue
from trimtab.kube.runtime.reflector import Reflector
from trimtab.obs import bound_fields, get_logger
from trimtab.obs.metrics import gauge, histogram

T = TypeVar("T")
log = get_logger()
depth = gauge("trimtab_queue_depth", "Keys ready for a worker", "controller")
delayed = gauge("trimtab_queue_delayed", "Keys that wait for their time", "controller")
oldest = gauge("trimtab_queue_oldest_seconds", "How long the first ready key waits", "controller")
waits = histogram(
    "trimtab_queue_wait_seconds",
    "How long keys were ready before a worker took them",
    "controller",
    buckets=(0.001, 0.01, 0.1, 1.0, 10.0, 60.0),
)
seconds = histogram(
    "trimtab_reconcile_seconds",
    "Time of one reconcile by its outcome: done, after, failed",
    "controller",
    "outcome",
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0),
)


class Done(Struct, frozen=True):
    """Nothing left to do until something changes."""


class After(Struct, frozen=True):
    """Look again in so many seconds, or earlier if something changes."""

    seconds: float


Outcome = Done | After
Reconcile = Callable[[Key], Awaitable[Outcome]]


def own_key(obj: object) -> Iterable[Key]:
    return (metadata(obj).key,)


class Controller:
    """`workers` keys at a time, each for at most `limit_s`."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        workers: int = 4,
        limit_s: float = 60.0,
        queue: Queue[Key] | None = None,
    ) -> None:
        self.name = name
        self.queue: Queue[Key] = queue or Queue()
        self._reconcile = reconcile
        self._workers = workers
        self._limit_s = limit_s
        self._sources: list[Callable[[], Iterable[Key]]] = []
        self._running = False
        self._idle = asyncio.Event()
        self._idle.set()

    def follow(
        self, reflector: Reflector[T], keys: Callable[[T], Iterable[Key]] = own_key
    ) -> "Controller":
        """Reconcile `keys(object)` for every object that appears, changes (old and new) or goes."""

        def changed(old: T | None, new: T | None) -> None:
            for obj in (old, new):
                if obj is not None and self._running:
                    self._add_all(keys(obj))

        reflector.store.subscribe(changed)
        self.begin_with(lambda: (key for obj in reflector.store for key in keys(obj)))
        return self

    def begin_with(self, keys: Callable[[], Iterable[Key]]) -> None:
        """Reconcile these, too, whenever this process begins to act."""
        self._sources.append(keys)

    def enqueue(self, key: Key) -> None:
        """Reconcile a key soon. Dropped while another process leads: `run` begins with them all."""
        if self._running:
            self.queue.add(key)

    async def run(self) -> None:
        """Work until cancelled, beginning with every key there is.

        What happened while this process did not lead is thereby seen as well.
        """
        depth.labels(self.name).set_function(lambda: self.queue.ready)
        delayed.labels(self.name).set_function(lambda: self.queue.delayed)
        oldest.labels(self.name).set_function(lambda: self.queue.oldest_s)
        self._running = True
        for source in self._sources:
            self._add_all(source())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            self._running = False

    async def drain(self, limit_s: float) -> bool:
        """Take no more keys; true once the turns under way are over, false after `limit_s`."""
        self._running = False
        try:
            async with asyncio.timeout(limit_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def _add_all(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self.queue.add(key)

    async def _work(self) -> None:
        while self._running:
            key = await self.queue.get()
            waits.labels(self.name).observe(self.queue.last_wait_s)
            self._idle.clear()
            try:
                if self._running:
                    await self._turn(key)
            finally:
                self.queue.done(key)
                if not self.queue.held:
                    self._idle.set()
            await asyncio.sleep(0)  # a thousand turns without an await must not starve the others

    async def _turn(self, key: Key) -> None:
        started = time.perf_counter()
        outcome = "failed"
        with bound_fields(controller=self.name, key=str(key)):
            try:
                async with asyncio.timeout(self._limit_s):
                    result = await self._reconcile(key)
            except Exception as error:  # the boundary: whatever a reconciler raises is retried
                report(error, self.queue.retry(key))
            else:
                self.queue.succeeded(key)
                outcome = "done"
                if isinstance(result, After):
                    outcome = "after"
                    self.queue.add_after(key, result.seconds)
        seconds.labels(self.name, outcome).observe(time.perf_counter() - started)


def report(error: Exception, delay_s: float) -> None:
    """Expected trouble in one line, a bug with its traceback."""
    retry_in = round(delay_s, 1)
    if isinstance(error, Conflict | NotReady):
        log.debug("reconcile postponed", error=str(error), retry_in_s=retry_in)
    elif isinstance(error, TrimtabError | TimeoutError):
        log.warning("reconcile failed", error=str(error) or "timed out", retry_in_s=retry_in)
    else:
        log.error("reconcile crashed", error=repr(error), retry_in_s=retry_in, exc_info=error)
