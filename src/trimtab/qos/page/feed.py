"""The stream behind /v1/events: computed once for all readers, who are limited in number.

Each reader used to compute its own answer every two seconds: at 1,000 controllers 60 readers
filled a core, and the webhook that shares the loop did not answer any more.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

from starlette.requests import Request

from trimtab.kube.client import Client
from trimtab.kube.http.authorize import AccessDenied, Authorizer
from trimtab.kube.http.callers import is_local

EVERY_S = 2.0
READERS = 64


class TooManyReaders(Exception):
    """There is no place for one more."""


class Feed:
    """One encoded answer a namespace and turn, made when the first reader of a turn asks."""

    def __init__(self, answer: Callable[[str], str], every_s: float = EVERY_S) -> None:
        self._answer, self._every_s = answer, every_s
        self._readers = 0
        self._turn = -1
        self._encoded: dict[str, str] = {}

    def stream(self, namespace: str) -> AsyncGenerator[str]:
        """What to send to one more reader; a reader that does not read delays no other."""
        if self._readers >= READERS:
            raise TooManyReaders(
                f"{READERS} readers follow already; close one, or ask /v1/controllers now and then"
            )
        return self._read(namespace)

    async def _read(self, namespace: str) -> AsyncGenerator[str]:
        self._readers += 1
        try:
            while True:
                yield self._current(namespace)
                await asyncio.sleep(self._every_s)
        finally:
            self._readers -= 1

    def _current(self, namespace: str) -> str:
        turn = int(asyncio.get_running_loop().time() / self._every_s)
        if turn != self._turn:
            self._turn, self._encoded = turn, {}
        if namespace not in self._encoded:
            self._encoded[namespace] = self._answer(namespace)
        return self._encoded[namespace]


# Who may read the page: this computer, or users whom the API server allows to GET its paths.
#
# Callers from elsewhere are asked for a token only where the page listens for others at all; the
# role `trimtab:qos-page` allows them to read it.


class PageAccess:
    def __init__(self, client: Client, exposed: bool) -> None:
        self._exposed = exposed
        self._authorizer = Authorizer(client, advice="bind ClusterRole trimtab:qos-page")

    async def check(self, request: Request) -> None:
        """Raises AccessDenied unless the caller may read this path."""
        if is_local(request):
            return
        if not self._exposed:
            raise AccessDenied(403, "only this computer may read this")
        await self._authorizer.check(request)
