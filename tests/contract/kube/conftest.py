"""One API server for all tests here; each test has a namespace of its own."""

from collections.abc import AsyncIterator

import pytest

from builders.labs.apiserver import apiserver, client, mark_engines, namespace
from builders.proxies.faults import FaultProxy
from conformance.apiserver import ApiServer

__all__ = ["apiserver", "client", "namespace"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_engines(items)


@pytest.fixture
async def proxy(apiserver: ApiServer) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(apiserver) as proxy:
        yield proxy
