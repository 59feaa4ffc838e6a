"""The proxy that kills a process at its n-th write, in front of a bare API server.

Certificates name the user there, so the proxy itself speaks as the operator.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Self

from builders.labs.advisor import ACCOUNT
from builders.proxies.kills import KillProxy
from conformance.apiserver import ApiServer


class OperatorKillProxy(KillProxy):
    def __init__(self, server: ApiServer) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.writes: list[str] = []
        self._left = 0
        self._kill: Callable[[], None] = lambda: None
        self._api = server
        self._port = server.port

    async def __aenter__(self) -> Self:
        home = self._api.directory
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(home / "serving.pem")
        own = self._api.kubeconfig_for(self._api.url, ACCOUNT)
        self._upstream = ssl.create_default_context(cafile=home / "ca.crt")
        self._upstream.load_cert_chain(own.with_suffix(".pem"))
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=serving)
        port = self._server.sockets[0].getsockname()[1]
        self.kubeconfig = self._api.kubeconfig_for(f"https://127.0.0.1:{port}", ACCOUNT)
        return self

    def _is_heard(self, answer: bytes, writing: list[str]) -> bool:
        """A refusal is no write: the operator asks without force first, and may hear no."""
        if answer.startswith(b"HTTP/1.1 2"):
            return super()._is_heard(answer, writing)
        writing.pop()
        return True
