"""Who may read the page, over real HTTP."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from builders.programs.served_page import ServedPage
from trimtab.web.server import HEADERS


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def page(state: Path) -> Iterator[ServedPage]:
    with ServedPage(state, "evicts") as served:
        yield served


def get(page: ServedPage, path: str, **headers: str) -> httpx2.Response:
    return httpx2.get(f"{page.url}{path}", headers=headers)


def test_the_cluster_is_told_to_nobody_without_the_token(page: ServedPage) -> None:
    for path in ("v1/history", "v1/events", "v1/node?name=worker-1", "v1/vm", "v1/scores"):
        assert get(page, path).status_code == 401
        assert get(page, path, Authorization="Bearer wrong").status_code == 401
    assert get(page, "v1/history", Authorization=f"Bearer {page.token}").status_code == 200


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_never_see(
    page: ServedPage,
) -> None:
    with httpx2.Client(base_url=page.url) as client:
        entered = client.post("v1/session", headers={"Authorization": f"Bearer {page.token}"})
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert page.token.lower() not in cookie
        assert client.get("v1/history").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Host": "evil.example"}, 421, id="a name that points to 127.0.0.1"),
        pytest.param({"Origin": "http://evil.example"}, 403, id="a page of another site"),
        pytest.param({"Origin": "http://127.0.0.1:1"}, 403, id="a page of another port"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="a link of another site"),
    ],
)
def test_other_sites_reach_nothing_even_with_the_token(
    page: ServedPage, headers: dict[str, str], status: int
) -> None:
    allowed = {"Authorization": f"Bearer {page.token}"}
    for path in ("", "v1/history", "main.js"):
        assert get(page, path, **allowed, **headers).status_code == status


def test_every_answer_has_the_strict_headers(page: ServedPage) -> None:
    for path in ("", "main.js", "v1/history", "v1/node?name=nobody"):
        found = get(page, path, Authorization=f"Bearer {page.token}")
        for name, value in HEADERS.items():
            assert found.headers[name] == value, (path, name)
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_nothing_can_be_written(page: ServedPage) -> None:
    for path in ("v1/history", "v1/node", "v1/vm", "v1/scores"):
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert httpx2.request(method, f"{page.url}{path}").status_code == 405


def test_the_token_is_kept_for_its_owner_only(page: ServedPage, state: Path) -> None:
    file = state / "trimtab" / "web" / "token"
    assert file.read_text() == page.token
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_viewer_that_nobody_remembers_is_told_to_start_again(page: ServedPage) -> None:
    headers = {"Authorization": f"Bearer {page.token}", "Last-Event-ID": "gone-7"}
    with httpx2.stream("GET", f"{page.url}v1/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert next(stream.iter_lines()) == "event: again"


def test_an_answer_says_what_is_not_there(page: ServedPage) -> None:
    found = get(page, "v1/node?name=nobody", Authorization=f"Bearer {page.token}")
    assert found.status_code == 404
    assert found.json() == {"error": "there is no node nobody in the newest look"}
