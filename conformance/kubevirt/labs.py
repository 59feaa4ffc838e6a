"""The two labs, and places in them where scenarios do not meet.

A place is a namespace with its own nodes: a policy inside the API server gives every launcher
pod there the node selector of its place, whoever makes the pod.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import json

from conformance.kubevirt.ours import Ours
from conformance.kubevirt.recording import Side
from conformance.kubevirt.theirs import Theirs
from conformance.kubevirt.world import COPY_S, Place, World
from trimtab.install.policies import node_selector
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden
from trimtab.kube.kubevirt import HOSTNAME
from trimtab.kube.resources import NAMESPACES, NODES, PODS, Free, Kind, Object
from trimtab.kube.virtual_machines import INITIAL_NODE
from trimtab.stacks.kubevirt.beside_loop import initial_node_policy

GROUP_LABEL = "trimtab.dev/place"
NODES_EACH = 3
SLOW = "conformance-slow"
_LABEL = {"trimtab.dev/conformance": "true"}
_ADMISSION = "admissionregistration.k8s.io"
BANDWIDTH = round(0.8 * 1024**3 / COPY_S)
"""Bytes a second of our own lab, so that a copy takes `COPY_S`."""
_KINDS: dict[str, Kind[Any]] = {
    "MutatingAdmissionPolicy": Kind(
        _ADMISSION, "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", Object, False
    ),
    "MutatingAdmissionPolicyBinding": Kind(
        _ADMISSION,
        "v1",
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding",
        Object,
        False,
    ),
    "MigrationPolicy": Kind(
        "migrations.kubevirt.io", "v1alpha1", "migrationpolicies", "MigrationPolicy", Object, False
    ),
}


@asynccontextmanager
async def world(side: Side, kubeconfig: Path) -> AsyncIterator[World]:
    """A lab with trimtab's own VMs, or one with KubeVirt."""
    async with _client(kubeconfig) as client:
        seen = Ours(client) if side == "ours" else Theirs(client)
        async with seen.followed():
            yield seen


def _client(kubeconfig: Path) -> Client:
    return Client.from_kubeconfig(
        kubeconfig, manager="conformance", limit_s=60.0, writes_per_s=500, burst=500
    )


async def make_places(world: World, count: int) -> list[Place]:
    """`count` places on the lab's nodes, each with three of them."""
    for thing in [*_place_policy(), *_extras(world)]:
        await apply(world.client, _KINDS[thing["kind"]], thing, force=True)
    places = [_place(number) for number in range(count)]
    for place in places:
        meta = {"name": place.namespace, "labels": _LABEL}
        await apply(world.client, NAMESPACES, {"metadata": meta}, force=True)
        for node in place.nodes:
            label = {"metadata": {"labels": {GROUP_LABEL: place.namespace}}}
            await world.client.patch(NODES, node, label)
    await _await_policies(world, places[-1])
    return places


def _place(number: int) -> Place:
    begin = 1 + number * NODES_EACH
    nodes = tuple(f"kwok-node-{node}" for node in range(begin, begin + NODES_EACH))
    return Place(f"place-{number}", nodes)


def _extras(world: World) -> Sequence[Free]:
    """KubeVirt gets a slow migration network for these VMs, and the way to a first node."""
    if not isinstance(world, Theirs):
        return ()
    slow = {
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {"name": SLOW},
        "spec": {
            "bandwidthPerMigration": str(BANDWIDTH),
            "selectors": {"namespaceSelector": _LABEL},
        },
    }
    return [*initial_node_policy(), slow]


def _place_policy() -> list[Free]:
    return node_selector(
        "conformance-place",
        GROUP_LABEL,
        "object.metadata.namespace",
        {"selects": "has(object.spec.nodeSelector)"},
        namespaceSelector={"matchLabels": _LABEL},
    )


async def _await_policies(world: World, place: Place) -> None:
    """The API server learns policies a moment after it has stored them."""
    wanted = {GROUP_LABEL, *([HOSTNAME] if isinstance(world, Theirs) else [])}
    body: Free = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "trial",
            "namespace": place.namespace,
            "labels": {"kubevirt.io": "virt-launcher"},
            "annotations": {INITIAL_NODE: place.nodes[0]},
        },
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "containers": [{"name": "trial", "image": "trial"}],
        },
    }
    async with asyncio.timeout(60.0):
        while not wanted <= await _selected(world.client, place.namespace, body):
            await asyncio.sleep(0.3)


async def _selected(client: Client, namespace: str, body: Free) -> set[str]:
    """The keys of the node selector that such a pod would get."""
    path, params = PODS.path(namespace), {"dryRun": "All"}
    try:
        made = json.decode(await client.request("POST", path, params, json.encode(body)))
    except Forbidden:  # the namespace has no account yet
        return set()
    return set(made["spec"]["nodeSelector"])
