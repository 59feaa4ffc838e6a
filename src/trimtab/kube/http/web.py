"""HTTP of a service: its routes, health and metrics, on plain HTTP or TLS.

The port is bound before anything else starts, so a port in use is an error at once; port 0
takes a free one. A certificate that changes on disk is served to new connections without a
restart.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from trimtab.errors import ConfigError
from trimtab.kube.http.callers import PEER, common_name
from trimtab.obs import get_logger

# Answers in one piece: head and body leave in one TLS record and one system call.
#
# uvicorn writes them one after the other, which doubles both; for the small answers of a
# webhook that was a third of the CPU of a decision.
#
# uvicorn's protocol is subclassed at two documented asyncio call-backs only (`connection_made`,
# and httptools' `on_message_begin`). If an update breaks this, pass `http="httptools"` in
# `Web.run` instead of `Protocol`: the same answers are served more slowly, but the names in
# callers' certificates are not known, so a webhook with `--client-ca` refuses everybody.
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


log = get_logger()

KEPT_ALIVE_S = 120
"""An idle connection stays open longer than Go's clients keep theirs (90 s), so that it is the
client who closes it: a POST sent while the server closes is lost, and the API server counts a
webhook call lost that way as a failure."""


class Tls(Struct, frozen=True):
    """PEM files, looked at again every `poll_s`.

    With `client_ca` a caller may show a certificate, and one of another CA ends the connection.
    """

    certificate: Path
    key: Path
    poll_s: float = 2.0
    client_ca: Path | None = None

    def __post_init__(self) -> None:
        for path in self._files():
            if not path.is_file():
                raise ConfigError(f"{path}: no such file; it must hold a PEM certificate and key")

    def _files(self) -> list[Path]:
        return [path for path in (self.certificate, self.key, self.client_ca) if path is not None]

    def stamp(self) -> list[int]:
        return [path.stat().st_mtime_ns for path in self._files()]

    def load(self, context: ssl.SSLContext) -> None:
        """For connections from now on."""
        context.load_cert_chain(self.certificate, self.key)
        if self.client_ca is not None:
            context.load_verify_locations(self.client_ca)


def probe_route(word: str, holds: Callable[[], bool]) -> Route:
    """GET /word: 200 once it holds, 503 before; probes ask for it."""

    async def answer(_: Request) -> Response:
        return PlainTextResponse(f"{word}\n") if holds() else PlainTextResponse("not yet\n", 503)

    return Route(f"/{word}", answer)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the service's business."""
        yield


class Web:
    """One listening port with `routes` (and what the service adds to them).

    `direct` are applications by method and path, for those whose every microsecond counts.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: Tls | None = None,
        direct: Mapping[tuple[str, str], ASGIApp] | None = None,
    ) -> None:
        self.routes = list(routes)
        self._tls, self._direct = tls, direct or {}
        try:
            self._socket = socket.create_server((host, port), reuse_port=False)
        except OSError as error:
            raise ConfigError(
                f"{host}:{port}: cannot listen ({error}); choose a free port"
            ) from error
        self.host, self.port = self._socket.getsockname()[:2]

    def _application(self) -> ASGIApp:
        """Starlette for the routes; what is in `direct` costs neither routing nor middleware."""
        routed, direct = Starlette(routes=self.routes), self._direct

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            chosen = direct.get((scope.get("method", ""), scope["path"]), routed)
            await chosen(scope, receive, send)

        return application if direct else routed

    async def run(self) -> None:
        """Serve until cancelled; answers under way get a second to finish."""
        client_ca = self._tls.client_ca if self._tls else None
        config = uvicorn.Config(
            self._application(),
            http=Protocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=KEPT_ALIVE_S,
            ssl_certfile=self._tls.certificate if self._tls else None,
            ssl_keyfile=self._tls.key if self._tls else None,
            ssl_ca_certs=str(client_ca) if client_ca else None,
            ssl_cert_reqs=ssl.CERT_OPTIONAL if client_ca else ssl.CERT_NONE,
        )
        server = _Server(config)
        serving = asyncio.ensure_future(server.serve(sockets=[self._socket]))
        renewing = asyncio.ensure_future(self._renew(config))
        try:
            await asyncio.shield(serving)
        finally:
            renewing.cancel()
            server.should_exit = True
            with suppress(asyncio.CancelledError):
                await serving

    async def _renew(self, config: uvicorn.Config) -> None:
        if self._tls is None:
            return
        loaded = self._tls.stamp()
        while True:
            await asyncio.sleep(self._tls.poll_s)
            try:
                stamp = self._tls.stamp()
                if stamp != loaded and config.ssl is not None:
                    self._tls.load(config.ssl)
                    loaded = stamp
                    log.info("certificate renewed", file=str(self._tls.certificate))
            except OSError as error:  # half-written: the next look finds both halves
                log.warning("certificate not renewed", error=str(error))
