"""Put a scenario's VMs into the cluster once, then play its events in the lab's time."""

from pathlib import Path

from trimtab.install.rights import FOLLOW, Role, at_home, everywhere, right
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.runtime.options import Listening, Port
from trimtab.kube.virtual_machines import GROUP
from trimtab.model.nodes_and_vms import RequestsModel

NAME = "scenario"


class ScenarioSettings(Listening, frozen=True, kw_only=True):
    """The options of the service that plays a scenario."""

    port: Port = 8087
    file: Path
    """The script that `trimtab lab up` made of the scenario."""
    requests: RequestsModel = "consumption"
    """Where the VMs are KubeVirt's, what their launchers ask the scheduler for."""


async def serve(connect: Connect, settings: ScenarioSettings) -> None:
    from trimtab.stacks.loop.scenario.player import read_script, serve

    script = read_script(settings.file.read_bytes(), str(settings.file))
    await serve(
        connect(),
        script,
        host=settings.host,
        port=settings.port,
        requests=settings.requests,
    )


def roles() -> tuple[Role, ...]:
    """Make and remove VMs, shape nodes, and drain them when the scenario says so."""
    return (
        everywhere(
            right(GROUP, ["virtualmachines"], [*FOLLOW, "create", "delete"]),
            right("", ["nodes", "nodes/status"], ["patch"]),
            right("", ["pods"], ["list"]),
            right("", ["pods/eviction"], ["create"]),
        ),
        at_home(
            right("", ["configmaps"], ["create"]),
            right("", ["configmaps"], FOLLOW, only=[CLOCK]),
            right("", ["configmaps"], ["get", "patch"], only=[NAME]),
        ),
    )


SERVICE = ServiceSpec(name=NAME, about=__doc__, options=ScenarioSettings, serve=serve, roles=roles)
