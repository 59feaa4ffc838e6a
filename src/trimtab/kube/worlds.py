"""Whose VMs a cluster has: KubeVirt's, trimtab's own, or none. Never both.

Two controllers would claim the same launcher pods, and two webhooks would answer one eviction.
So a service for one kind refuses to start beside the other, and ends if it appears later.
"""

import asyncio
from typing import Literal

import msgspec

from trimtab.errors import ConfigError, Unavailable
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.virtual_machines import GROUP, KUBEVIRT, VERSION

World = Literal["kubevirt", "trimtab"]
LOOK_S = 30.0
_PLACES: dict[World, str] = {
    "kubevirt": f"/apis/{KUBEVIRT}/v1",
    "trimtab": f"/apis/{GROUP}/{VERSION}",
}
_REFUSALS: dict[World, str] = {
    "kubevirt": (
        "virtualmachines.kubevirt.io exists here; trimtab's own VirtualMachines are for clusters "
        "without KubeVirt, there use: trimtab snapshot"
    ),
    "trimtab": (
        f"virtualmachines.{GROUP} exists here; KubeVirt's handlers are played only where "
        "trimtab's own VirtualMachines are not installed: use another lab"
    ),
}


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: tuple[_Resource, ...] = ()


async def serves_vms(client: Client, world: World) -> bool:
    """Whether the API server knows VirtualMachines of this world."""
    try:
        answer = await client.request("GET", _PLACES[world])
    except NotFound:
        return False
    served = msgspec.json.decode(answer, type=_Resources).resources
    return any(resource.name == "virtualmachines" for resource in served)


async def world_of(client: Client) -> World:
    """Whose VMs to speak of; a cluster with neither is taken for one of trimtab's."""
    return "kubevirt" if await serves_vms(client, "kubevirt") else "trimtab"


async def refuse_beside(client: Client, world: World) -> None:
    """A ConfigError if VMs of that world exist here."""
    if await serves_vms(client, world):
        raise ConfigError(f"{client.server}: {_REFUSALS[world]}")


async def watch_for(client: Client, world: World, every_s: float = LOOK_S) -> None:
    """End with the same error when VMs of that world are installed later."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await refuse_beside(client, world)
        except Unavailable:  # asked again after the next pause
            continue
