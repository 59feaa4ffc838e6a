"""Taint fuller nodes softly, so that the scheduler prefers the emptier ones, as OpenShift does."""

from pathlib import Path

from trimtab.install.policies import soft_tainter_policy
from trimtab.install.rights import FOLLOW, Role, everywhere, right
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.runtime.options import Listening, Port, Seconds

NAME = "soft-tainter"


class SoftTainterSettings(Listening, frozen=True, kw_only=True):
    """The soft tainter's options."""

    port: Port = 8088
    policy: Path
    """The descheduler's policy file; it is read at every turn."""
    prometheus: str = "http://127.0.0.1:9090"
    """Where the policy's query is asked."""
    interval_s: Seconds = 60.0
    """Time between two turns."""


async def serve(connect: Connect, settings: SoftTainterSettings) -> None:
    from trimtab.prom.client import Prometheus
    from trimtab.stacks.loop.soft_tainter import SoftTainter, serve

    async with Prometheus(settings.prometheus) as source:
        tainter = SoftTainter(connect(), source, settings.policy, settings.interval_s)
        await serve(tainter, host=settings.host, port=settings.port)


def roles() -> tuple[Role, ...]:
    return (everywhere(right("", ["nodes"], [*FOLLOW, "patch"])),)


SERVICE = ServiceSpec(
    name=NAME,
    about=__doc__,
    options=SoftTainterSettings,
    serve=serve,
    roles=roles,
    admission=soft_tainter_policy,
)
