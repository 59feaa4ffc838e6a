"""Viewers who sign in with a token of the cluster, and look and act with their own rights.

The API server says whose token it is, and whether that user may GET the page's paths
(`kube.http.authorize`). The browser keeps a random session in a cookie that no script reads;
the token stays in this process, and only while the session lasts. It is judged again every
minute, so rights that are taken away end a session that was begun with them.
"""

import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256

from msgspec import Struct
from starlette.requests import Request

from trimtab.kube.client import Client
from trimtab.kube.http.authorize import AccessDenied, Authorizer, bearer_token
from trimtab.web.changes import ClientOf

SESSION_S = 8 * 3600.0
MOST_SESSIONS = 1000
LOOKING = "/v1/history"
"""Whoever may GET this path may look."""


class _Session(Struct, frozen=True):
    token: str
    ends: float


class SignedIn:
    """Who is signed in, by the hash of their cookie."""

    signs_in = True

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._authorizer = Authorizer(
            client, advice=f"it takes a ClusterRole with get on nonResourceURL {LOOKING}"
        )
        self._sessions: dict[bytes, _Session] = {}

    async def begin(self, request: Request) -> str:
        """A session for the bearer of a token that may look; its cookie."""
        token = bearer_token(request) or ""
        await self._authorizer.check_token(token, LOOKING)
        cookie = secrets.token_urlsafe(32)
        now = self._clock()
        self._sessions = {key: each for key, each in self._sessions.items() if each.ends > now}
        while len(self._sessions) >= MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[_hash(cookie)] = _Session(token, now + SESSION_S)
        return cookie

    async def check(self, cookie: str, request: Request) -> None:
        """Raises AccessDenied unless this cookie's user may still look."""
        await self._authorizer.check_token(self._of(cookie).token, LOOKING)

    def client_of(self, cookie: str) -> ClientOf:
        """Opens the API server as the user of this cookie."""
        token = self._of(cookie).token

        @asynccontextmanager
        async def open_it() -> AsyncIterator[Client]:
            async with self._client.as_bearer(token) as client:
                yield client

        return open_it

    def _of(self, cookie: str) -> _Session:
        session = self._sessions.get(_hash(cookie))
        if session is None or session.ends <= self._clock():
            raise AccessDenied(401, "sign in with a token of the cluster: kubectl create token")
        return session


def _hash(cookie: str) -> bytes:
    return sha256(cookie.encode()).digest()
