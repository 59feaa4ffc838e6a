"""What tests read of a lab is what kubectl prints, in every form that they ask for it."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import yaml

from builders.labs.kubectl import kubectl
from builders.labs.reads import Reader
from builders.waiting import wait_until
from conformance.apiserver import ApiServer

NAMES = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["gdt"]}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": FREE}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.reads.test"},
    "spec": {"group": "reads.test", "scope": "Cluster", "names": NAMES, "versions": [VERSION]},
}
GADGET = {
    "apiVersion": "reads.test/v1",
    "kind": "Gadget",
    "metadata": {"name": "one"},
    "spec": {"size": 0.5},
}


@pytest.fixture
def reader(apiserver: ApiServer) -> Iterator[Reader]:
    with closing(Reader(lambda: (apiserver.url, apiserver.tls()))) as reader:
        yield reader


def create(server: ApiServer, *things: dict[str, Any]) -> None:
    kubectl(server, "create", "-f", "-", stdin=yaml.safe_dump_all(things))


def config_map(namespace: str, name: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}


def test_a_look_sees_what_kubectl_prints(
    apiserver: ApiServer, reader: Reader, namespace: str
) -> None:
    create(apiserver, config_map(namespace, "web"), config_map(namespace, "db"))
    forms = [
        ("cm", "-n", namespace, "-l", "app=web"),
        ("configmap", "web", "-n", namespace),
        ("configmap", "-n", namespace, "web", "--show-managed-fields"),
        ("namespace", namespace),
        ("cm", "-A", "-l", "app in (web, db)"),
        ("roles.rbac.authorization.k8s.io", "-n", "kube-system"),
    ]
    for form in forms:
        assert reader.get(*form) == json.loads(kubectl(apiserver, "get", *form, "-o", "json")), form


def test_what_is_not_there_fails_as_it_does_with_kubectl(reader: Reader, namespace: str) -> None:
    with pytest.raises(AssertionError, match=r"\(NotFound\): configmaps \"lost\" not found"):
        reader.get("configmap", "lost", "-n", namespace)
    with pytest.raises(AssertionError, match='doesn\'t have a resource type "nothings"'):
        reader.get("nothings")


def test_a_resource_is_found_that_came_after_the_first_look(
    apiserver: ApiServer, reader: Reader
) -> None:
    with pytest.raises(AssertionError, match='resource type "gadgets"'):
        reader.get("gadgets")
    create(apiserver, CRD)
    wait_until(lambda: is_served(reader), "gadgets are not served")
    create(apiserver, GADGET)
    for name in ("gadgets", "gadget", "gdt", "gadgets.reads.test"):
        (found,) = reader.get(name)["items"]
        assert found["kind"] == "Gadget"
        assert found["spec"] == {"size": 0.5}


def is_served(reader: Reader) -> bool:
    try:
        return bool(reader.get("gadgets")["items"] == [])
    except AssertionError:
        return False


def test_a_connection_that_was_lost_is_opened_again(apiserver: ApiServer, reader: Reader) -> None:
    """As after the server's end; it need not be ended for that."""
    reader.get("namespaces")
    assert reader._http is not None
    (kept,) = reader._http._transport._pool.connections  # type: ignore[attr-defined]
    kept._connection._network_stream._sock.shutdown(2)
    assert reader.get("namespaces")["items"]


def test_a_server_that_is_not_there_fails_the_look(apiserver: ApiServer) -> None:
    reader = Reader(lambda: ("https://127.0.0.1:1", apiserver.tls()))
    with pytest.raises(AssertionError, match=r"https://127\.0\.0\.1:1 does not answer"):
        reader.get("namespaces")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("pods", "-o", "name"),
        ("pods", "-w"),
        ("pods,nodes",),
        ("pod/web",),
        ("pods", "a", "b"),
        ("pods", "-n"),
        ("pods", "-n", ""),
        ("pods", "--selector=app=web"),
        ("pod", "web", "-l", "app=web"),
        ("pod", "web", "-A"),
    ],
    ids=" ".join,
)
def test_words_that_only_kubectl_knows_are_refused(words: tuple[str, ...]) -> None:
    def nowhere() -> Any:
        raise AssertionError("nobody is asked")

    with pytest.raises(ValueError, match="use kubectl for that"):
        Reader(nowhere).get(*words)
