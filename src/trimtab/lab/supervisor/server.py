"""The supervisor's side of the control socket: one request per connection, JSON lines back."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trimtab.errors import TrimtabError
from trimtab.lab.control import (
    SOCKET,
    Answer,
    EventAnswer,
    Failed,
    Follow,
    GetStatus,
    Refresh,
    ReloadComponent,
    Repair,
    Repaired,
    Request,
    RequestDone,
    RestartComponent,
    StatusAnswer,
    Stop,
)

if TYPE_CHECKING:
    from trimtab.lab.supervisor.run import Supervisor

READ_LIMIT_S = 5.0
WORK_LIMIT_S = 120.0
_REQUESTS = msgspec.json.Decoder(Request)


@asynccontextmanager
async def serve(supervisor: "Supervisor") -> AsyncIterator[None]:
    """Answer requests on `control.sock` (0600) in the working directory."""
    talks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            await _converse(supervisor, reader, writer)
        except ConnectionError:
            pass  # the client has closed its connection: there is no one to answer
        finally:
            talks.discard(task)
            writer.close()

    server = await asyncio.start_unix_server(connected, sock=_listening())
    try:
        yield
    finally:
        server.close()
        _remove_socket()
        supervisor.states.end_following()
        if talks:
            await asyncio.wait(talks, timeout=READ_LIMIT_S)


def _listening() -> socket.socket:
    _remove_socket()  # left by a killed supervisor; we hold the lock
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(SOCKET)
    Path(SOCKET).chmod(0o600)
    return listener


def _remove_socket() -> None:
    Path(SOCKET).unlink(missing_ok=True)


async def _converse(
    supervisor: "Supervisor",
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        async with asyncio.timeout(READ_LIMIT_S):
            request = _REQUESTS.decode(await reader.readline())
    except (TimeoutError, msgspec.DecodeError, ValueError) as error:
        await _send(writer, Failed(f"not a request: {error}"))
        return
    if isinstance(request, Follow):
        await _stream(supervisor, writer)
    else:
        await _send(writer, await _answer(supervisor, request))


async def _answer(supervisor: "Supervisor", request: Request) -> Answer:
    try:
        async with asyncio.timeout(WORK_LIMIT_S):
            match request:
                case GetStatus():
                    return StatusAnswer(supervisor.status())
                case RestartComponent(component=name):
                    await supervisor.restart(name)
                case ReloadComponent(component=name):
                    await supervisor.reload(name)
                case Repair():
                    return Repaired(tuple(await supervisor.repair()))
                case Refresh():
                    await supervisor.refresh()
                case Stop():
                    await supervisor.stop()
    except TimeoutError:
        return Failed(f"not done after {WORK_LIMIT_S:g} s; look at: trimtab lab status")
    except TrimtabError as error:
        return Failed(str(error))
    return RequestDone()


async def _stream(supervisor: "Supervisor", writer: asyncio.StreamWriter) -> None:
    queue = supervisor.states.follow()
    try:
        while (event := await queue.get()) is not None:
            await _send(writer, EventAnswer(event, supervisor.status()))
    finally:
        supervisor.states.unfollow(queue)


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    await writer.drain()
