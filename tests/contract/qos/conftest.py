"""One API server for all tests here, with our definitions and policies; a namespace per test."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from builders.labs.apiserver import apiserver, mark_engines, namespace
from builders.values.kube import pod_to_create
from builders.waiting import until
from conformance.apiserver import ApiServer
from trimtab.install.qos.admission import STAMPER, policies
from trimtab.install.qos.crd import crds
from trimtab.install.qos.manifests import qos_rbac
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, Invalid
from trimtab.kube.resources import (
    CRDS,
    NAMESPACES,
    PODS,
    Free,
    Kind,
    free_kind,
)
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.queue.key import ANNOTATION as KEY

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

    async def established() -> bool:
        return (await client.get(CRDS, name)).established

    await until(established, "the accounts are not served")
    await _await_policies(client)
    _installed.add(client.server)


async def _await_policies(client: Client) -> None:
    """Each takes a moment until it holds, one longer than the other."""
    await client.create(PODS, pod_to_create("probe", "default"))

    async def refuses_bad_slos() -> bool:
        bad = pod_to_create("bad", "default", annotations={SLO: "lots"})
        try:
            await client.create(PODS, bad, dry_run=True)
        except Invalid:
            return True
        return False

    async def takes_stamps_off() -> bool:
        stamped = pod_to_create("stamped", "default", annotations={KEY: "v1"})
        return KEY not in (await client.create(PODS, stamped, dry_run=True)).metadata.annotations

    async def refuses_other_stampers() -> bool:
        patch = {"metadata": {"annotations": {KEY: "v1"}}}
        try:
            await client.patch(PODS, "probe", patch, "default", dry_run=True)
        except Forbidden:
            return True
        return False

    for holds in (refuses_bad_slos, takes_stamps_off, refuses_other_stampers):
        await until(holds, f"no policy {holds.__name__}")
    await client.delete(PODS, "probe", "default", grace_s=0)


def kind_of(manifest: dict[str, Any]) -> Kind[Free]:
    group, _, version = manifest["apiVersion"].rpartition("/")
    kind = manifest["kind"]
    plural = kind.lower().removesuffix("y") + ("ies" if kind.endswith("y") else "s")
    namespaced = "namespace" in manifest["metadata"]
    return free_kind(group, version, plural, kind, namespaced=namespaced)
