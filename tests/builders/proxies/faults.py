"""A proxy in front of an API server that does what networks do.

It ends the client's TLS and opens its own to the server (as the administrator), so that it
knows where a line of the stream ends and can cut in the middle of one. Faults hold for all
connections, also those already open, until `heal`.
"""

import asyncio
import ssl
from contextlib import suppress
from typing import Literal, Self

from conformance.apiserver import ADMIN, ApiServer

Fault = Literal["none", "refuse", "stuck", "slow", "cut", "gone"]
GONE = (
    b"HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    b'{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}'
)


class FaultProxy:
    """Use as a context manager; `kubeconfig` leads through it."""

    def __init__(self, apiserver: ApiServer) -> None:
        self._apiserver = apiserver
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._changed = asyncio.Event()
        self.fault: Fault = "none"
        self.cuts = 0
        self.refusals = 0
        self.goners = 0

    async def __aenter__(self) -> Self:
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(self._apiserver.directory / "serving.pem")
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=serving)
        port = self._server.sockets[0].getsockname()[1]
        url = f"https://127.0.0.1:{port}"
        self.kubeconfig = self._apiserver.kubeconfig_for(url, *ADMIN)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.heal()
        while self._connections:  # those still being made cannot be dropped at the first attempt
            self.drop()
            await asyncio.wait(self._connections, timeout=0.05)

    def set(self, fault: Fault) -> None:
        """From now on: refuse connections and end open ones; keep them but pass nothing
        (stuck); pass a few bytes at a time (slow); end each in the middle of the next line
        (cut); answer the next watches with HTTP 410 (gone)."""
        self.fault = fault
        self._changed.set()
        self._changed = asyncio.Event()
        if fault in ("refuse", "gone"):
            self.drop()

    def heal(self) -> None:
        self.set("none")

    def drop(self) -> None:
        """End all open connections without a word."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault == "refuse":
            self.refusals += 1
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                there = await asyncio.open_connection(
                    "127.0.0.1", self._apiserver.port, ssl=self._apiserver.tls()
                )
                await self._couple((reader, writer), there)
        finally:
            writer.transport.abort()

    async def _couple(
        self,
        here: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        there: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        ends = (here[1], there[1])
        self._writers.update(ends)
        up = asyncio.ensure_future(self._requests(here[0], there[1], here[1]))
        down = asyncio.ensure_future(self._answers(there[0], here[1]))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in (up, down):
                pump.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
            for end in ends:
                self._writers.discard(end)
                end.transport.abort()

    async def _requests(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        while data := await source.read(65536):
            if self.fault == "gone" and b"watch=true" in data:
                self.goners += 1
                back.write(GONE)
                await back.drain()
                return
            to.write(data)
            await to.drain()

    async def _answers(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            while self.fault == "stuck":
                await self._changed.wait()
            if self.fault == "cut" and len(data) > 1:
                self.cuts += 1
                to.write(data[: len(data) // 2])
                await to.drain()
                return
            if self.fault == "slow":
                await self._trickle(data, to)
                continue
            to.write(data)
            await to.drain()

    async def _trickle(self, data: bytes, to: asyncio.StreamWriter) -> None:
        for start in range(0, len(data), 97):
            to.write(data[start : start + 97])
            await to.drain()
            if self.fault == "slow":
                await asyncio.sleep(0.002)
