"""What of the user's environment reaches go, and what does not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engines.compiler import build_environment, without_direct


@pytest.mark.parametrize(
    ("proxies", "expected"),
    [
        pytest.param("https://a,direct", "https://a", id="a proxy, then the origin"),
        pytest.param("https://a|direct", "https://a", id="the other separator"),
        pytest.param("https://a,https://b|direct", "https://a,https://b", id="two proxies stay"),
        pytest.param("direct,https://a", "https://a", id="direct first"),
        pytest.param("direct", "off", id="direct alone leaves no proxy"),
        pytest.param("", "off", id="nothing set"),
        pytest.param("off", "off", id="off is off: then only what is there can be built"),
        pytest.param("https://direct.example.org", "https://direct.example.org", id="only a name"),
    ],
)
def test_modules_never_come_from_their_origin(proxies: str, expected: str) -> None:
    assert without_direct(proxies) == expected


@given(st.lists(st.sampled_from(["direct", "https://a", "off", " direct "])).map(",".join))
def test_no_list_of_proxies_keeps_a_direct_lookup(proxies: str) -> None:
    assert "direct" not in without_direct(proxies)


@pytest.mark.parametrize(
    "name", ["GOROOT", "GOEXPERIMENT", "GOAMD64", "GODEBUG", "GOPRIVATE", "GOINSECURE"]
)
def test_settings_that_change_the_outcome_stay_out(name: str) -> None:
    assert name not in build_environment({name: "1"}, {}, Path("/t"))


def test_the_flags_are_ours() -> None:
    user = {
        "GOFLAGS": "-race",
        "GOOS": "plan9",
        "CGO_ENABLED": "1",
        "GOWORK": "/w",
        "GOTOOLCHAIN": "x",
    }
    environment = build_environment(user, {}, Path("/t"))
    assert environment["GOFLAGS"] == "-mod=readonly"
    assert environment["GOOS"] == "linux"
    assert environment["CGO_ENABLED"] == "0"
    assert environment["GOWORK"] == "off"
    assert environment["GOTOOLCHAIN"] == "local"


def test_where_caches_are_and_how_to_reach_the_network_is_the_users_business() -> None:
    user = {"HTTPS_PROXY": "http://p", "SSL_CERT_FILE": "/c", "GOMAXPROCS": "1"}
    settings = {"GOCACHE": "/c1", "GOMODCACHE": "/c2", "GOPROXY": "https://mine|direct"}
    environment = build_environment(user, settings, Path("/t"))
    assert environment | user == environment
    assert (environment["GOCACHE"], environment["GOMODCACHE"]) == ("/c1", "/c2")
    assert environment["GOPROXY"] == "https://mine"
