"""Reflectors against a real API server, with nothing going wrong."""

from collections.abc import Iterable

import msgspec

from builders.labs.following import following
from builders.values.kube import pod_to_create
from builders.waiting import until
from trimtab.kube.client import Client
from trimtab.kube.resources import (
    CONFIG_MAPS,
    CRDS,
    PODS,
    ConfigMap,
    Free,
    Key,
    Kind,
    ObjectMeta,
    Pod,
    free_kind,
)
from trimtab.kube.runtime.reflector import Patience, Reflector, restarts


def by_owner(pod: Pod) -> Iterable[str]:
    return (owner.uid for owner in pod.metadata.owner_references)


async def test_the_store_follows_the_api(client: Client, namespace: str) -> None:
    maps = Reflector(client, CONFIG_MAPS, namespace=namespace, patience=Patience(page=1))
    news: list[tuple[str, str]] = []
    maps.store.subscribe(
        lambda old, new: news.append(
            (old.metadata.name if old else "", new.metadata.name if new else "")
        )
    )
    await client.create(CONFIG_MAPS, {"metadata": {"name": "before"}}, namespace)
    async with following(maps):
        assert maps.store.keys() == [Key(namespace, "before")]
        await client.create(CONFIG_MAPS, {"metadata": {"name": "after"}}, namespace)
        await until(lambda: len(maps.store) == 2)
        await client.patch(CONFIG_MAPS, "after", {"data": {"a": "b"}}, namespace)
        await until(lambda: maps.store[Key(namespace, "after")].data == {"a": "b"})
        await client.delete(CONFIG_MAPS, "before", namespace)
        await until(lambda: Key(namespace, "before") not in maps.store)
    assert news == [("", "before"), ("", "after"), ("after", "after"), ("before", "")]


async def test_indexes_answer_who_owns_what(client: Client, namespace: str) -> None:
    owner = await client.create(
        CONFIG_MAPS, ConfigMap(metadata=ObjectMeta(name="owner", namespace=namespace))
    )
    references = [msgspec.to_builtins(CONFIG_MAPS.owner(owner))]
    pods = Reflector(client, PODS, namespace=namespace, indexes={"owner": by_owner})
    async with following(pods):
        await client.create(PODS, pod_to_create("mine", namespace, ownerReferences=references))
        await client.create(PODS, pod_to_create("stray", namespace))
        await until(lambda: len(pods.store) == 2)
        (mine,) = pods.store.by("owner", owner.metadata.uid)
        assert mine.metadata.name == "mine"
        assert mine.metadata.controller == CONFIG_MAPS.owner(owner)
        await client.delete(PODS, "mine", namespace)
        await until(lambda: not pods.store.by("owner", owner.metadata.uid))
        assert pods.store.values_of("owner") == []


async def test_an_object_that_stops_matching_a_selector_leaves_the_store(
    client: Client, namespace: str
) -> None:
    await client.create(PODS, pod_to_create("p", namespace, labels={"app": "x"}))
    pods = Reflector(client, PODS, namespace=namespace, labels="app=x")
    async with following(pods):
        assert len(pods.store) == 1
        await client.patch(PODS, "p", {"metadata": {"labels": {"app": "y"}}}, namespace)
        await until(lambda: len(pods.store) == 0)


async def test_a_watch_that_the_server_ends_goes_on_where_it_was(
    client: Client, namespace: str
) -> None:
    patience = Patience(server_timeout_s=1, grace_s=5)
    pods = Reflector(client, PODS, namespace=namespace, patience=patience, name="short")

    def endings() -> float:
        return sum(float(restarts.labels("short", why)._value.get()) for why in ("ended", "quiet"))

    async with following(pods):
        await until(lambda: endings() >= 2, "two watches ended by the server")
        await client.create(PODS, pod_to_create("p", namespace))
        await until(lambda: len(pods.store) == 1)
    assert pods.trouble is None


async def test_a_kind_that_is_not_served_yet_appears_when_it_is(client: Client) -> None:
    widgets: Kind[Free] = free_kind("example.org", "v1", "widgets", "Widget", namespaced=False)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Cluster",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [version],
        },
    }
    reflector = Reflector(client, widgets)
    definitions = Reflector(client, CRDS, fields="metadata.name=widgets.example.org")

    async with following(definitions), following(reflector, synced=False):
        await until(lambda: reflector.trouble is not None)
        assert not reflector.synced.is_set()
        await client.create(CRDS, definition)
        await until(lambda: any(crd.established for crd in definitions.store))
        await until(reflector.synced.is_set)
        await client.create(widgets, {"metadata": {"name": "w"}, "spec": {"size": 3}})
        await until(lambda: len(reflector.store) == 1)
        assert reflector.store[Key("", "w")]["spec"] == {"size": 3}
        await client.delete(CRDS, "widgets.example.org")
        await until(lambda: len(reflector.store) == 0)
        assert reflector.trouble is None or reflector.trouble.code == 404
