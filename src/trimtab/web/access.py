"""Who may read the page: whoever has its token, and no other site through their browser.

The token is in the address that is printed, behind the #, which browsers send to nobody; the
page exchanges it for a cookie. The cookie is derived from the token, and the token is kept in
a file of mode 0600, so that a restart of the server locks nobody out. Requests for another
host name (DNS rebinding) and requests of other origins are refused before anything else.
"""

import hmac
import secrets
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from trimtab.files.writing import make_private_dir, write_private
from trimtab.kube.http.authorize import AccessDenied, bearer_token
from trimtab.kube.http.local import is_foreign_page

_TOKEN_BYTES = 24


def kept_token(path: Path) -> str:
    """The token of this user's pages, made on first use."""
    if path.is_file() and len(found := path.read_text().strip()) >= _TOKEN_BYTES:
        return found
    make_private_dir(path.parent)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    write_private(path, token)
    return token


class Gate:
    """Checks requests; `hosts` are the names, with their ports, that the page is served under."""

    def __init__(self, token: str, hosts: Collection[str], port: int) -> None:
        self._token, self._hosts = token, frozenset(host.lower() for host in hosts)
        # Cookies know no ports: pages on two ports must not overwrite each other's.
        self._cookie = f"trimtab-{port}"
        self._session = hmac.new(token.encode(), b"page session", sha256).hexdigest()

    def check_site(self, request: Request) -> None:
        """Raises AccessDenied for a wrong Host or for a page of another site."""
        if request.headers.get("host", "").lower() not in self._hosts:
            raise AccessDenied(421, "the page is not served under this name; see its address")
        if is_foreign_page(request) or request.headers.get("sec-fetch-site") == "cross-site":
            raise AccessDenied(403, "another site may not ask this page")

    def check(self, request: Request) -> None:
        """Raises AccessDenied unless the caller has the cookie or the token."""
        session = request.cookies.get(self._cookie, "")
        token = bearer_token(request) or ""
        if not (_same(session, self._session) or _same(token, self._token)):
            raise AccessDenied(401, "open the address that `trimtab web` printed, with its #token")

    def admit(self, request: Request, response: Response) -> None:
        """Gives the cookie to whoever sends the token."""
        if not _same(bearer_token(request) or "", self._token):
            raise AccessDenied(401, "this is not the token of this page")
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
