"""Play KubeVirt's handlers and launchers on all nodes of a lab; no guest really runs.

Serves the guests' series at /guests/metrics, and /healthz, /readyz and /metrics of its own.
"""

from trimtab.install.rights import FOLLOW, Role, at_home, everywhere, right
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.clock import NAME as CLOCK
from trimtab.player.settings import PlayerSettings

NAME = "virt-handler-player"


async def serve(connect: Connect, settings: PlayerSettings) -> None:
    from trimtab.player.service import serve

    handler = Connect("virt-handler", settings.handler_kubeconfig)
    await serve(handler(), connect(), settings)


def roles() -> tuple[Role, ...]:
    """Label nodes and write their status, end launchers that shut down, read the clock.

    VMIs it writes as KubeVirt's own handler account.
    """
    return (
        everywhere(
            right("", ["nodes"], [*FOLLOW, "patch"]),
            right("", ["nodes/status"], ["patch"]),
            right("", ["pods"], [*FOLLOW, "delete"]),
            right("", ["pods/status"], ["patch"]),
        ),
        at_home(right("", ["configmaps"], FOLLOW, only=[CLOCK])),
    )


SERVICE = ServiceSpec(name=NAME, about=__doc__, options=PlayerSettings, serve=serve, roles=roles)
