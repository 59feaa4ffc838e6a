"""The balancer as a process: several replicas may run, one of them acts."""

from trimtab.balancer.controller import Balancer
from trimtab.balancer.observation import second_balancer
from trimtab.balancer.settings import NAME, Settings
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.events import Recorder
from trimtab.kube.http.web import Web
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity
from trimtab.kube.worlds import World, world_of
from trimtab.model.names import SYSTEM_NAMESPACE


async def serve(client: Client, settings: Settings) -> None:
    """Run the balancer until SIGTERM."""
    world = await world_of(client)
    await refuse_what_it_cannot_do(client, world, settings)
    identity = unique_identity()
    elector = Elector(client, NAME, SYSTEM_NAMESPACE, identity)
    recorder = Recorder(client, f"trimtab.dev/{NAME}", identity)
    writing = client.guarded(elector.check)
    balancer = Balancer(writing, recorder, settings, reading=client, world=world)
    await Service(
        NAME,
        controllers=[balancer],
        elector=elector,
        recorder=recorder,
        web=Web(host=settings.host, port=settings.port),
    ).run()


async def refuse_what_it_cannot_do(client: Client, world: World, settings: Settings) -> None:
    """A ConfigError if KubeVirt's VMs were to be moved, and on a second balancer in `act`."""
    if world == "kubevirt" and settings.mode != "observe":
        raise ConfigError(
            f"{client.server}: its VMs are KubeVirt's, which this balancer does not move yet; "
            "leave out --mode, and it only observes"
        )
    if settings.mode != "act" or settings.beside_descheduler:
        return
    if where := await second_balancer(client):
        raise ConfigError(
            f"LowNodeUtilization is enabled in {where}, and two balancers undo each other; "
            "disable it there, or add --beside-descheduler"
        )
