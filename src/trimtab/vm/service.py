"""The vm-controller as a process: two replicas may run, one of them acts."""

import msgspec

from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.events import Recorder
from trimtab.kube.http.web import Web
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.vm.controller import VmController
from trimtab.vm.settings import Settings

NAME = "vm-controller"


async def serve(client: Client, settings: Settings, *, host: str, port: int) -> None:
    """Run the controller until SIGTERM."""
    await refuse_beside_kubevirt(client)
    identity = unique_identity()
    elector = Elector(client, NAME, SYSTEM_NAMESPACE, identity)
    recorder = Recorder(client, f"trimtab.dev/{NAME}", identity)
    writing = client.guarded(elector.check)
    controller = VmController(writing, recorder, settings, reading=client)
    web = Web(host=host, port=port)
    await Service(
        NAME,
        reflectors=controller.stores.reflectors,
        controllers=[controller],
        elector=elector,
        recorder=recorder,
        web=web,
    ).run()


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: tuple[_Resource, ...] = ()


async def refuse_beside_kubevirt(client: Client) -> None:
    """Ours are for labs: where KubeVirt's VirtualMachines exist, two would claim the pods."""
    try:
        answer = await client.request("GET", "/apis/kubevirt.io/v1")
    except NotFound:
        return
    served = msgspec.json.decode(answer, type=_Resources).resources
    if any(resource.name == "virtualmachines" for resource in served):
        raise ConfigError(
            f"{client.server}: virtualmachines.kubevirt.io exists here; trimtab's own "
            "VirtualMachines are for clusters without KubeVirt, there use: trimtab snapshot"
        )
