"""HTTP/1.1 to one server, for httpx2: a C parser on the event loop's own TLS.

The API server streams lists and watches as a great many small chunks. httpx2's transport takes
about thirty microseconds of Python for each, which is three quarters of the CPU of a large list
(docs/decisions/0004); here a chunk is one append. And a connection that is cancelled while it is
being made is closed, not left to the garbage collector.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from typing import cast

import httpx2
from httptools import HttpParserError, HttpResponseParser

GUARD = "guard"
"""Extension of a request: called, and free to raise, at the last moment before it is sent."""
WHOLE = "whole"
"""Extension of a request: its answer is read only when all of it has arrived."""
BUFFER = 8 << 20  # bytes that may wait for the reader before the peer is slowed down
BURST_S, LINGER_S = 0.02, 0.002
"""Of a stream: news that follows other news this soon waits that long for company."""
# A peer that vanished without a word is noticed after a minute, not at the watch's time limit.
KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class Connection(asyncio.Protocol):
    """One connection: a request, its answer, and then perhaps the next."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._news = asyncio.Event()
        self._lost: str | None = None
        self._begin(whole=False)

    def _begin(self, *, whole: bool) -> None:
        # Everything that belongs to one answer is made again here, so a reused connection cannot
        # show anything of the answer before.
        self._whole = whole
        self._read_at = 0.0
        self._parser = HttpResponseParser(self)
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._waiting = 0
        self._delimited = False  # by its headers, rather than by the end of the connection
        self._ended = False
        self._reusable = False

    @property
    def reusable(self) -> bool:
        """Is the answer complete, and may another follow?"""
        return self._ended and self._reusable and self._lost is None

    async def send(self, message: bytes, timeout_s: float | None, *, whole: bool = False) -> None:
        """Send a request and wait for the head of the answer."""
        self._begin(whole=whole)
        if self._transport is not None:
            self._transport.write(message)
        while not self.status:
            await self._wait(timeout_s)

    async def read(self, timeout_s: float | None) -> bytes:
        """All that has arrived of the body; empty at its end."""
        while not self._ended and not self._worth_reading:
            await self._wait(timeout_s)
        if not self._whole:
            await self._linger()
        data = b"".join(self._parts)
        self._parts.clear()
        if self._waiting > BUFFER and self._transport is not None:
            self._transport.resume_reading()
        self._waiting = 0
        return data

    @property
    def _worth_reading(self) -> bool:
        return self._waiting > (BUFFER if self._whole else 0)

    async def _linger(self) -> None:
        """In a burst, let a few chunks arrive: waking the reader costs more than a chunk."""
        loop = asyncio.get_running_loop()
        if not self._ended and loop.time() - self._read_at < BURST_S:
            await asyncio.sleep(LINGER_S)
        self._read_at = loop.time()

    async def _wait(self, timeout_s: float | None) -> None:
        if self._lost is not None:
            raise httpx2.RemoteProtocolError(self._lost)
        self._news.clear()
        # For an answer that is read whole, `_news` is set only at its end or when the buffer is
        # full: a slow but living server is then told apart from a silent one by what arrived.
        before = self._waiting
        try:
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        except TimeoutError:
            if self._waiting > before:
                return
            raise httpx2.ReadTimeout(f"nothing received for {timeout_s} s") from None

    def abort(self) -> None:
        self._lose("the connection was aborted")
        if self._transport is not None:
            self._transport.abort()

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why
        self._news.set()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has its own base class
        keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._lose(f"not HTTP: {error}")
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        # Without a length or chunks the end of the connection is the end of the body (RFC 9112,
        # 6.3); with either, it means that the rest is missing.
        if self.status and not self._delimited:
            self._ended = True
        how = "in the middle of an answer" if self.status else "without an answer"
        self._lose(f"the server closed the connection {how}" + (f" ({exc})" if exc else ""))

    # What the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self._delimited = True

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._news.set()

    def on_body(self, body: bytes) -> None:
        before = self._waiting
        self._parts.append(body)
        self._waiting = before + len(body)
        if before <= BUFFER < self._waiting and self._transport is not None:
            self._transport.pause_reading()
        if self._worth_reading:
            self._news.set()

    def on_message_complete(self) -> None:
        self._ended = True
        self._reusable = self._parser.should_keep_alive()
        self._news.set()


def keep_alive(peer: socket.socket | None) -> None:
    if peer is None:
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        if hasattr(socket, name):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Body(httpx2.AsyncByteStream):
    """The body of an answer; its connection goes back to the pool when all of it was read."""

    def __init__(self, pool: "Transport", connection: Connection, timeout_s: float | None) -> None:
        self._pool = pool
        self._connection = connection
        self._timeout_s = timeout_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self._connection.read(self._timeout_s):
            yield data

    async def aclose(self) -> None:
        self._pool.give_back(self._connection)


class Transport(httpx2.AsyncBaseTransport):
    """Connections to one server, kept for `idle_s` after their last use."""

    def __init__(self, tls: ssl.SSLContext, *, idle_s: float = 60.0) -> None:
        self._tls = tls
        self._idle_s = idle_s
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        limits = request.extensions.get("timeout", {})
        message = head(request) + await request.aread()
        connection = self._reuse() or await self._dial(request.url, limits.get("connect"))
        self._busy.add(connection)
        try:
            if guard := request.extensions.get(GUARD):
                guard()
            whole = WHOLE in request.extensions
            await connection.send(message, limits.get("read"), whole=whole)
        except BaseException:
            self.give_back(connection)
            raise
        body = Body(self, connection, limits.get("read"))
        return httpx2.Response(connection.status, headers=connection.headers, stream=body)

    def give_back(self, connection: Connection) -> None:
        self._busy.discard(connection)
        if connection.reusable:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.abort()

    def _reuse(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - self._idle_s
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    async def _dial(self, url: httpx2.URL, timeout_s: float | None) -> Connection:
        secure = url.scheme == "https"
        port = url.port or (443 if secure else 80)
        # A handshake is better ended by the loop than by cancelling it, which uvloop logs loudly.
        handshake_s = 0.8 * timeout_s if secure and timeout_s else None
        try:
            async with asyncio.timeout(timeout_s):
                _, connection = await asyncio.get_running_loop().create_connection(
                    Connection,
                    url.host,
                    port,
                    ssl=self._tls if secure else None,
                    ssl_handshake_timeout=handshake_s,
                )
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"no connection within {timeout_s} s") from None
        except OSError as error:  # ssl.SSLError is one
            raise httpx2.ConnectError(str(error)) from error
        return connection

    async def aclose(self) -> None:
        for connection in [*self._idle, *self._busy]:
            connection.abort()
        self._idle.clear()
        self._busy.clear()


def head(request: httpx2.Request) -> bytes:
    first = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), request.url.raw_path)
    lines = (b"%b: %b\r\n" % header for header in request.headers.raw)
    return b"".join((first, *lines, b"\r\n"))
