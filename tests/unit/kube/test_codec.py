"""Decoding: slim, tolerant of what does not fit, and loud about it."""

import msgspec
import pytest

from builders.values.kube import a_pod, event_line
from trimtab.kube.codec import codec, encode, undecodable
from trimtab.kube.errors import Expired, Unavailable
from trimtab.kube.resources import PODS, Free, Kind, ObjectMeta, Pod, free_kind

WIDGETS: Kind[Free] = free_kind("example.org", "v1", "widgets", "Widget")
BROKEN = {"metadata": {"name": "bad", "uid": "u", "resourceVersion": "8"}, "spec": "not a spec"}


def a_page(*items: object) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": "9"}, "items": items})


def test_a_bookmark_needs_nothing_but_a_version() -> None:
    empty = {"metadata": {"resourceVersion": "77"}, "spec": {"containers": None}, "status": {}}
    (event,) = codec(PODS).events(event_line("BOOKMARK", empty))
    assert event.type == "BOOKMARK"
    assert event.object == Pod(metadata=ObjectMeta(resource_version="77"))


def test_several_lines_are_decoded_at_once() -> None:
    lines = event_line("ADDED", a_pod("a")) + event_line("DELETED", a_pod("b"))
    events = codec(PODS).events(lines)
    assert [(e.type, e.object.metadata.name) for e in events] == [("ADDED", "a"), ("DELETED", "b")]


@pytest.mark.parametrize("kind", [PODS, WIDGETS], ids=["typed", "free-form"])
def test_an_error_in_the_stream_is_raised_by_its_name(kind: Kind[object]) -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}
    with pytest.raises(Expired):
        codec(kind).events(event_line("ADDED", a_pod("a")) + event_line("ERROR", status))


def test_an_object_that_does_not_fit_leaves_the_others_in_a_page() -> None:
    before = undecodable.labels("pods")._value.get()
    page = codec(PODS).page(a_page(a_pod("a"), BROKEN, a_pod("b")))
    assert [pod.metadata.name for pod in page.items] == ["a", "b"]
    assert undecodable.labels("pods")._value.get() == before + 1


def test_an_object_that_no_longer_fits_counts_as_deleted_in_a_watch() -> None:
    lines = event_line("ADDED", a_pod("a")) + event_line("MODIFIED", BROKEN)
    first, second = codec(PODS).events(lines)
    assert first.type == "ADDED"
    assert (second.type, second.object.metadata.name) == ("DELETED", "bad")
    assert second.object.metadata.resource_version == "8"


def test_rubbish_is_a_broken_connection_not_a_crash() -> None:
    with pytest.raises(Unavailable, match="watch pods"):
        codec(PODS).events(b'{"type":"ADDED","object":{"meta\n')
    with pytest.raises(Unavailable, match="list pods"):
        codec(PODS).page(b"<html>")


def test_what_we_send_says_what_it_is_and_leaves_defaults_out() -> None:
    sent = msgspec.json.decode(encode(PODS, Pod(metadata=ObjectMeta(name="a"))))
    assert sent == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    free = msgspec.json.decode(encode(WIDGETS, {"metadata": {"name": "w"}, "spec": {"on": False}}))
    assert free["apiVersion"] == "example.org/v1"
    assert free["spec"] == {"on": False}


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "subresource", "path"),
    [
        (PODS, None, "", "", "/api/v1/pods"),
        (PODS, "ns", "", "", "/api/v1/namespaces/ns/pods"),
        (PODS, "ns", "p", "eviction", "/api/v1/namespaces/ns/pods/p/eviction"),
        (WIDGETS, "ns", "w", "status", "/apis/example.org/v1/namespaces/ns/widgets/w/status"),
    ],
    ids=["everywhere", "in a namespace", "a subresource", "of a custom resource"],
)
def test_a_kind_knows_its_paths(
    kind: Kind[object], namespace: str | None, name: str, subresource: str, path: str
) -> None:
    assert kind.path(namespace, name, subresource) == path
