"""The built-in actions of a plan, carried out against the lab's API server."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.errors import NotReady, TrimtabError
from trimtab.files.writing import write_private
from trimtab.kube.resources import Condition, CrdStatus, Node, Pod
from trimtab.lab.api import Api, LabApiError
from trimtab.lab.components.component import (
    Action,
    ApplyObjects,
    AwaitNodes,
    CreateNodes,
    DeleteNodeLeases,
    ProbePod,
    RequestTokens,
    TokenFile,
)
from trimtab.lab.components.identity import NAMESPACE
from trimtab.lab.components.kwok import NOT_READY_LABEL
from trimtab.lab.components.objects import node, probe_pod
from trimtab.lab.spec import NodeSize

PARALLEL = 32
PROBE_LIMIT_S = 30.0
REFUSAL_S = 5.0  # shorter ones happen while the scheduler has not seen the nodes yet
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_NOT_READY_TAINT = "node.kubernetes.io/not-ready"


class _Definition(Struct, frozen=True):
    """A CustomResourceDefinition without its schema, which may be a megabyte."""

    status: CrdStatus = CrdStatus()


class _Nodes(Struct, frozen=True):
    items: tuple[Node, ...] = ()


async def perform(action: Action, api: Api, directory: Path, tokens: tuple[TokenFile, ...]) -> str:
    """Run one action; returns a message for the user, usually empty."""
    match action:
        case DeleteNodeLeases():
            await api.delete(_LEASES)
        case ApplyObjects(file=file, status=status):
            await _apply(api, _objects(directory / file), "status" if status else "")
        case CreateNodes(count=count, size=size):
            await _create_nodes(api, count, size)
        case AwaitNodes(count=count):
            await _await_nodes(api, count)
        case ProbePod(scheduler_name=name):
            return await _probe(api, name)
        case RequestTokens():
            for token in tokens:
                await renew_token(api, directory, token)
    return ""


async def renew_token(api: Api, directory: Path, token: TokenFile) -> None:
    """A fresh token in the service's file; readers see the old or the new one, never half."""
    path = f"/api/v1/namespaces/{token.namespace}/serviceaccounts/{token.service}/token"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": token.lifetime_s},
    }
    answer = msgspec.json.decode(await api.create(path, request))
    write_private(directory / token.file, answer["status"]["token"])


async def _apply(api: Api, things: list[dict[str, Any]], subresource: str) -> None:
    for thing in things:
        await api.apply(thing, subresource)
        if thing["kind"] == "CustomResourceDefinition":
            await _await_established(api, thing["metadata"]["name"])


def _objects(file: Path) -> list[dict[str, Any]]:
    things: list[dict[str, Any]] = msgspec.json.decode(file.read_bytes())
    return things


async def _await_established(api: Api, name: str) -> None:
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    for _ in range(200):
        definition = msgspec.json.decode(await api.get(path), type=_Definition)
        if _holds("Established", definition.status.conditions or ()):
            return
        await asyncio.sleep(0.05)
    raise NotReady(f"the definition {name} is not established after 10 s")


async def _create_nodes(api: Api, count: int, size: NodeSize) -> None:
    gate = asyncio.Semaphore(PARALLEL)
    failures: list[Exception] = []

    async def one(number: int) -> None:
        async with gate:
            await _create(api, node(number, size))

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(1, count + 1):
                group.create_task(one(number))
    except* TrimtabError as several:
        failures.extend(several.exceptions)
    if failures:
        raise failures[0]  # the first cancelled the others


async def _create(api: Api, thing: dict[str, Any]) -> None:
    try:
        await api.create("/api/v1/nodes", thing)
    except LabApiError as error:
        if error.status != 409:  # it exists: as good as made
            raise


async def _await_nodes(api: Api, count: int) -> None:
    """Ready, and rid of the taint that a new node carries: pods can really go there."""
    answer = await api.get("/api/v1/nodes?resourceVersion=0")
    nodes = msgspec.json.decode(answer, type=_Nodes).items
    usable, all_of_them = sum(map(_is_usable, nodes)), max(count, len(nodes))
    if usable < all_of_them:
        # a list of 1,000 nodes costs the server 50 ms: look again when it may be worth it
        await asyncio.sleep(min(2.0, 0.002 * (all_of_them - usable)))
        raise NotReady(f"{usable} of {all_of_them} nodes are Ready")


def _is_usable(each: Node) -> bool:
    if each.metadata.labels.get(NOT_READY_LABEL) == "true":
        return True
    return each.ready and all(taint.key != _NOT_READY_TAINT for taint in each.spec.taints)


async def _probe(api: Api, scheduler_name: str) -> str:
    """Running counts; so does a lasting refusal by the scheduler, as when a resumed lab is full."""
    path = f"{_PODS}/lab-probe"
    await _remove(api, path)
    await api.create(_PODS, probe_pod(scheduler_name))
    try:
        return await _follow_probe(api, path)
    finally:
        await _remove(api, path)


async def _follow_probe(api: Api, path: str) -> str:
    clock = asyncio.get_running_loop().time
    begin = clock()
    while clock() - begin < PROBE_LIMIT_S:
        pod = msgspec.json.decode(await api.get(path), type=Pod)
        if pod.status.phase == "Running":
            return ""
        for condition in pod.status.conditions:
            if condition.reason == "Unschedulable" and clock() - begin > REFUSAL_S:
                return f"the probe pod found no place: {condition.message}"
        await asyncio.sleep(0.03)
    placed = _holds("PodScheduled", pod.status.conditions)
    why = "kwok does not start it" if placed else "the scheduler does not place it"
    raise NotReady(f"the probe pod does not run: {why}")


async def _remove(api: Api, path: str) -> None:
    try:
        await api.delete(path, grace_s=0)
    except LabApiError as error:
        if error.status != 404:
            raise


def _holds(kind: str, conditions: Iterable[Condition]) -> bool:
    return any(c.type == kind and c.status == "True" for c in conditions)
