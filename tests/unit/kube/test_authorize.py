"""One authoriser for all endpoints: what it asks, what it remembers, and what it does not keep."""

import gc
import secrets
from typing import Any

import httpx2
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError, Status
from trimtab.kube.http import authorize
from trimtab.kube.http.authorize import AccessDenied, Authorizer, authorized
from trimtab.kube.login.config import ClusterEntry, Config, UserEntry

ALICE = {"username": "alice", "uid": "u-1", "groups": ["staff"], "extra": {"scopes": ["read"]}}


class Reviews(Client):
    """A client of an API server that knows some tokens and lets some users read some paths."""

    users: dict[str, dict[str, Any]]
    allowed: set[tuple[str, str]]
    kinds: list[str]
    questions: list[dict[str, Any]]
    faults: list[ApiError]

    async def request(self, *args: Any, body: bytes | None = None, **_: Any) -> bytes:
        review = msgspec.json.decode(body or b"")
        spec = review["spec"]
        self.kinds.append(review["kind"])
        if self.faults:
            raise self.faults.pop()
        if review["kind"] == "TokenReview":
            user = self.users.get(spec["token"])
            status = {"authenticated": user is not None} | ({"user": user} if user else {})
        else:
            self.questions.append(spec)
            path = spec["nonResourceAttributes"]["path"]
            status = {"allowed": (spec["user"], path) in self.allowed}
        return msgspec.json.encode({"status": status})


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def reviews(token: str = "of-alice", *paths: str) -> Reviews:
    client = Reviews(Config(ClusterEntry("http://127.0.0.1:9"), UserEntry()))
    client.users, client.allowed = {token: ALICE}, {("alice", path) for path in paths}
    client.kinds, client.questions, client.faults = [], [], []
    return client


def asking(token: str = "", path: str = "/metrics", scheme: str = "Bearer") -> Request:
    headers = [(b"host", b"x")]
    if token:
        headers.append((b"authorization", f"{scheme} {token}".encode()))
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    return Request(scope | {"query_string": b"", "scheme": "http", "server": ("x", 80)})


async def status(authorizer: Authorizer, request: Request) -> int:
    try:
        await authorizer.check(request)
    except AccessDenied as denied:
        return denied.status
    return 200


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(asking("of-alice"), 200, id="a user with the right"),
        pytest.param(asking("of-alice", scheme="bearer"), 200, id="the scheme in lower case"),
        pytest.param(asking("of-alice", "/other"), 403, id="another path"),
        pytest.param(asking("guessed"), 401, id="a token that nobody has"),
        pytest.param(asking(), 401, id="no token"),
        pytest.param(asking("of-alice", scheme="Basic"), 401, id="another scheme"),
    ],
)
async def test_a_caller_needs_a_token_and_the_right_to_get_the_path(
    request_: Request, expected: int
) -> None:
    assert await status(Authorizer(reviews("of-alice", "/metrics")), request_) == expected


async def test_the_access_review_carries_all_that_the_token_review_said() -> None:
    client = reviews("of-alice", "/metrics")
    await Authorizer(client).check(asking("of-alice"))
    assert client.questions == [
        {
            "user": "alice",
            "uid": "u-1",
            "groups": ["staff"],
            "extra": {"scopes": ["read"]},
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
    ]


@pytest.mark.parametrize("token", ["of-alice", "guessed"])
async def test_an_answer_is_remembered_for_a_minute(token: str) -> None:
    client, clock = reviews("of-alice", "/metrics"), Clock()
    authorizer = Authorizer(client, clock=clock)
    first = await status(authorizer, asking(token))
    asked = len(client.kinds)
    clock.now += 59
    assert (await status(authorizer, asking(token)), len(client.kinds)) == (first, asked)
    clock.now += 2
    assert (await status(authorizer, asking(token)), len(client.kinds)) == (first, 2 * asked)


async def test_no_raw_token_stays_in_memory() -> None:
    good, bad = secrets.token_hex(24), secrets.token_hex(24)
    authorizer = Authorizer(reviews(good, "/metrics"))
    assert await status(authorizer, asking(good)) == 200
    assert await status(authorizer, asking(bad)) == 401
    kept = texts_within([authorizer._allowed, authorizer._refused])
    assert not [text for text in kept if good in text or bad in text]


def texts_within(roots: list[Any]) -> list[str]:
    """All text that the objects hold, at any depth; what a module or a type holds is not theirs."""
    seen: dict[int, Any] = {}
    waiting = [value for root in roots for value in vars(root).values()]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type) or callable(value):
            continue
        seen[id(value)] = value
        waiting += gc.get_referents(value)
    return [str(value) for value in seen.values() if isinstance(value, (str, bytes))]


async def test_wrong_tokens_push_out_the_oldest_wrong_tokens_and_never_a_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authorize, "MOST_REMEMBERED", 3)
    client = reviews("of-alice", "/metrics")
    authorizer = Authorizer(client)
    for token in ("of-alice", "w1", "w2", "w3", "w4"):
        await status(authorizer, asking(token))
    asked = len(client.kinds)
    for token in ("w4", "w3", "w2", "of-alice"):
        await status(authorizer, asking(token))
    assert len(client.kinds) == asked
    await status(authorizer, asking("w1"))
    assert len(client.kinds) == asked + 1


async def test_without_the_api_server_nobody_is_let_in_and_nothing_is_remembered() -> None:
    client = reviews("of-alice", "/metrics")
    client.faults.append(ApiError("POST", Status(code=503, reason="ServiceUnavailable")))
    authorizer = Authorizer(client)
    assert await status(authorizer, asking("of-alice")) == 503
    assert await status(authorizer, asking("of-alice")) == 200


def test_reviews_do_not_use_up_the_limit_of_the_services_own_writes() -> None:
    client = reviews()
    assert Authorizer(client)._client._bucket is not client._bucket


async def test_a_guarded_route_answers_with_the_reason_and_leaves_the_others_alone() -> None:
    async def text(_: Request) -> Response:
        return PlainTextResponse("figures")

    routes: list[BaseRoute] = [Route("/metrics", text), Route("/healthz", text)]
    authorizer = Authorizer(reviews("of-alice", "/metrics"), advice="bind ClusterRole r")
    app = Starlette(routes=authorized(routes, "/metrics", authorizer))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://x") as http:
        nobody = await http.get("/metrics")
        alice = await http.get("/metrics", headers={"authorization": "Bearer of-alice"})
        health = await http.get("/healthz")
    assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, "Bearer")
    assert "kubectl create token" in nobody.text
    assert (alice.text, health.text) == ("figures", "figures")
