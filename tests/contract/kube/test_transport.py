"""The HTTP transport against servers that behave well, strangely and badly."""

import asyncio
import gc
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from builders.waiting import LIMIT_S
from trimtab.kube.http.transport import BUFFER, Transport

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
OK = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Answers each request with the next of its scripts, and counts connections."""

    def __init__(self, *scripts: tuple[bytes, ...], close: bool = False) -> None:
        self.scripts = list(scripts)
        self.close = close
        self.connections = 0
        self.requests: list[bytes] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while self.scripts:
            try:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            for part in self.scripts.pop(0):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)
            if self.close:
                break
        writer.close()


@asynccontextmanager
async def client_of(handler: Handler) -> AsyncIterator[httpx2.AsyncClient]:
    handlers: set[asyncio.Future[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.add(asyncio.ensure_future(handler(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = Transport(ssl.create_default_context())
    limits = httpx2.Timeout(5, read=0.5)
    url = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(transport=transport, base_url=url, timeout=limits) as client:
        yield client
    server.close()
    if handlers:
        await asyncio.wait(handlers, timeout=5)


def sized(body: bytes, *headers: bytes) -> bytes:
    lines = (b"Content-Length: %d" % len(body), *headers)
    return OK + b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(*chunks: bytes) -> tuple[bytes, ...]:
    parts = (b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return (OK + b"Transfer-Encoding: chunked\r\n\r\n", *parts, b"0\r\n\r\n")


def single_bytes(message: bytes) -> tuple[bytes, ...]:
    return tuple(message[n : n + 1] for n in range(len(message)))


@pytest.mark.parametrize(
    ("script", "body"),
    [
        pytest.param((sized(b"hello"),), b"hello", id="with a length"),
        pytest.param(chunked(b"hel", b"lo"), b"hello", id="in chunks"),
        pytest.param((OK + b"\r\n", b"hel", b"lo"), b"hello", id="until the end of the connection"),
        pytest.param((b"HTTP/1.1 204 No Content\r\n\r\n",), b"", id="without a body"),
        pytest.param(
            tuple(sized(b"hi")[n : n + 1] for n in range(40)), b"hi", id="in single bytes"
        ),
    ],
)
async def test_every_way_to_end_a_body_is_understood(
    script: tuple[bytes, ...], body: bytes
) -> None:
    async with client_of(Server(script, close=True).handle) as client:
        assert (await client.get("/x?y=z")).content == body


async def test_a_connection_is_used_again_after_a_whole_answer() -> None:
    server = Server(
        (sized(b"1"),), chunked(b"2"), (sized(b"3", b"Connection: close"),), (sized(b"4"),)
    )
    async with client_of(server.handle) as client:
        answers = [(await client.get("/")).content for _ in range(4)]
    assert answers == [b"1", b"2", b"3", b"4"]
    assert server.connections == 2


async def test_the_request_is_sent_as_it_was_made() -> None:
    server = Server((sized(b""),))
    async with client_of(server.handle) as client:
        await client.post("/a b?c=d%20e", content=b"", headers={"X-Test": "yes"})
    (request,) = server.requests
    assert request.startswith(b"POST /a%20b?c=d%20e HTTP/1.1\r\n")
    assert b"X-Test: yes\r\n" in request
    assert b"Host: 127.0.0.1" in request


@pytest.mark.parametrize(
    ("script", "error"),
    [
        pytest.param((), httpx2.RemoteProtocolError, id="closed without an answer"),
        pytest.param((sized(b"hello")[:-2],), httpx2.RemoteProtocolError, id="closed in a body"),
        pytest.param(chunked(b"hello")[:-1], httpx2.RemoteProtocolError, id="closed in chunks"),
        pytest.param((b"SSH-2.0-OpenSSH\r\n",), httpx2.RemoteProtocolError, id="not HTTP"),
    ],
)
async def test_half_an_answer_is_an_error(
    script: tuple[bytes, ...], error: type[Exception]
) -> None:
    async with client_of(Server(script, close=True).handle) as client:
        with pytest.raises(error):
            await client.get("/")


async def test_a_silent_server_is_left_after_the_read_limit() -> None:
    async with client_of(silent) as client:
        with pytest.raises(httpx2.ReadTimeout, match=r"0\.5 s"):
            await client.get("/")


async def test_nobody_listening_is_a_connect_error() -> None:
    transport = Transport(ssl.create_default_context())
    async with httpx2.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("http://127.0.0.1:1/")


async def test_a_slow_reader_slows_the_server_down_and_loses_nothing() -> None:
    block, blocks = b"x" * (1 << 20), 40
    sent = 0

    async def generous(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: %d\r\n\r\n" % (len(block) * blocks))
        for _ in range(blocks):
            writer.write(block)
            await writer.drain()
            sent += len(block)
        writer.close()

    async with client_of(generous) as client, client.stream("GET", "/") as response:
        stream = response.aiter_raw()
        received = len(await anext(stream))
        before = -1
        while before != sent:  # until the server is stuck
            before = sent
            await asyncio.sleep(0.05)
        assert sent < len(block) * blocks
        assert sent - received < BUFFER + (16 << 20)  # what the sockets hold in between
        async for part in stream:
            received += len(part)
    assert received == len(block) * blocks


async def test_a_request_that_is_cancelled_leaves_no_open_connection() -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    async def watching(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.set()
        await reader.read()
        writer.close()
        closed.set()

    async with client_of(watching) as client:
        task = asyncio.create_task(client.get("/"))
        await asyncio.wait_for(opened.wait(), LIMIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), LIMIT_S)
    gc.collect()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
