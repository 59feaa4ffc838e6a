"""Leader election on a real API server, with short terms."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from builders.proxies.faults import FaultProxy
from builders.waiting import until
from trimtab.kube.client import Client
from trimtab.kube.resources import LEASES, Lease
from trimtab.kube.runtime.lease import Elector, NotLeading, Terms

BRIEF = Terms(duration_s=2, renew_within_s=1.0, retry_s=0.2)


class Candidate:
    """An elector and what it does while it leads."""

    def __init__(self, client: Client, namespace: str, identity: str, terms: Terms = BRIEF) -> None:
        self.elector = Elector(client, "boss", namespace, identity, terms=terms)
        self.acting = False
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.elector.run(self._lead))

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task

    async def _lead(self) -> None:
        self.acting = True
        try:
            await asyncio.Event().wait()
        finally:
            self.acting = False


async def read(client: Client, namespace: str) -> Lease:
    return await client.get(LEASES, "boss", namespace)


async def test_the_lease_reads_as_client_go_writes_it(client: Client, namespace: str) -> None:
    first = Candidate(client, namespace, "first", Terms())
    first.start()
    await until(lambda: first.acting)
    spec = (await read(client, namespace)).spec
    assert (spec.holder_identity, spec.lease_duration_seconds) == ("first", 15)
    assert spec.lease_transitions == 0
    assert spec.acquire_time == spec.renew_time
    await first.stop()
    released = (await read(client, namespace)).spec
    assert released.holder_identity == ""
    assert released.lease_duration_seconds == 1
    second = Candidate(client, namespace, "second")
    second.start()
    await until(lambda: second.acting)
    assert (await read(client, namespace)).spec.lease_transitions == 1
    await second.stop()


async def test_a_lead_that_fails_gives_the_lease_back_and_says_why(
    client: Client, namespace: str
) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    elector = Elector(client, "boss", namespace, "first", terms=BRIEF)
    with pytest.raises(ZeroDivisionError):
        await elector.run(fail)
    assert (await read(client, namespace)).spec.holder_identity == ""


async def test_the_leader_renews_and_the_other_waits(client: Client, namespace: str) -> None:
    patient = Terms(duration_s=5, renew_within_s=4, retry_s=0.2)  # a busy machine may pause
    first, second = (Candidate(client, namespace, name, patient) for name in ("first", "second"))
    first.start()
    await until(lambda: first.acting)
    second.start()
    taken = (await read(client, namespace)).spec.acquire_time
    renewed = taken
    while renewed is None or taken is None or renewed - taken < timedelta(seconds=6):
        renewed = (await read(client, namespace)).spec.renew_time
        assert first.acting
        assert not second.acting
        await asyncio.sleep(0.1)
    await first.stop()
    await until(lambda: second.acting, "the released lease is taken")
    await second.stop()


async def test_a_leader_that_cannot_renew_stops_before_another_begins(
    proxy: FaultProxy, client: Client, namespace: str
) -> None:
    async with Client.from_kubeconfig(proxy.kubeconfig, limit_s=10) as behind:
        first, second = (
            Candidate(behind, namespace, "first"),
            Candidate(client, namespace, "second"),
        )
        first.start()
        await until(lambda: first.acting)
        second.start()
        proxy.set("stuck")
        while not second.acting:
            assert not (first.acting and second.acting)
            await asyncio.sleep(0)
        assert not first.acting
        with pytest.raises(NotLeading):
            first.elector.check()
        proxy.heal()
        await second.stop()
        await until(lambda: first.acting, "it comes back")
        await first.stop()


async def test_a_lease_that_someone_deletes_is_taken_anew(client: Client, namespace: str) -> None:
    first = Candidate(client, namespace, "first")
    first.start()
    await until(lambda: first.acting)
    await client.delete(LEASES, "boss", namespace)

    async def exists() -> bool:
        return bool(await client.list(LEASES, namespace))

    await until(exists)
    await until(lambda: first.elector.leading)
    assert (await read(client, namespace)).spec.holder_identity == "first"
    await first.stop()


async def test_a_lease_that_someone_gives_to_another_is_lost_at_once(
    client: Client, namespace: str
) -> None:
    first = Candidate(
        client, namespace, "first", Terms(duration_s=60, renew_within_s=50, retry_s=0.2)
    )
    first.start()
    await until(lambda: first.acting)
    await client.patch(LEASES, "boss", {"spec": {"holderIdentity": "usurper"}}, namespace)
    await until(lambda: not first.acting)
    assert (await read(client, namespace)).spec.holder_identity == "usurper"
    await first.stop()
