"""Reflectors when the network and the API server fail: the store is right again, always."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from itertools import count

import pytest

from builders.labs.following import following
from builders.proxies.faults import Fault, FaultProxy
from builders.waiting import until
from conformance.apiserver import ApiServer
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, NotFound, Unavailable
from trimtab.kube.resources import CONFIG_MAPS, ConfigMap, Key
from trimtab.kube.runtime.backoff import Backoff
from trimtab.kube.runtime.reflector import Patience, Reflector, lists, restarts

HASTE = Patience(page=3, server_timeout_s=2, grace_s=0.5, backoff=Backoff(0.05, 0.3))
_names = (f"faulty-{n}" for n in count())


@pytest.fixture
async def victim(proxy: FaultProxy) -> AsyncIterator[Client]:
    """A client that goes through the proxy."""
    async with Client.from_kubeconfig(proxy.kubeconfig, limit_s=1.5) as client:
        yield client


def by_colour(obj: ConfigMap) -> Iterable[str]:
    return (obj.data["colour"],) if "colour" in obj.data else ()


class Witness:
    """Believes only what a store tells its subscribers."""

    def __init__(self, reflector: Reflector[ConfigMap]) -> None:
        self.objects: dict[Key, ConfigMap] = {}
        self.news: list[str] = []
        reflector.store.subscribe(self)

    def __call__(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        key = (old or new or ConfigMap()).metadata.key
        assert self.objects.pop(key, None) == old
        if new is not None:
            self.objects[key] = new
        verb = "created" if old is None else "deleted" if new is None else "changed"
        self.news.append(f"{verb} {key.name}")


def a_reflector(client: Client, namespace: str) -> Reflector[ConfigMap]:
    return Reflector(
        client,
        CONFIG_MAPS,
        namespace=namespace,
        indexes={"colour": by_colour},
        patience=HASTE,
        name=next(_names),
    )


def restarted(reflector: Reflector[ConfigMap], reason: str) -> float:
    return float(restarts.labels(reflector.name, reason)._value.get())


async def write(client: Client, namespace: str, name: str, **data: str) -> None:
    await client.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": data}, namespace)


async def agrees(
    client: Client, namespace: str, reflector: Reflector[ConfigMap], witness: Witness
) -> None:
    """Store, index and witness equal a fresh list (before long)."""
    truth = {obj.metadata.key: obj for obj in await client.list(CONFIG_MAPS, namespace)}
    colours = {obj.data["colour"] for obj in truth.values() if "colour" in obj.data}
    await until(
        lambda: {obj.metadata.key: obj for obj in reflector.store} == truth,
        f"the store equals the list; trouble: {reflector.trouble}",
    )
    assert witness.objects == truth
    assert set(reflector.store.values_of("colour")) == colours
    for colour in colours:
        members = {key for key, obj in truth.items() if obj.data.get("colour") == colour}
        assert {obj.metadata.key for obj in reflector.store.by("colour", colour)} == members


async def test_a_watch_cut_in_the_middle_of_a_line_goes_on_after_it(
    client: Client, victim: Client, proxy: FaultProxy, namespace: str
) -> None:
    reflector = a_reflector(victim, namespace)
    witness = Witness(reflector)
    async with following(reflector):
        proxy.set("cut")
        await write(client, namespace, "a")
        await until(lambda: proxy.cuts > 0, "a cut")
        assert len(reflector.store) == 0
        proxy.heal()
        await agrees(client, namespace, reflector, witness)
    assert witness.news == ["created a"]
    assert lists.labels(reflector.name)._value.get() == 1  # resumed, not listed again


async def test_a_silent_connection_is_given_up(
    client: Client, victim: Client, proxy: FaultProxy, namespace: str
) -> None:
    reflector = a_reflector(victim, namespace)
    witness = Witness(reflector)
    async with following(reflector):
        proxy.set("stuck")
        await write(client, namespace, "a")
        given_up = ("silent", "NoAnswer")
        await until(lambda: sum(restarted(reflector, why) for why in given_up) >= 2, "two limits")
        proxy.heal()
        await agrees(client, namespace, reflector, witness)
    assert witness.news == ["created a"]


async def test_a_slow_connection_is_no_fault(
    client: Client, victim: Client, proxy: FaultProxy, namespace: str
) -> None:
    reflector = a_reflector(victim, namespace)
    witness = Witness(reflector)
    async with following(reflector):
        proxy.set("slow")
        for n in range(5):
            await write(client, namespace, f"m{n}", colour="red")
        await agrees(client, namespace, reflector, witness)


async def test_what_happens_during_a_disconnection_is_heard_afterwards(
    client: Client, victim: Client, proxy: FaultProxy, namespace: str
) -> None:
    for name in ("deleted", "reborn", "kept"):
        await write(client, namespace, name)
    reflector = a_reflector(victim, namespace)
    witness = Witness(reflector)
    async with following(reflector):
        witness.news.clear()
        gaps: list[float] = []
        reflector.on_gap = gaps.append
        proxy.set("gone")  # the watch ends; the next one is told to list again
        await client.delete(CONFIG_MAPS, "deleted", namespace)
        await client.delete(CONFIG_MAPS, "reborn", namespace)
        await write(client, namespace, "reborn")
        await until(lambda: proxy.goners > 0, "an HTTP 410")
        proxy.heal()
        await agrees(client, namespace, reflector, witness)
        assert restarted(reflector, "expired") >= 1
        assert min(gaps) > 0
        assert reflector.gap_s == 0  # that was while the news were told
    assert sorted(witness.news) == ["created reborn", "deleted deleted", "deleted reborn"]


async def test_a_restarted_api_server_that_forgot_our_version_makes_us_list_again(
    apiserver: ApiServer, client: Client, victim: Client, proxy: FaultProxy, namespace: str
) -> None:
    await write(client, namespace, "deleted")
    await write(client, namespace, "kept")
    reflector = a_reflector(victim, namespace)
    witness = Witness(reflector)
    async with following(reflector):
        proxy.set("refuse")
        await until(lambda: proxy.refusals > 0, "a refusal")
        await client.delete(CONFIG_MAPS, "deleted", namespace)
        await asyncio.to_thread(restart, apiserver)
        proxy.heal()
        await agrees(client, namespace, reflector, witness)
        assert restarted(reflector, "expired") >= 1
    assert witness.news[-1] == "deleted deleted"


async def test_an_api_server_killed_under_a_watch_is_found_again(
    apiserver: ApiServer, client: Client, namespace: str
) -> None:
    reflector = a_reflector(client, namespace)  # straight to the server
    witness = Witness(reflector)
    async with following(reflector):
        await asyncio.to_thread(apiserver.kill)
        await until(lambda: reflector.trouble is not None, "trouble")
        await asyncio.to_thread(apiserver.start)
        await write(client, namespace, "after")
        await agrees(client, namespace, reflector, witness)
        assert reflector.trouble is None


def restart(apiserver: ApiServer) -> None:
    apiserver.kill()
    apiserver.start()


async def test_a_request_to_a_silent_server_ends_at_its_limit(
    victim: Client, proxy: FaultProxy, namespace: str
) -> None:
    await victim.list(CONFIG_MAPS, namespace)
    proxy.set("stuck")
    with pytest.raises(Unavailable):
        await victim.list(CONFIG_MAPS, namespace)


async def test_a_read_survives_a_connection_that_was_dropped_while_idle(
    victim: Client, proxy: FaultProxy, namespace: str
) -> None:
    for _ in range(5):
        await victim.list(CONFIG_MAPS, namespace)
        proxy.drop()
        assert await victim.list(CONFIG_MAPS, namespace) == []


FAULTS: tuple[Fault, ...] = ("refuse", "stuck", "slow", "cut", "gone", "none")


class Chaos:
    """A seeded sequence of writes and faults."""

    def __init__(self, seed: int, client: Client, proxy: FaultProxy, namespace: str) -> None:
        self._dice = random.Random(seed)
        self._client = client
        self._proxy = proxy
        self._namespace = namespace

    async def step(self) -> None:
        name = f"m{self._dice.randrange(8)}"
        action: Callable[[str], object] = self._dice.choice(
            [self._create, self._create, self._change, self._delete, self._break]
        )
        result = action(name)
        if asyncio.iscoroutine(result):
            with suppress(NotFound, AlreadyExists):
                await result
        await asyncio.sleep(self._dice.choice([0, 0, 0.01, 0.1]))

    async def _create(self, name: str) -> None:
        await write(self._client, self._namespace, name, colour=self._colour())

    async def _change(self, name: str) -> None:
        patch = {"data": {"colour": self._colour()}}
        await self._client.patch(CONFIG_MAPS, name, patch, self._namespace)

    async def _delete(self, name: str) -> None:
        await self._client.delete(CONFIG_MAPS, name, self._namespace)

    def _break(self, name: str) -> None:
        self._proxy.set(self._dice.choice(FAULTS))

    def _colour(self) -> str:
        return self._dice.choice(["red", "green", "blue"])


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.full) for n in range(3, 30))]
)
async def test_after_any_sequence_of_faults_the_store_equals_a_fresh_list(
    client: Client, victim: Client, proxy: FaultProxy, namespace: str, seed: int
) -> None:
    reflector = a_reflector(victim, namespace)
    witness = Witness(reflector)
    chaos = Chaos(seed, client, proxy, namespace)
    async with following(reflector):
        for _ in range(60):
            await chaos.step()
        proxy.heal()
        await agrees(client, namespace, reflector, witness)
