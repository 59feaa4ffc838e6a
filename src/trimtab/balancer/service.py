"""The balancer as a process: several replicas may run, one of them acts."""

import re

from trimtab.balancer.controller import Balancer
from trimtab.balancer.observation import second_balancer
from trimtab.balancer.settings import NAME, BalancerSettings
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.events import EventRecorder
from trimtab.kube.http.web import Web
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity
from trimtab.kube.worlds import World, world_of
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.observe import wire

LEAST_KUBEVIRT = (1, 6)


async def serve(client: Client, settings: BalancerSettings) -> None:
    """Run the balancer until SIGTERM."""
    world = await world_of(client)
    await refuse_what_it_cannot_do(client, world, settings)
    identity = unique_identity()
    elector = Elector(client, NAME, SYSTEM_NAMESPACE, identity)
    recorder = EventRecorder(client, f"trimtab.dev/{NAME}", identity)
    writing = client.guarded(elector.check)
    balancer = Balancer(writing, recorder, settings, reading=client, world=world)
    await Service(
        NAME,
        controllers=[balancer],
        elector=elector,
        recorder=recorder,
        web=Web(host=settings.host, port=settings.port),
    ).run()


async def refuse_what_it_cannot_do(
    client: Client, world: World, settings: BalancerSettings
) -> None:
    """A ConfigError on a KubeVirt that takes no condition on a target, and on a second balancer."""
    if world == "kubevirt" and settings.mode != "observe":
        for kubevirt in await client.list(wire.KUBEVIRTS):
            refuse_old_kubevirt(kubevirt.status.observed_kube_virt_version)
    if settings.mode != "act" or settings.beside_descheduler:
        return
    if where := await second_balancer(client):
        raise ConfigError(
            f"LowNodeUtilization is enabled in {where}, and two balancers undo each other; "
            "disable it there, or add --beside-descheduler"
        )


def refuse_old_kubevirt(version: str) -> None:
    """A ConfigError before 1.6: an older API server drops addedNodeSelector without a word."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found and (int(found[1]), int(found[2])) < LEAST_KUBEVIRT:
        raise ConfigError(
            f"KubeVirt {version} cannot be told where a VM goes; the balancer moves VMs of 1.6 and "
            "later, before that leave out --mode, and it only observes"
        )
