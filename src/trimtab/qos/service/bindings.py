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
