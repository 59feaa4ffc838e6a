"""The scheduler's word: when it bound which pod, to the nanosecond.

Asked twice a second. A binding of a pod that the watch has not brought yet is kept for a while.
Without the plugin nothing is lost but the precision, and the page marks BINDING with `~`.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.obs import get_logger
from trimtab.qos.ledger.ledger import Ledger
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.service.metrics import bindings_live, bindings_missed

log = get_logger()
PAUSE_S, LONGER_S = 0.5, 5.0
FRESH_S = 30.0


class Binding(Struct, frozen=True):
    seq: int
    uid: str
    result: str
    start: datetime
    seconds: float


class BindingsAnswer(Struct, frozen=True):
    started: str
    next: int
    bindings: tuple[Binding, ...] = ()


_ANSWER = msgspec.json.Decoder(BindingsAnswer)


class Bindings:
    def __init__(self, url: str, ledger: Ledger, offset: Callable[[], int]) -> None:
        if url and urlsplit(url).scheme not in ("http", "https"):
            raise ConfigError(f"--bindings {url}: not a URL; write it like http://127.0.0.1:10001")
        self._url = url
        self._ledger = ledger
        self._offset = offset
        self._next = 0
        self._started = ""
        self._early: dict[str, Binding] = {}

    async def run(self) -> None:
        """Ask until cancelled."""
        if not self._url:
            return
        async with httpx2.AsyncClient(trust_env=False, timeout=5.0) as http:
            while True:
                heard = await self._ask(http)
                await asyncio.sleep(PAUSE_S if heard else LONGER_S)

    async def _ask(self, http: httpx2.AsyncClient) -> bool:
        try:
            response = await http.get(self._url, params={"since": self._next})
            response.raise_for_status()
            answer = _ANSWER.decode(response.content)
        except (httpx2.HTTPError, msgspec.MsgspecError) as error:
            self._turn(False, str(error) or type(error).__name__)
            return False
        self._turn(True, "")
        return self.take(answer) or await self._ask(http)

    def _turn(self, live: bool, why: str) -> None:
        if live != self._ledger.bindings_heard:
            log.info("bindings heard" if live else "bindings silent", url=self._url, why=why)
        self._ledger.bindings_heard = live
        bindings_live.set(live)

    def take(self, answer: BindingsAnswer) -> bool:
        """Put what was bound into the accounts; false if more must be asked for.

        Another scheduler counts from 1 again: our number means nothing to it.
        """
        again, asked = answer.started == self._started, self._next
        self._started = answer.started
        if asked and not again:
            self._next = 0
            return False
        if again and answer.bindings and answer.bindings[0].seq > max(1, asked):
            bindings_missed.inc(answer.bindings[0].seq - max(1, asked))
        self._next = answer.next
        waiting, self._early = self._early, {}
        for binding in (*waiting.values(), *answer.bindings):
            if binding.result == "bound" and not self._put(binding) and self._is_fresh(binding):
                self._early[binding.uid] = binding
        return True

    def _is_fresh(self, binding: Binding) -> bool:
        """Whether the watch may still bring its pod; some pods have no account."""
        return time.time() - binding.start.timestamp() < FRESH_S

    def _put(self, binding: Binding) -> bool:
        if self._ledger.of_pod(binding.uid) is None:
            return False
        start = int(binding.start.timestamp() * 1_000_000) * 1000 + self._offset()
        self._ledger.measured(binding.uid, start, start + round(binding.seconds * SECOND))
        return True


# The API server's clock, as far as it can be told from here.
#
# The API says the time in whole seconds. One such answer, asked for at s and received at r, bounds
# the difference: the server's clock is ahead by more than second - r and less than second + 1 - s.
# Several answers narrow it down. Only a difference that is certain is corrected.
WIDEST = 10 * SECOND  # an answer that took longer says nothing


class Skew(Struct):
    """Bounds of the server's clock minus ours, in nanoseconds."""

    least: int = -(2**62)
    most: int = 2**62
    samples: int = 0

    def learn(self, sent: int, received: int, second: int) -> None:
        """The server said `second` (nanoseconds, whole seconds) between these two moments."""
        if received - sent > WIDEST:
            return
        least, most = second - received, second + SECOND - sent
        if least > self.most or most < self.least:  # one of the clocks was set: begin again
            self.least, self.most = least, most
        else:
            self.least, self.most = max(self.least, least), min(self.most, most)
        self.samples += 1

    @property
    def offset(self) -> int:
        """What to add to our clock: nothing, unless both bounds say otherwise."""
        if not self.samples or self.least <= 0 <= self.most:
            return 0
        return (self.least + self.most) // 2


class ServerTime:
    """Nanoseconds since 1970 by the API server's clock.

    Between two answers of the server a steady clock goes on, so it does not matter if somebody
    sets this computer's clock, or sets it and corrects that at once. A small correction never
    makes time go back; a large one says that the server's own clock was set, and is followed.
    """

    def __init__(self, now: Callable[[], int], steady: Callable[[], int] | None = None) -> None:
        self.skew = Skew()
        self._wall = now
        self._steady = steady or now
        self._start = now() - self._steady()
        self._last = 0

    def __call__(self) -> int:
        now = self.local() + self.skew.offset
        if not 0 < self._last - now < WIDEST:
            self._last = now
        return self._last

    def local(self) -> int:
        """Our own time, unchanged when the clock is set."""
        return self._start + self._steady()

    def of_wall(self) -> int:
        """What to add to a time that this computer's clock said a moment ago."""
        return self.local() - self._wall() + self.skew.offset


def steady() -> int:
    """Nanoseconds of a clock that nobody sets, sleep of the computer included."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
