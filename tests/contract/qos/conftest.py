"""One API server for all tests here, with our definitions and policies; a namespace per test."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from builders.labs.apiserver import apiserver, mark_engines, namespace
from builders.values.kube import pod_to_create
from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer
from trimtab.install.qos.admission import STAMPER, policies
from trimtab.install.qos.crd import crds
from trimtab.install.qos.manifests import qos_rbac
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import Invalid
from trimtab.kube.resources import (
    CRDS,
    NAMESPACES,
    PODS,
    Free,
    Kind,
    free_kind,
)
from trimtab.qos.promise import ANNOTATION as SLO

__all__ = ["apiserver", "namespace"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_engines(items)


@pytest.fixture
async def client(apiserver: ApiServer) -> AsyncIterator[Client]:
    async with Client.from_kubeconfig(apiserver.kubeconfig, writes_per_s=1000) as client:
        await install(client)
        yield client


@pytest.fixture
async def account(apiserver: ApiServer, client: Client) -> AsyncIterator[Client]:
    """The API server as our service account sees it: with its rights and no more."""
    kubeconfig = apiserver.kubeconfig_for(apiserver.url, STAMPER, "system:authenticated")
    async with Client.from_kubeconfig(kubeconfig, manager="trimtab-qos") as client:
        yield client


_installed: set[str] = set()


async def install(client: Client) -> None:
    """The namespace, definitions, policies and roles of k8s/qos; once per API server."""
    if client.server in _installed:
        return
    await apply(client, NAMESPACES, {"metadata": {"name": "trimtab-system"}}, force=True)
    for manifest in [*crds(), *policies(), *qos_rbac()]:
        await apply(client, kind_of(manifest), manifest, force=True)
    name = crds()[0]["metadata"]["name"]
    async with asyncio.timeout(LIMIT_S):
        while not (await client.get(CRDS, name)).established:
            await asyncio.sleep(0.05)
        while not await _refuses_bad_slos(client):
            await asyncio.sleep(0.05)
    _installed.add(client.server)


async def _refuses_bad_slos(client: Client) -> bool:
    """A policy takes a moment until it holds."""
    bad = pod_to_create("probe", "default", annotations={SLO: "lots"})
    try:
        await client.create(PODS, bad, dry_run=True)
    except Invalid:
        return True
    return False


def kind_of(manifest: dict[str, Any]) -> Kind[Free]:
    group, _, version = manifest["apiVersion"].rpartition("/")
    kind = manifest["kind"]
    plural = kind.lower().removesuffix("y") + ("ies" if kind.endswith("y") else "s")
    namespaced = "namespace" in manifest["metadata"]
    return free_kind(group, version, plural, kind, namespaced=namespaced)
