"""Who may read the page, who may change something through it, and that no other site may.

Requests for another host name (DNS rebinding) and requests of other origins are refused before
anything else. A change needs more than a look: JSON from this very page, and a token (CSRF)
that only this page's scripts can read, which belongs to the viewer's cookie.

Where nobody signs in, whoever has the page's token may look: it is in the address that is
printed, behind the #, which browsers send to nobody, and the page exchanges it for a cookie.
The cookie is derived from the token, and the token is kept in a file of mode 0600, so that a
restart of the server locks nobody out.
"""

import hmac
import secrets
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from trimtab.files.writing import make_private_dir, write_private
from trimtab.kube.client import Client
from trimtab.kube.http.authorize import AccessDenied, bearer_token
from trimtab.kube.http.callers import is_foreign_page
from trimtab.web.changes import ClientOf, as_one_person

_TOKEN_BYTES = 24
CSRF = "x-trimtab-csrf"


def kept_token(path: Path) -> str:
    """The token of this user's pages, made on first use."""
    if path.is_file() and len(found := path.read_text().strip()) >= _TOKEN_BYTES:
        return found
    make_private_dir(path.parent)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    write_private(path, token)
    return token


class Viewers(Protocol):
    """Who the viewers are: all who have the page's token, or those who signed in."""

    signs_in: bool

    async def begin(self, request: Request) -> str:
        """The cookie of a new session, or AccessDenied."""
        ...

    async def check(self, cookie: str, request: Request) -> None:
        """Raises AccessDenied unless whoever sends this cookie may look."""
        ...

    def client_of(self, cookie: str) -> ClientOf:
        """The API server with the rights by which this viewer changes something."""
        ...


class Gate:
    """Checks requests; `hosts` are the names, with their ports, that the page is served under."""

    def __init__(
        self, viewers: Viewers, hosts: Collection[str], port: int, *, changes: bool = False
    ) -> None:
        self.viewers, self.changes = viewers, changes
        self._hosts = frozenset(host.lower() for host in hosts)
        # Cookies know no ports: pages on two ports must not overwrite each other's.
        self._cookie = f"trimtab-{port}"
        self._secret = secrets.token_bytes(32)

    def check_site(self, request: Request) -> None:
        """Raises AccessDenied for a wrong Host or for a page of another site."""
        if request.headers.get("host", "").lower() not in self._hosts:
            raise AccessDenied(421, "the page is not served under this name; see its address")
        if is_foreign_page(request) or request.headers.get("sec-fetch-site") == "cross-site":
            raise AccessDenied(403, "another site may not ask this page")

    async def check(self, request: Request) -> None:
        """Raises AccessDenied unless the caller may look."""
        await self.viewers.check(self._session(request), request)

    async def admit(self, request: Request, response: Response) -> None:
        """Gives the cookie to whoever sends a token that is good for it."""
        session = await self.viewers.begin(request)
        response.set_cookie(self._cookie, session, httponly=True, samesite="strict", path="/")

    def csrf(self, request: Request) -> str:
        """What this page's scripts send with a change, and no other site can know."""
        return hmac.new(self._secret, self._session(request).encode(), sha256).hexdigest()

    def client_for(self, request: Request) -> ClientOf:
        """Raises AccessDenied unless this page's own script asks, and may change something."""
        if not self.changes:
            raise AccessDenied(403, "this page changes nothing; start it with --allow-changes")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise AccessDenied(415, "a change is asked for in JSON")
        if request.headers.get("origin") is None:
            raise AccessDenied(403, "a change is asked for by the page itself")
        if not _same(request.headers.get(CSRF, ""), self.csrf(request)):
            raise AccessDenied(403, "the page is older than its server; open it again")
        return self.viewers.client_of(self._session(request))

    def _session(self, request: Request) -> str:
        return request.cookies.get(self._cookie, "")


class TokenHolders:
    """Everybody who has the page's token; changes are those of whoever started the page."""

    signs_in = False

    def __init__(self, token: str, client: Client | None = None) -> None:
        self._token, self._client = token, client
        self._cookie = hmac.new(token.encode(), b"page session", sha256).hexdigest()

    async def begin(self, request: Request) -> str:
        if not _same(bearer_token(request) or "", self._token):
            raise AccessDenied(401, "this is not the token of this page")
        return self._cookie

    async def check(self, cookie: str, request: Request) -> None:
        if not (_same(cookie, self._cookie) or _same(bearer_token(request) or "", self._token)):
            raise AccessDenied(401, "open the address that `trimtab web` printed, with its #token")

    def client_of(self, cookie: str) -> ClientOf:
        if self._client is None or not _same(cookie, self._cookie):
            raise AccessDenied(403, "there is nothing here that could be changed")
        return as_one_person(self._client)


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
