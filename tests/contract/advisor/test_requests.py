"""What a person asks for while others write the same object, on a real API server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from builders.labs.advisor import LOAD_AWARE
from conformance.apiserver import ApiServer
from trimtab.advisor.api import CONFIGS, FREE_CONFIGS
from trimtab.advisor.cluster import requests
from trimtab.advisor.cluster.requests import ConfigRequests
from trimtab.advisor.plan.profile import advertisement
from trimtab.advisor.profiles.registry import built_in
from trimtab.errors import Conflict, NotReady
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound, Status, Unavailable

pytestmark = pytest.mark.engines
PLAN = "0123456789ab"


class Overtaken(Client):
    """Somebody else writes just before our first write."""

    overtake: Callable[[], Awaitable[Any]] | None = None

    async def create(self, *given: Any, **options: Any) -> Any:
        await self._let_pass()
        return await super().create(*given, **options)

    async def patch(self, *given: Any, **options: Any) -> Any:
        await self._let_pass()
        return await super().patch(*given, **options)

    async def _let_pass(self) -> None:
        first, self.overtake = self.overtake, None
        if first is not None:
            await first()


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Overtaken]:
    async with Overtaken.from_kubeconfig(server.kubeconfig, manager="person") as client:
        yield client
        await client.delete(CONFIGS, LOAD_AWARE)
        while await _exists(client):
            await asyncio.sleep(0.05)


async def _exists(client: Client) -> bool:
    try:
        await client.get(CONFIGS, LOAD_AWARE)
    except NotFound:
        return False
    return True


def requests_of(client: Client) -> ConfigRequests:
    return ConfigRequests(client, timeout_s=1.0, say=lambda _: None)


async def advertise(client: Client) -> None:
    await client.create(FREE_CONFIGS, advertisement(built_in().get(LOAD_AWARE)))


async def write_status(client: Client, **status: str) -> None:
    await client.patch(FREE_CONFIGS, LOAD_AWARE, {"status": status}, subresource="status")


async def test_a_profile_advertised_in_the_moment_it_is_asked_for_is_planned(
    client: Overtaken,
) -> None:
    client.overtake = lambda: advertise(client)
    with pytest.raises(NotReady, match="not seen by the operator"):  # there is none here
        await requests_of(client).plan(LOAD_AWARE)
    assert (await client.get(CONFIGS, LOAD_AWARE)).spec.action == "DryRun"


async def test_whoever_waits_for_an_operator_that_is_not_there_is_told(
    client: Overtaken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "SEEN_WITHIN_S", 0.3)
    said: list[str] = []
    with pytest.raises(NotReady):
        await ConfigRequests(client, timeout_s=1.0, say=said.append).plan(LOAD_AWARE)
    assert said[0] == "Pending"
    assert said[-1] == f"{LOAD_AWARE}: {requests.UNSEEN}"


async def test_admission_that_is_not_ready_yet_is_waited_for(client: Overtaken) -> None:
    async def refuse() -> None:
        raise Unavailable("POST", Status(code=503, message="There can be a delay"))

    client.overtake = refuse
    with pytest.raises(NotReady, match="not seen by the operator"):
        await requests_of(client).plan(LOAD_AWARE)
    assert (await client.get(CONFIGS, LOAD_AWARE)).spec.action == "DryRun"


async def test_a_status_written_meanwhile_is_no_conflict(client: Overtaken) -> None:
    await advertise(client)
    await write_status(client, phase="ReviewRequired", planId=PLAN)
    client.overtake = lambda: write_status(client, impactSeverity="High")
    await requests_of(client).approve(LOAD_AWARE)
    spec = (await client.get(CONFIGS, LOAD_AWARE)).spec
    assert (spec.action, spec.approved_plan) == ("Apply", PLAN)


async def test_a_spec_written_meanwhile_is_one(client: Overtaken) -> None:
    await advertise(client)
    await write_status(client, phase="ReviewRequired", planId=PLAN)
    edit = {"spec": {"waitTimeout": "5m"}}
    client.overtake = lambda: client.patch(FREE_CONFIGS, LOAD_AWARE, edit)
    with pytest.raises(Conflict):
        await requests_of(client).approve(LOAD_AWARE)
    spec = (await client.get(CONFIGS, LOAD_AWARE)).spec
    assert (spec.action, spec.approved_plan) == ("Ignore", "")
