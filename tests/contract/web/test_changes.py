"""Who may change something through the page, over real HTTP: each refusal, and what is let in."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from builders.programs.page_over_http import MIGRATE, TOKEN, ask, enter, page_over_http
from builders.values.qos import unconnected
from trimtab.model.examples import example_path
from trimtab.web.access import TokenHolders
from trimtab.web.feed.sources import file_source

SNAPSHOT = file_source(example_path(Path("evicts"), "snapshots"))


@pytest.fixture
async def writing() -> AsyncIterator[httpx2.AsyncClient]:
    """A page that may change something; its API server is not there, so what passes is a 503."""
    viewers = TokenHolders(TOKEN, unconnected())
    async with page_over_http(SNAPSHOT, viewers, changes=True) as (http, _):
        yield http


async def test_the_pages_own_script_is_let_in(writing: httpx2.AsyncClient) -> None:
    answer = await ask(writing, await enter(writing))
    assert answer.status_code == 503
    assert "error" in answer.json()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param({"X-Trimtab-Csrf": "wrong"}, 403, id="another token against forgery"),
        pytest.param({"X-Trimtab-Csrf": ""}, 403, id="no token against forgery"),
        pytest.param({"Origin": "http://evil.example"}, 403, id="a page of another site"),
        pytest.param({"Origin": "null"}, 403, id="a sandboxed page"),
        pytest.param({"Origin": ""}, 403, id="no page at all"),
        pytest.param({"Host": "evil.example"}, 421, id="a name that points to 127.0.0.1"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="a form of another site"),
        pytest.param({"Content-Type": "text/plain"}, 415, id="what a form can send"),
        pytest.param({"Cookie": "none=1"}, 401, id="nobody who entered"),
    ],
)
async def test_anybody_else_is_refused(
    writing: httpx2.AsyncClient, change: dict[str, str], status: int
) -> None:
    headers = await enter(writing)
    if "Cookie" in change:
        writing.cookies.clear()
    headers = {name: value for name, value in (headers | change).items() if value}
    assert (await ask(writing, headers)).status_code == status


async def test_the_token_of_the_address_alone_changes_nothing(writing: httpx2.AsyncClient) -> None:
    headers = await enter(writing)
    writing.cookies.clear()
    answer = await ask(writing, headers | {"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        pytest.param({"action": "delete", "vm": "a/b"}, 400, "not a change", id="another action"),
        pytest.param(MIGRATE | {"force": True}, 400, "not a change", id="another field"),
        pytest.param({"action": "migrate", "vm": "web"}, 404, "NAMESPACE/NAME", id="half a name"),
        pytest.param(MIGRATE | {"vm": "../x/y"}, 404, "NAMESPACE/NAME", id="a path"),
        pytest.param(MIGRATE | {"to": "n/../../x"}, 404, "cannot be where", id="a path as target"),
        pytest.param(
            {"action": "cancel", "vm": "a/b", "to": "n1"}, 404, "cancel", id="a target to cancel"
        ),
        pytest.param(MIGRATE | {"to": "n" * 5000}, 413, "bytes", id="too much"),
    ],
)
async def test_what_is_no_change_is_refused_in_words(
    writing: httpx2.AsyncClient, body: dict[str, Any], status: int, words: str
) -> None:
    answer = await ask(writing, await enter(writing), body)
    assert answer.status_code == status
    assert words in answer.text


async def test_a_page_without_allow_changes_changes_nothing() -> None:
    async with page_over_http(SNAPSHOT, TokenHolders(TOKEN, unconnected())) as (http, _):
        answer = await ask(http, await enter(http))
    assert answer.status_code == 403
    assert "--allow-changes" in answer.text


async def test_only_a_labs_policy_can_be_changed(writing: httpx2.AsyncClient) -> None:
    headers = await enter(writing)
    content = b'{"score":"cpu_focused","high":20}'
    answer = await writing.post("/v1/policy", headers=headers, content=content)
    assert answer.status_code == 403
    assert "only a lab's policy" in answer.text
    assert (await writing.post("/v1/policy", content=content)).status_code == 415
    assert not (await writing.get("/v1/session")).json()["applies"]


@pytest.mark.parametrize(
    "candidate", ['{"high":101}', '{"perNode":0}', '{"unknown":1}', '{"score":1}', "[", "{}{}"]
)
async def test_what_is_no_candidate_is_not_tried(
    writing: httpx2.AsyncClient, candidate: str
) -> None:
    await enter(writing)
    answer = await writing.get("/v1/compare", params={"a": candidate})
    assert answer.status_code == 400
    assert "not a candidate" in answer.text
