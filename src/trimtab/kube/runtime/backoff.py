"""How long to wait after a failure, and how fast to write: time as data, waiting elsewhere."""

import asyncio
from collections.abc import Callable
from random import Random

from msgspec import Struct

Randomness = Callable[[], float]
"""A number in [0, 1), as `random.Random.random` returns."""


def randomness(seed: int | None = None) -> Randomness:
    return Random(seed).random


class Backoff(Struct, frozen=True):
    """Doubling from `first_s` to `most_s`, each delay shortened by up to half at random.

    Without the jitter everyone who lost the same API server comes back at the same moment.
    """

    first_s: float = 0.2
    most_s: float = 30.0

    def delay_s(self, failures: int, random: Randomness) -> float:
        """The wait after so many failures in a row (1 is the first)."""
        whole = min(self.most_s, self.first_s * 2.0 ** min(failures - 1, 60))
        return whole * (1 - random() / 2)


class TokenBucket:
    """Lets `rate` calls a second pass, and `burst` at once after a quiet time."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._tokens = float(burst)
        self._at = float("-inf")

    async def take(self) -> float:
        """Wait for a turn; returns for how long, in seconds. Turns are given in order."""
        now = asyncio.get_running_loop().time()
        earned = (now - self._at) * self.rate
        self._tokens = min(self.burst, self._tokens + earned) - 1
        self._at = now
        wait = max(0.0, -self._tokens / self.rate)
        if wait:
            await asyncio.sleep(wait)
        return wait

    def try_take(self, now: float) -> bool:
        """Take a turn only if there is one now."""
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
