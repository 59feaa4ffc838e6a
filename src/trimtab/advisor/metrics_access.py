"""Who may read /metrics: whoever the API server says may get the URL /metrics.

The same two questions that every operator asks: whose token is it (TokenReview), and is that
user allowed to (SubjectAccessReview). Answers are kept for a minute.
"""

import time
from collections.abc import Awaitable, Callable

from msgspec import json
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from trimtab.errors import TrimtabError
from trimtab.kube.client import Client
from trimtab.kube.resources import Free
from trimtab.obs import get_logger

log = get_logger()
KEPT_S = 60.0
KEPT_MOST = 256
Endpoint = Callable[[Request], Awaitable[Response]]


class Doorkeeper:
    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[str, tuple[float, int]] = {}

    async def judge(self, authorization: str) -> int:
        """The HTTP status for this header: 200, 401 or 403."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            return 401
        kept = self._known.get(token)
        if kept is not None and self._clock() - kept[0] < KEPT_S:
            return kept[1]
        status = await self._ask(token)
        if len(self._known) >= KEPT_MOST:
            self._known.clear()
        self._known[token] = self._clock(), status
        return status

    async def _ask(self, token: str) -> int:
        review = await self._post("authentication.k8s.io", "TokenReview", {"token": token})
        if not review.get("authenticated"):
            return 401
        user = review.get("user") or {}
        question = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
        answer = await self._post("authorization.k8s.io", "SubjectAccessReview", question)
        return 200 if answer.get("allowed") else 403

    async def _post(self, group: str, kind: str, spec: Free) -> Free:
        body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
        path = f"/apis/{group}/v1/{kind.lower()}s"
        answer = await self._client.request("POST", path, None, json.encode(body))
        status: Free = json.decode(answer, type=Free).get("status") or {}
        return status


def guarded(routes: list[BaseRoute], doorkeeper: Doorkeeper) -> list[BaseRoute]:
    """The routes, with /metrics behind the doorkeeper."""
    return [_guarded(route, doorkeeper) for route in routes]


def _guarded(route: BaseRoute, doorkeeper: Doorkeeper) -> BaseRoute:
    if not isinstance(route, Route) or route.path != "/metrics":
        return route
    inner: Endpoint = route.endpoint

    async def metrics(request: Request) -> Response:
        try:
            status = await doorkeeper.judge(request.headers.get("authorization", ""))
        except TrimtabError as error:
            log.warning("metrics not judged", error=str(error))
            return PlainTextResponse("cannot ask the API server who you are\n", 503)
        if status != 200:
            return PlainTextResponse("metrics need a token that may get /metrics\n", status)
        return await inner(request)

    return Route(route.path, metrics)
