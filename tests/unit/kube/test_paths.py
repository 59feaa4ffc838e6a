"""A name that reaches a URL stays one part of its path, or is refused before anything is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import ConfigError
from trimtab.kube.errors import ImpossibleName, NotFound
from trimtab.kube.resources import PODS


@pytest.mark.parametrize(
    "name", ["../../default/virtualmachines/web", "../k5", "..", ".", "a/b", "a%2fb", "%2e%2e"]
)
def test_a_name_that_would_leave_its_place_is_refused(name: str) -> None:
    for namespace, object_name in (("default", name), (name, "web")):
        with pytest.raises(ImpossibleName, match="no object can be called") as caught:
            PODS.path(namespace, object_name)
        assert isinstance(caught.value, NotFound)
        assert isinstance(caught.value, ConfigError)


def test_what_means_something_in_a_url_is_quoted() -> None:
    assert PODS.path("default", "a?b#c d\n") == "/api/v1/namespaces/default/pods/a%3Fb%23c%20d%0A"
    assert PODS.path("default", "web", "status") == "/api/v1/namespaces/default/pods/web/status"


@given(st.text(min_size=1).filter(lambda text: not any(0xD800 <= ord(c) < 0xE000 for c in text)))
def test_no_name_adds_parts_to_a_path(name: str) -> None:
    try:
        path = PODS.path("default", name)
    except ImpossibleName:
        return
    assert path.count("/") == 6
    assert not set("?# \n") & set(path)
