"""A proxy between one process and the API server that kills the process at its n-th write.

The write itself arrives: the process dies when the API server has answered, before it hears
the answer. That is the worst moment: what was written is known to nobody. With
`every_second_is_lost` the process dies before each second write reaches the API server, so
that a decision is carried out in part. Leases and Events
are not counted, they are not what a decision comes to; nor are dry runs, which write nothing.
"""

import asyncio
import re
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import yaml

from builders.labs.lab import RunningLab
from trimtab.lab.components.identity import kubeconfig_file

_WRITE = re.compile(rb"(POST|PUT|PATCH|DELETE) (\S+)")
_NOT_COUNTED = (b"/leases", b"/events", b"dryRun=")


def _write_in(data: bytes) -> str:
    """The write that begins here, if one does that counts."""
    head = _WRITE.match(data)
    if head is None or any(part in head[2] for part in _NOT_COUNTED):
        return ""
    return b" ".join(head.groups()).decode()


class KillProxy:
    """Use as a context manager; `kubeconfig` leads a service through it."""

    _every_second_is_lost = False
    _number = 0

    def __init__(
        self, lab: RunningLab, service: str, *, every_second_is_lost: bool = False
    ) -> None:
        self._lab = lab
        self._every_second_is_lost = every_second_is_lost
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()
        self.writes: list[str] = []
        self._left = 0
        self._kill: Callable[[], None] = lambda: None

    def after(self, writes: int, kill: Callable[[], None]) -> None:
        """Call `kill` when so many more writes have been answered."""
        self._left, self._kill = writes, kill

    async def __aenter__(self) -> Self:
        pki = self._lab.dir / "pki"
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(pki / "webhook-server.crt", pki / "webhook-server.key")
        self._upstream = ssl.create_default_context(cafile=pki / "ca.crt")
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=serving)
        port = self._server.sockets[0].getsockname()[1]
        self.kubeconfig = self._rewritten(f"https://127.0.0.1:{port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _rewritten(self, url: str) -> Path:
        original = self._lab.dir / kubeconfig_file(self._service)
        config = yaml.safe_load(original.read_text())
        self._port = int(config["clusters"][0]["cluster"]["server"].rpartition(":")[2])
        config["clusters"][0]["cluster"]["server"] = url
        path = self._lab.dir / f"{self._service}-proxied.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        writing: list[str] = []
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                there, up = await asyncio.open_connection(
                    "127.0.0.1", self._port, ssl=self._upstream
                )
                pumps = [
                    asyncio.ensure_future(self._requests(reader, up, writer, writing)),
                    asyncio.ensure_future(self._answers(there, writer, writing)),
                ]
                try:
                    await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                finally:  # also when the proxy ends before the process does
                    for pump in pumps:
                        pump.cancel()
                    up.transport.abort()
                    await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            writer.transport.abort()

    async def _requests(
        self,
        source: asyncio.StreamReader,
        to: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
        writing: list[str],
    ) -> None:
        while data := await source.read(65536):
            if not await self._lets_through(data, back, writing):
                return
            to.write(data)
            await to.drain()

    async def _lets_through(
        self, data: bytes, back: asyncio.StreamWriter, writing: list[str]
    ) -> bool:
        """Does this piece of a request reach the API server?"""
        write = _write_in(data)
        return not write or await self._passes(write, back, writing)

    async def _answers(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, writing: list[str]
    ) -> None:
        while data := await source.read(65536):
            if writing and not self._is_heard(data, writing):
                return
            to.write(data)
            await to.drain()

    async def _passes(self, write: str, back: asyncio.StreamWriter, writing: list[str]) -> bool:
        """Does this write reach the API server? If so, and if its answer matters, it is noted."""
        self._number += 1
        if self._every_second_is_lost and self._number % 2:
            self._kill()
            return False
        writing.append(write)
        return True

    def _is_heard(self, answer: bytes, writing: list[str]) -> bool:
        """Does the process get this answer to a noted write?"""
        self.writes.append(writing.pop().partition("?")[0])
        self._left -= 1
        if self._left == 0:
            self._kill()
        return self._left != 0
