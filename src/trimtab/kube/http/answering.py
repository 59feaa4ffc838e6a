"""Answers in one piece: head and body leave in one TLS record and one system call.

uvicorn writes them one after the other, which doubles both; for the small answers of a
webhook that was a third of the CPU of a decision.

uvicorn's protocol is subclassed at two documented asyncio call-backs only (`connection_made`,
and httptools' `on_message_begin`). If an update breaks this, `http="httptools"` in `web.py`
serves the same answers more slowly, but knows no names of callers' certificates: a webhook with
`--client-ca` then refuses everybody.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from trimtab.kube.http.callers import PEER, common_name

JOINED_BYTES = 16_000
"""Up to here a copy is cheaper than a second record; larger bodies are not copied."""


class Together:
    """A transport that sends at once what is written within one turn of the event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        held, self._held = self._held, []
        if not held or self._transport.is_closing():
            return
        if sum(map(len, held)) <= JOINED_BYTES:
            self._transport.write(b"".join(held))
        else:
            self._transport.writelines(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 on such a transport."""

    _peer = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Together(transport))  # type: ignore[arg-type]
        self._peer = common_name(transport.get_extra_info("peercert"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._peer:
            self.scope.update({PEER: self._peer})  # type: ignore[misc]
