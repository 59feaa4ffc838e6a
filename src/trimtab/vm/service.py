"""The vm-controller as a process: two replicas may run, one of them acts."""

from functools import partial

from trimtab.kube.client import Client
from trimtab.kube.events import EventRecorder
from trimtab.kube.http.web import Web
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity
from trimtab.kube.worlds import refuse_beside, watch_for
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.vm.controller import VmController
from trimtab.vm.settings import VmControllerSettings

NAME = "vm-controller"


async def serve(client: Client, settings: VmControllerSettings, *, host: str, port: int) -> None:
    """Run the controller until SIGTERM."""
    await refuse_beside(client, "kubevirt")
    identity = unique_identity()
    elector = Elector(client, NAME, SYSTEM_NAMESPACE, identity)
    recorder = EventRecorder(client, f"trimtab.dev/{NAME}", identity)
    writing = client.guarded(elector.check)
    controller = VmController(writing, recorder, settings, reading=client)
    web = Web(host=host, port=port)
    await Service(
        NAME,
        reflectors=controller.stores.reflectors,
        controllers=[controller],
        jobs=[partial(watch_for, client, "kubevirt")],
        elector=elector,
        recorder=recorder,
        web=web,
    ).run()
