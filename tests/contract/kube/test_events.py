"""Events on a real API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from builders.labs.following import following
from builders.proxies.faults import FaultProxy
from builders.waiting import until
from trimtab.kube.client import Client
from trimtab.kube.events import EventRecorder, written
from trimtab.kube.resources import (
    CONFIG_MAPS,
    EVENTS,
    NODES,
    ConfigMap,
    Node,
    ObjectMeta,
    ObjectReference,
    free_kind,
)
from trimtab.kube.runtime.lease import NotLeading
from trimtab.kube.runtime.reflector import Reflector

CORE_EVENTS = free_kind("", "v1", "events", "Event")


class Calendar:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def about(client: Client, namespace: str) -> ObjectReference:
    thing = ConfigMap(metadata=ObjectMeta(name="thing", namespace=namespace))
    return CONFIG_MAPS.reference(await client.create(CONFIG_MAPS, thing))


@asynccontextmanager
async def recording(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def a_recorder(client: Client, **options: object) -> EventRecorder:
    return EventRecorder(client, "trimtab.dev/test", "here-1", count_every_s=0.05, **options)  # type: ignore[arg-type]


async def test_an_event_reads_well_in_both_apis(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    async with recording(recorder := a_recorder(client)):
        recorder.record(about, "Moved", "from n1 to n2", type="Warning", action="Migrate")
    (event,) = await client.list(EVENTS, namespace)
    assert (event.reason, event.note, event.type) == ("Moved", "from n1 to n2", "Warning")
    assert (event.action, event.regarding.uid) == ("Migrate", about.uid)
    assert (event.reporting_controller, event.reporting_instance) == ("trimtab.dev/test", "here-1")
    (core,) = await client.list(CORE_EVENTS, namespace)  # what kubectl shows
    assert core["involvedObject"]["name"] == "thing"
    assert core["message"] == "from n1 to n2"


async def test_the_same_news_again_is_counted_on_the_first_event(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    events = Reflector(client, EVENTS, namespace=namespace)
    async with following(events), recording(recorder := a_recorder(client)):
        for _ in range(20):
            recorder.record(about, "Waiting", "for a node")
        recorder.record(about, "Waiting", "for another node")

        def counts() -> list[int]:
            return sorted(e.series.count if e.series else 1 for e in events.store)

        await until(lambda: counts() == [1, 20])
        recorder.record(about, "Waiting", "for a node")
        await until(lambda: counts() == [1, 21])
    assert {event.note for event in events.store} == {"for a node", "for another node"}


async def test_after_a_long_silence_the_same_news_is_a_new_event(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    clock = Calendar()
    events = Reflector(client, EVENTS, namespace=namespace)
    async with following(events), recording(recorder := a_recorder(client, now=clock)):
        recorder.record(about, "Waiting", "for a node")
        await until(lambda: len(events.store) == 1)
        clock.now += timedelta(hours=1)
        recorder.record(about, "Waiting", "for a node")
        await until(lambda: len(events.store) == 2)
        times = {event.event_time for event in events.store}
    assert times == {clock.now - timedelta(hours=1), clock.now}


async def test_an_event_that_expired_is_begun_anew(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    events = Reflector(client, EVENTS, namespace=namespace)
    async with following(events), recording(recorder := a_recorder(client)):
        recorder.record(about, "Waiting", "for a node")
        await until(lambda: len(events.store) == 1)
        (name,) = (event.metadata.name for event in events.store)
        await client.delete(EVENTS, name, namespace)
        await until(lambda: len(events.store) == 0)
        recorder.record(about, "Waiting", "for a node")
        await until(lambda: len(events.store) == 1)
    assert [event.metadata.name for event in events.store] != [name]


async def test_one_noisy_object_is_cut_off_and_the_others_are_heard(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    other = ObjectReference(kind="ConfigMap", namespace=namespace, name="other", uid="u")
    before = written.labels("dropped")._value.get()
    async with recording(recorder := a_recorder(client, burst=3, now=Calendar())):
        for n in range(10):
            recorder.record(about, "Noise", f"number {n}")
        recorder.record(other, "Word", "heard")
    events = await client.list(EVENTS, namespace)
    assert sorted(event.note for event in events) == ["heard", "number 0", "number 1", "number 2"]
    assert written.labels("dropped")._value.get() - before == 7


async def test_events_of_cluster_scoped_objects_go_to_the_default_namespace(
    client: Client,
) -> None:
    node = await client.create(NODES, Node(metadata=ObjectMeta(name="n1")))
    async with recording(recorder := a_recorder(client)):
        recorder.record(NODES.reference(node), "Tainted", "softly")
    events = await client.list(EVENTS, "default")
    assert [event.note for event in events if event.regarding.uid == node.metadata.uid] == [
        "softly"
    ]


async def test_an_event_waits_for_an_api_server_that_is_away(
    client: Client, proxy: FaultProxy, namespace: str, about: ObjectReference
) -> None:
    events = Reflector(client, EVENTS, namespace=namespace)
    async with (
        Client.from_kubeconfig(proxy.kubeconfig) as behind,
        following(events),
        recording(recorder := a_recorder(behind)),
    ):
        proxy.set("refuse")
        recorder.record(about, "Moved", "at last")
        await until(lambda: proxy.refusals > 0)
        proxy.heal()
        await until(lambda: len(events.store) > 0)
    assert [event.note for event in events.store] == ["at last"]


async def test_an_event_that_is_refused_is_dropped_and_counted(client: Client) -> None:
    nowhere = ObjectReference(kind="ConfigMap", namespace="no-such-namespace", name="x", uid="u")
    before = written.labels("dropped")._value.get()
    async with recording(recorder := a_recorder(client)):
        recorder.record(nowhere, "Lost", "in space")
        await until(lambda: written.labels("dropped")._value.get() > before)
    assert written.labels("dropped")._value.get() == before + 1


async def test_a_client_that_may_not_write_any_more_costs_the_event_and_nothing_else(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    def veto() -> None:
        raise NotLeading("not any more")

    recorder = a_recorder(client.guarded(veto))
    task = asyncio.create_task(recorder.run())
    recorder.record(about, "Late", "word")
    before = written.labels("dropped")._value.get()
    await until(lambda: written.labels("dropped")._value.get() == before + 1)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await client.list(EVENTS, namespace) == []
