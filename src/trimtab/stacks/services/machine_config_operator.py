"""Render MachineConfigs and roll a lab's nodes, one by one; nothing really boots.

At the start it installs a small OpenShift cluster, as far as it is not there.
"""

from trimtab.install.rights import FOLLOW, Role, everywhere, right
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.runtime.options import Listening, Port, Seconds

NAME = "machine-config-operator"


class MachineConfigOperatorSettings(Listening, frozen=True, kw_only=True):
    """The options of the part of OpenShift that a lab plays."""

    port: Port = 8089
    reboot_s: Seconds = 20.0
    """How long a node is out of service."""


async def serve(connect: Connect, settings: MachineConfigOperatorSettings) -> None:
    from trimtab.stacks.advisor.machine_config_operator import MachineConfigOperator, serve
    from trimtab.stacks.advisor.stack import lab_baseline

    operator = MachineConfigOperator(connect(), settings.reboot_s, lab_baseline())
    await serve(operator, host=settings.host, port=settings.port)


def roles() -> tuple[Role, ...]:
    """What a machine-config operator may do, and install the baseline."""
    from trimtab.advisor.kinds import (
        HYPERCONVERGEDS,
        KUBE_DESCHEDULERS,
        MACHINE_CONFIG_POOLS,
        MACHINE_CONFIGS,
    )

    machines = MACHINE_CONFIGS.group
    return (
        everywhere(
            right("", ["nodes"], [*FOLLOW, "patch"]),
            right(machines, [MACHINE_CONFIGS.plural], [*FOLLOW, "create"]),
            right(machines, [MACHINE_CONFIG_POOLS.plural], [*FOLLOW, "create", "patch"]),
            right("", ["namespaces"], ["create"]),
            right(KUBE_DESCHEDULERS.group, [KUBE_DESCHEDULERS.plural], ["create"]),
            right(HYPERCONVERGEDS.group, [HYPERCONVERGEDS.plural], ["create"]),
        ),
    )


SERVICE = ServiceSpec(
    name=NAME, about=__doc__, options=MachineConfigOperatorSettings, serve=serve, roles=roles
)
