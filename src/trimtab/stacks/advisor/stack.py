"""The stack `advisor`: a lab that looks like a small OpenShift, with the operator on it.

The definitions of one release, a baseline to change, a machine-config operator that only
plays, and the real advisor under its own account and rights. Without `operator` everything
but the advisor is there: `make run` starts it in a terminal.
"""

from typing import Any

from msgspec import Struct, convert, to_builtins

from trimtab.advisor.kinds import EXAMPLE, POLICY, RULES
from trimtab.advisor.mocks.baseline import LAB_WORKERS, baseline, namespace
from trimtab.advisor.mocks.kube_descheduler import Release
from trimtab.advisor.mocks.manifests import definitions
from trimtab.advisor.settings import ADVERTISED, AdvisorSettings
from trimtab.install.advisor.rbac import target_rbac, user_rbac
from trimtab.install.components import AFTER_TOKENS, component, objects
from trimtab.install.service import ports_of
from trimtab.install.services import advisor as operator
from trimtab.kube.resources import Free
from trimtab.lab.components.component import Component
from trimtab.lab.components.identity import ServiceIdentity
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.stacks.advisor.machine_config_operator import SETTLED
from trimtab.stacks.loop.settings import STACK as LOOP
from trimtab.stacks.services import machine_config_operator as machines

STACK = "advisor"
SERVICES = {each.name: each for each in (operator.SERVICE, machines.SERVICE)}
OPERATOR, MACHINES = SERVICES
PORTS = ports_of(SERVICES.values())
NEWEST: Release = "5.32"
REBOOT_S = 20.0
"""In the lab's time."""


class AdvisorStackSettings(Struct, frozen=True, kw_only=True):
    """Which release the lab plays, and whether the advisor runs in it."""

    release: Release = NEWEST
    operator: bool = True
    reboot_s: float = REBOOT_S


def from_lab(kept: dict[str, Any]) -> AdvisorStackSettings:
    return convert(kept, AdvisorStackSettings)


def advisor_stack(settings: AdvisorStackSettings) -> Stack:
    """The stack; a stopped lab may take on another release, as a cluster is upgraded."""
    names = (OPERATOR, MACHINES) if settings.operator else (MACHINES,)

    def contribute(lab: Lab) -> StackContribution:
        parts = {OPERATOR: advisor, MACHINES: machine_config_operator}
        return StackContribution(
            components=tuple(parts[name](lab, settings) for name in names),
            services=tuple(ServiceIdentity(name) for name in (OPERATOR, MACHINES)),
            objects=tuple(_objects(lab, settings)),
        )

    wanted = {name: PORTS[name] for name in names}
    return Stack(name=STACK, contribute=contribute, ports=wanted, settings=to_builtins(settings))


def advisor(lab: Lab, settings: AdvisorStackSettings) -> Component:
    """The operator, as it runs in a cluster; ready when its profiles are there to be planned."""
    return component(lab, operator.SERVICE, AdvisorSettings(open_metrics=True), ready=ADVERTISED)


def machine_config_operator(lab: Lab, settings: AdvisorStackSettings) -> Component:
    """Ready when all nodes are in their pools: `lab up` hands over an installed cluster."""
    options = machines.MachineConfigOperatorSettings(
        reboot_s=settings.reboot_s / lab.spec.clock.scale
    )
    needs = (*AFTER_TOKENS, "nodes")
    return component(lab, machines.SERVICE, options, ready=SETTLED, needs=needs)


def lab_baseline() -> list[Free]:
    """All nodes of a lab that VMs may run on are workers."""
    return baseline(machines=0, workers=LAB_WORKERS)


def _objects(lab: Lab, settings: AdvisorStackSettings) -> list[Free]:
    """With the loop there is an upstream descheduler to configure, too."""
    homes = [EXAMPLE.namespace]
    if LOOP in lab.spec.stacks:
        homes += [POLICY.namespace, RULES.namespace]
    return [
        *definitions(settings.release),
        *objects(*SERVICES.values()),
        *map(namespace, homes),
        *target_rbac(*homes),
        *user_rbac(),
    ]
