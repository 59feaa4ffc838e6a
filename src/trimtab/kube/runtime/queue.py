"""Work by key: no key twice at once, none forgotten, each retried ever more slowly.

A key that waits already is not added again. A key that is added while a worker holds it comes
back when that worker is done. A delayed key becomes ready at its time or when somebody adds
it, whichever is first. The time is the event loop's.
"""

import asyncio
from typing import Generic, TypeVar

from trimtab.kube.runtime.backoff import Backoff, Randomness, randomness

K = TypeVar("K")


class Queue(Generic[K]):
    """`at_most_every_s` is the least time between two turns of one key, however often added."""

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        at_most_every_s: float = 0.0,
        random: Randomness | None = None,
    ) -> None:
        self._backoff = backoff or Backoff(first_s=0.1, most_s=120.0)
        self._spacing_s = at_most_every_s
        self._random = random or randomness()
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._waiting: dict[K, float] = {}  # in _ready, since when
        self.last_wait_s = 0.0
        """How long the key that `get` returned last had been ready."""
        self._held: set[K] = set()  # by a worker
        self._resting: set[K] = set()  # had a turn less than _spacing_s ago
        self._again: set[K] = set()  # added while held or resting
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}

    @property
    def ready(self) -> int:
        """Keys that wait for nothing but a worker."""
        return len(self._waiting)

    @property
    def oldest_s(self) -> float:
        """How long the key that has been ready longest waits for a worker."""
        since = next(iter(self._waiting.values()), None)
        return 0.0 if since is None else asyncio.get_running_loop().time() - since

    @property
    def held(self) -> int:
        return len(self._held)

    @property
    def delayed(self) -> int:
        return len(self._timers)

    def add(self, key: K) -> None:
        """Give `key` a turn as soon as may be."""
        self._cancel_timer(key)
        if key in self._held or key in self._resting:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = asyncio.get_running_loop().time()
            self._ready.put_nowait(key)

    def add_after(self, key: K, delay_s: float) -> None:
        """Give `key` a turn in `delay_s` at the latest."""
        if key in self._waiting or key in self._again:
            return
        loop = asyncio.get_running_loop()
        pending = self._timers.get(key)
        if pending is not None and pending.when() <= loop.time() + delay_s:
            return
        self._cancel_timer(key)
        self._timers[key] = loop.call_later(delay_s, self.add, key)

    def retry(self, key: K) -> float:
        """A turn of `key` failed: another one later, each time later. Returns the delay."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay_s = self._backoff.delay_s(self._failures[key], self._random)
        self.add_after(key, delay_s)
        return delay_s

    def succeeded(self, key: K) -> None:
        """The next failure of `key` is its first again."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """The next key, to be handed back with `done`."""
        key = await self._ready.get()
        self.last_wait_s = asyncio.get_running_loop().time() - self._waiting.pop(key)
        self._held.add(key)
        if self._spacing_s:
            self._resting.add(key)
            asyncio.get_running_loop().call_later(self._spacing_s, self._rested, key)
        return key

    def done(self, key: K) -> None:
        self._held.remove(key)
        self._revive(key)

    def _rested(self, key: K) -> None:
        self._resting.discard(key)
        self._revive(key)

    def _revive(self, key: K) -> None:
        if key in self._again and key not in self._held and key not in self._resting:
            self._again.remove(key)
            self.add(key)

    def _cancel_timer(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
