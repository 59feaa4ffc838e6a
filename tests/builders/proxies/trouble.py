"""Services whose writes fail half of the time: conflicts, errors, answers that get lost.

    with troubled(lab, "vm-controller", "webhook") as happened:
        ...
    assert happened["answer lost"]

The services themselves are the lab's own, restarted to reach the API server through a proxy.
"""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from builders.labs.lab import RunningLab
from builders.proxies.kills import KillProxy
from builders.waiting import LIMIT_S
from trimtab.files.writing import write_private
from trimtab.lab.components.identity import kubeconfig_file

LOST = "answer lost"
_REFUSALS = {
    "Conflict": b"409 Conflict",
    "InternalError": b"500 Internal Server Error",
    "ServiceUnavailable": b"503 Service Unavailable",
}
TROUBLES = (*_REFUSALS, LOST)
SHARE = 0.5


def _refusal(reason: str) -> bytes:
    status = _REFUSALS[reason]
    body = b'{"kind":"Status","status":"Failure","message":"made up","reason":"%b","code":%b}'
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    return head % status + body % (reason.encode(), status[:3])


class TroubleProxy(KillProxy):
    """Refuses some writes, and lets some arrive whose answer nobody hears."""

    def __init__(self, lab: RunningLab, service: str, happened: Counter[str]) -> None:
        super().__init__(lab, service)
        self._chance, self._happened = random.Random(service), happened

    async def _passes(self, write: str, back: asyncio.StreamWriter, writing: list[str]) -> bool:
        if self._chance.random() > SHARE:
            return True
        trouble = self._chance.choice(TROUBLES)
        self._happened[trouble] += 1
        if trouble == LOST:
            return await super()._passes(write, back, writing)
        back.write(_refusal(trouble))
        await back.drain()
        return False

    def _is_heard(self, answer: bytes, writing: list[str]) -> bool:
        return False


@contextmanager
def troubled(lab: RunningLab, *services: str) -> Iterator[Counter[str]]:
    """What has happened so far, by kind."""
    happened: Counter[str] = Counter()
    proxied: dict[str, Path] = {}
    serving, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with AsyncExitStack() as proxies:
            for service in services:
                proxy = TroubleProxy(lab, service, happened)
                proxied[service] = (await proxies.enter_async_context(proxy)).kubeconfig
            serving.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert serving.wait(LIMIT_S), "the proxies do not listen"
    kept = {service: (lab.dir / kubeconfig_file(service)).read_text() for service in services}
    try:
        _restart(lab, {service: path.read_text() for service, path in proxied.items()})
        yield happened
    finally:
        _restart(lab, kept)
        stop.set()
        thread.join(LIMIT_S)


def _restart(lab: RunningLab, configs: dict[str, str]) -> None:
    for service, text in configs.items():
        write_private(lab.dir / kubeconfig_file(service), text)
        lab.kill(service)
    lab.await_ready()


class ReadTroubleProxy(KillProxy):
    """Refuses to read objects of one kind while `refusing` is set; everything else passes."""

    def __init__(self, lab: RunningLab, service: str, plural: str) -> None:
        super().__init__(lab, service)
        self._plural, self.refusing, self.refused = f"/{plural}".encode(), False, 0

    async def _lets_through(
        self, data: bytes, back: asyncio.StreamWriter, writing: list[str]
    ) -> bool:
        line = data.partition(b"\r\n")[0]
        if not (self.refusing and line.startswith(b"GET ") and self._plural in line):
            return True
        self.refused += 1
        back.write(_refusal("ServiceUnavailable"))
        await back.drain()
        return False
