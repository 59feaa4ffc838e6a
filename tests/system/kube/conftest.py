"""One API server for all tests here."""

from collections.abc import AsyncIterator, Iterator

import pytest

from conformance.apiserver import ApiServer, running_apiserver
from trimtab.kube.client import Client


@pytest.fixture(scope="session")
def apiserver() -> Iterator[ApiServer]:
    with running_apiserver() as server:
        yield server


@pytest.fixture
async def client(apiserver: ApiServer) -> AsyncIterator[Client]:
    async with Client.from_kubeconfig(apiserver.kubeconfig) as client:
        yield client
