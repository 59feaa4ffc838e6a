"""One API server for all tests here; each test has a namespace of its own."""

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from builders.proxies.faults import FaultProxy
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.kube.client import Client
from trimtab.kube.resources import NAMESPACES, Namespace, ObjectMeta

_numbers = count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "apiserver" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.engines)


@pytest.fixture(scope="session")
def apiserver() -> Iterator[ApiServer]:
    with running_apiserver() as server:
        yield server


@pytest.fixture
async def client(apiserver: ApiServer) -> AsyncIterator[Client]:
    async with Client.from_kubeconfig(apiserver.kubeconfig, writes_per_s=1000) as client:
        yield client


@pytest.fixture
async def proxy(apiserver: ApiServer) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(apiserver) as proxy:
        yield proxy


@pytest.fixture
async def namespace(client: Client) -> str:
    name = f"test-{next(_numbers)}"
    await client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name=name)))
    return name
