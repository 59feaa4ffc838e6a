"""Who may read an endpoint of a service: the API server decides.

A caller sends a bearer token. The API server says whose token it is (TokenReview) and whether
that user may GET the path (SubjectAccessReview), so a ClusterRole with `nonResourceURLs` grants
access. Answers are remembered for a minute, tokens only as a hash: a dump of this process's
memory must not be a list of other people's credentials.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from hashlib import sha256

from msgspec import Struct, field, json
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from trimtab.errors import TrimtabError
from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError
from trimtab.kube.resources import Free
from trimtab.obs import get_logger

log = get_logger()
Endpoint = Callable[[Request], Awaitable[Response]]
REMEMBERED_S = 60.0
MOST_REMEMBERED = 1024
REVIEWS_PER_S, REVIEWS_AT_ONCE = 20.0, 40
PATIENCE_S = 10.0


class AccessDenied(TrimtabError):
    """A request that is refused: 401 (who are you?), 403 (not you) or 503 (cannot tell)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status

    def answer(self) -> Response:
        headers = {"WWW-Authenticate": "Bearer"} if self.status == 401 else None
        return PlainTextResponse(f"{self}\n", self.status, headers)


class User(Struct, frozen=True):
    """Whose token it is, as the API server says."""

    username: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


class _TokenStatus(Struct, frozen=True):
    authenticated: bool = False
    user: User = User()


class _TokenReview(Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(Struct, frozen=True):
    allowed: bool = False


class _AccessReview(Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


class _Question(Struct, frozen=True):
    token_hash: bytes
    path: str


class _Verdict(Struct, frozen=True):
    """Remembered instead of the exception, whose traceback would keep the raw token alive."""

    status: int
    text: str = ""


class Authorizer:
    """Answers whether the caller of a request may GET its path.

    Refusals are remembered apart from permissions, so that a flood of wrong tokens cannot push
    out those that were let in. Reviews have a write limit of their own: strangers who knock
    must not use up the limit of the service's own writes.
    """

    def __init__(
        self,
        client: Client,
        *,
        advice: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`advice` is added for users who may not: which role to bind."""
        self._client = client.with_own_limit(REVIEWS_PER_S, REVIEWS_AT_ONCE)
        self._advice = f"; {advice}" if advice else ""
        self._allowed = _Remembered(clock)
        self._refused = _Remembered(clock)

    async def check(self, request: Request) -> None:
        """Raises AccessDenied unless the caller's token lets them GET this path."""
        await self.check_token(bearer_token(request) or "", request.url.path)

    async def check_token(self, token: str, path: str) -> None:
        """Raises AccessDenied unless this token lets its bearer GET this path."""
        if not token:
            raise AccessDenied(401, "send `Authorization: Bearer TOKEN`, see: kubectl create token")
        question = _Question(sha256(token.encode()).digest(), path)
        verdict = self._allowed.get(question) or self._refused.get(question)
        if verdict is None:
            verdict = await self._review(token, path)
            self._remember(question, verdict)
        if verdict.status != 200:
            raise AccessDenied(verdict.status, verdict.text)

    def _remember(self, question: _Question, verdict: _Verdict) -> None:
        if verdict.status == 200:
            self._allowed.put(question, verdict)
        elif verdict.status != 503:
            self._refused.put(question, verdict)

    async def _review(self, token: str, path: str) -> _Verdict:
        try:
            async with asyncio.timeout(PATIENCE_S):
                user = await self._user(token)
                if user is None:
                    return _Verdict(401, "the API server does not know this token")
                if await self._may_get(user, path):
                    return _Verdict(200)
        except (ApiError, TimeoutError) as error:
            log.warning("caller not judged", path=path, error=str(error) or "no answer in time")
            return _Verdict(503, "the API server does not say who you are; ask again")
        return _Verdict(403, f"you may not read {path}{self._advice}")

    async def _user(self, token: str) -> User | None:
        answer = await self._post("authentication.k8s.io", "TokenReview", {"token": token})
        status = json.decode(answer, type=_TokenReview).status
        return status.user if status.authenticated else None

    async def _may_get(self, user: User, path: str) -> bool:
        spec = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        answer = await self._post("authorization.k8s.io", "SubjectAccessReview", spec)
        return json.decode(answer, type=_AccessReview).status.allowed

    async def _post(self, group: str, kind: str, spec: Free) -> bytes:
        body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
        path = f"/apis/{group}/v1/{kind.lower()}s"
        return await self._client.request("POST", path, body=json.encode(body))


class _Remembered:
    """The newest verdicts, each for a minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._verdicts: dict[_Question, tuple[float, _Verdict]] = {}

    def get(self, question: _Question) -> _Verdict | None:
        at, verdict = self._verdicts.get(question, (0.0, None))
        return verdict if self._clock() - at < REMEMBERED_S else None

    def put(self, question: _Question, verdict: _Verdict) -> None:
        self._verdicts.pop(question, None)  # so that it becomes the newest
        self._verdicts[question] = self._clock(), verdict
        while len(self._verdicts) > MOST_REMEMBERED:
            del self._verdicts[next(iter(self._verdicts))]


def bearer_token(request: Request) -> str | None:
    """The token of the Authorization header, None if the caller sends none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def authorized(routes: list[BaseRoute], path: str, authorizer: Authorizer) -> list[BaseRoute]:
    """The routes, with the one of `path` only for those whom the authorizer lets in."""
    return [
        Route(path, _checked(route.endpoint, authorizer))
        if isinstance(route, Route) and route.path == path
        else route
        for route in routes
    ]


def _checked(endpoint: Endpoint, authorizer: Authorizer) -> Endpoint:
    async def checked(request: Request) -> Response:
        try:
            await authorizer.check(request)
        except AccessDenied as denied:
            return denied.answer()
        return await endpoint(request)

    return checked
