"""Turn the ConfigMaps with policy and rules into files, and make the programs read them.

Part of a lab: it restarts the descheduler and reloads Prometheus through the lab's supervisor.
Also serves the descheduler's metrics on plain HTTP.
"""

from pathlib import Path

from trimtab.install.rights import FOLLOW, Role, right, within
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.runtime.options import Listening, Port
from trimtab.stacks.loop.settings import POLICY_MAP, RULES_MAP

NAME = "projector"


class ProjectorSettings(Listening, frozen=True, kw_only=True):
    """The projector's options."""

    port: Port = 8086
    promtool: Path
    """The program that judges rule files."""
    scale: float = 1.0
    """All times in policy and rules are divided by it."""
    prometheus: str = "http://127.0.0.1:9090"
    """Where the lab's Prometheus is; addresses of services in the cluster become this one."""
    descheduler: str = "https://127.0.0.1:10258"
    """Where the descheduler serves its metrics over TLS."""
    metrics_port: Port = 8443
    """Where they are served on plain HTTP."""
    slow: float = 0.0
    """Seconds between two evaluations of the rules that the policy does not need; 0 is as often
    as the others."""
    lab: Path = Path()
    """The lab's directory."""


async def serve(connect: Connect, settings: ProjectorSettings) -> None:
    from trimtab.lab.files.layout import LabDir
    from trimtab.stacks.loop.projector.parts import metrics_proxy, wanted_texts
    from trimtab.stacks.loop.projector.programs import LabPrograms
    from trimtab.stacks.loop.projector.projector import Projector, serve

    directory, prometheus = settings.lab.resolve(), settings.prometheus
    parts = wanted_texts(
        directory, settings.scale, prometheus, settings.promtool, slow_s=settings.slow
    )
    service = Projector(connect(), parts, LabPrograms(LabDir(directory), prometheus), directory)
    proxy = metrics_proxy(
        settings.descheduler,
        directory / "pki/ca.crt",
        host=settings.host,
        port=settings.metrics_port,
    )
    await serve(service, host=settings.host, port=settings.port, extra=[proxy])


def roles() -> tuple[Role, ...]:
    """Read, create and annotate the two ConfigMaps that it projects."""
    return tuple(
        within(
            namespace,
            right("", ["configmaps"], ["create"]),
            right("", ["configmaps"], [*FOLLOW, "patch"], only=[name]),
        )
        for namespace, name in (POLICY_MAP, RULES_MAP)
    )


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    options=ProjectorSettings,
    serve=serve,
    more_ports={"descheduler-metrics": 8443},
    roles=roles,
)
