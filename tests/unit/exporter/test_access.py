"""Who may change something."""

from pathlib import Path

import pytest
from starlette.requests import Request

from trimtab.errors import ConfigError
from trimtab.exporter.http.token import TokenCheck
from trimtab.kube.http.authorize import AccessDenied


def a_request(client: str = "127.0.0.1", host: str = "localhost:8000", **headers: str) -> Request:
    raw = [(name.encode(), value.encode()) for name, value in {"host": host, **headers}.items()]
    return Request(
        {
            "type": "http",
            "scheme": "http",
            "method": "POST",
            "path": "/",
            "query_string": b"",
            "headers": raw,
            "client": (client, 5),
        }
    )


def status(access: TokenCheck, request: Request) -> int:
    try:
        access.check(request)
    except AccessDenied as denied:
        return denied.status
    return 200


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(a_request(), 200, id="curl on this computer"),
        pytest.param(a_request("::1", "[::1]:8000"), 200, id="over IPv6"),
        pytest.param(a_request("::ffff:127.0.0.1", "127.0.0.1"), 200, id="mapped into IPv6"),
        pytest.param(a_request("10.0.0.7"), 403, id="another computer"),
        pytest.param(a_request("testclient"), 403, id="nobody knows who"),
        pytest.param(a_request(origin="http://evil.example"), 403, id="a web page"),
        pytest.param(a_request(origin="null"), 403, id="a web page that hides"),
        pytest.param(a_request(origin="http://localhost:8000"), 200, id="a page of ours"),
        pytest.param(a_request(origin="http://localhost:3000"), 403, id="a page of another port"),
        pytest.param(a_request(origin="https://localhost:8000"), 403, id="of another scheme"),
        pytest.param(a_request(origin="http://127.0.0.1:8000"), 403, id="under another name"),
        pytest.param(a_request(host="evil.example"), 403, id="a name that points here"),
        pytest.param(a_request(host="[::1"), 403, id="a host that is none"),
    ],
)
def test_without_a_token_only_this_computer_may(request_: Request, expected: int) -> None:
    assert status(TokenCheck(), request_) == expected


def bearer(text: str, client: str = "10.0.0.7") -> Request:
    return a_request(client, "exporter:8000", authorization=text)


def test_with_the_token_everybody_may(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    access = TokenCheck(file)
    assert status(access, bearer("Bearer s3cret")) == 200
    assert status(access, bearer("bearer s3cret")) == 200
    assert status(access, bearer("Bearer s3cre")) == 401
    assert status(access, bearer("Bearer ")) == 401
    assert status(access, bearer("Basic s3cret")) == 401
    assert status(access, bearer("Bearer wrong", "127.0.0.1")) == 401
    assert status(access, bearer("Bearer sécret")) == 401


def test_where_there_is_a_token_this_computer_needs_it_too(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret")
    access = TokenCheck(file)
    assert status(access, a_request()) == 401
    assert status(access, a_request(authorization="Bearer s3cret")) == 200
    with pytest.raises(AccessDenied, match=f"it is in {file}"):
        access.check(a_request())


def test_a_page_of_another_origin_is_refused_even_with_the_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret")
    page = a_request(origin="http://localhost:3000", authorization="Bearer s3cret")
    assert status(TokenCheck(file), page) == 403


def test_a_replaced_token_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    access = TokenCheck(file)
    file.write_text("new")
    assert status(access, bearer("Bearer old")) == 401
    assert status(access, bearer("Bearer new")) == 200


def test_no_token_file_means_that_no_token_is_right() -> None:
    assert status(TokenCheck(), bearer("Bearer ")) == 401


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_a_token_file_without_a_token_is_a_mistake(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match="--token-file"):
        TokenCheck(file)
