"""Who may read the page: this computer, or whoever the API server vouches for.

Where the page listens for others, a request from elsewhere needs a bearer token. The API server
says whose it is (TokenReview) and whether they may GET that path (SubjectAccessReview); the
role `trimtab:qos-page` allows it. Answers are remembered for a minute, tokens only as a hash.
"""

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec
from starlette.requests import Request

from trimtab.errors import TrimtabError
from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError
from trimtab.kube.http.local import is_local

REMEMBERED_S = 60.0
MOST = 1024


class Refused(TrimtabError):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Access:
    """Asks the API server about callers from elsewhere."""

    def __init__(
        self, client: Client, exposed: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._exposed = exposed
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}

    async def check(self, request: Request) -> None:
        """Raises Refused unless the caller may read this path."""
        if is_local(request):
            return
        if not self._exposed:
            raise Refused(403, "only this computer may read this")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Refused(401, "send `Authorization: Bearer TOKEN`, see: kubectl create token")
        if not await self._may(token.strip(), request.url.path):
            raise Refused(
                403, f"you may not read {request.url.path}; bind ClusterRole trimtab:qos-page"
            )

    async def _may(self, token: str, path: str) -> bool:
        key = (sha256(token.encode()).hexdigest(), path)
        at, verdict = self._known.get(key, (0.0, False))
        if not at or self._clock() - at > REMEMBERED_S:
            verdict = await self._ask(token, path)
            self._known[key] = (self._clock(), verdict)
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]
        return verdict

    async def _ask(self, token: str, path: str) -> bool:
        try:
            review = await self._review("authentication.k8s.io", "TokenReview", {"token": token})
            if not review.get("authenticated"):
                raise Refused(401, "the API server does not know this token")
            user = review.get("user", {})
            asked = {
                "user": user.get("username", ""),
                "groups": user.get("groups", []),
                "uid": user.get("uid", ""),
                "nonResourceAttributes": {"path": path, "verb": "get"},
            }
            verdict = await self._review("authorization.k8s.io", "SubjectAccessReview", asked)
        except ApiError as error:
            raise Refused(503, f"the API server does not say who you are: {error}") from error
        return bool(verdict.get("allowed"))

    async def _review(self, group: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
        path = f"/apis/{group}/v1/{kind.lower()}s"
        answer = await self._client.request("POST", path, body=msgspec.json.encode(body))
        status: dict[str, Any] = msgspec.json.decode(answer).get("status", {})
        return status
