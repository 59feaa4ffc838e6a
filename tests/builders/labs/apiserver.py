"""Fixtures of rooms whose tests share one API server; a conftest that imports them has its own."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

import pytest

from builders.waiting import until
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import NAMESPACES, Kind, Namespace, ObjectMeta

_numbers = count()


def mark_engines(items: list[pytest.Item]) -> None:
    """Tests that ask for an API server need the engines."""
    for item in items:
        if "apiserver" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.engines)


@pytest.fixture(scope="package")
def apiserver() -> Iterator[ApiServer]:
    with running_apiserver() as server:
        yield server


@pytest.fixture
async def client(apiserver: ApiServer) -> AsyncIterator[Client]:
    async with Client.from_kubeconfig(apiserver.kubeconfig, writes_per_s=1000) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace that no other test has."""
    name = f"test-{next(_numbers)}"
    await client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name=name)))
    return name


async def await_served(client: Client, kind: Kind[Any]) -> None:
    """Return once the API server lists objects of a kind that was just defined."""

    async def is_listed() -> bool:
        try:
            await client.list(kind)
        except NotFound:
            return False
        return True

    await until(is_listed, f"{kind} is not served")
