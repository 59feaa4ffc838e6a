"""The stack `advisor`: a lab that looks like a small OpenShift, with the operator on it.

The definitions of one release, a baseline to change, a machine-config operator that only
plays, and the real advisor under its own account and rights. Without `operator` everything
but the advisor is there: `make run` starts it in a terminal.
"""

from typing import Any

from msgspec import Struct, convert, to_builtins

from trimtab.advisor.kinds import (
    EXAMPLE,
    HYPERCONVERGEDS,
    KUBE_DESCHEDULERS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    POLICY,
    RULES,
)
from trimtab.advisor.mocks.baseline import LAB_WORKERS, baseline, namespace
from trimtab.advisor.mocks.kube_descheduler import Release
from trimtab.advisor.mocks.manifests import definitions
from trimtab.advisor.settings import ADVERTISED
from trimtab.install.advisor.admission import policies
from trimtab.install.advisor.crd import config_crd
from trimtab.install.advisor.rbac import operator_rbac, target_rbac, user_rbac
from trimtab.install.loop.rbac import HOME, LOOK, bound, rule
from trimtab.kube.resources import Free
from trimtab.lab import Component, Contribution, Lab, Service, Stack
from trimtab.lab.components.component import HttpGet
from trimtab.stacks.advisor.machine_config_operator import NAME as MACHINES
from trimtab.stacks.advisor.machine_config_operator import SETTLED
from trimtab.stacks.loop.settings import STACK as LOOP
from trimtab.stacks.loop.stack import trimtab

STACK = "advisor"
OPERATOR = "advisor"
PORTS = {OPERATOR: 8444, MACHINES: 8089}
NEWEST: Release = "5.32"
REBOOT_S = 20.0
"""In the lab's time."""


class AdvisorSettings(Struct, frozen=True, kw_only=True):
    """Which release the lab plays, and whether the advisor runs in it."""

    release: Release = NEWEST
    operator: bool = True
    reboot_s: float = REBOOT_S

    def to_lab(self) -> dict[str, Any]:
        """As `lab.json` keeps it."""
        kept: dict[str, Any] = to_builtins(self)
        return kept


def from_lab(kept: dict[str, Any]) -> AdvisorSettings:
    return convert(kept, AdvisorSettings)


def advisor_stack(settings: AdvisorSettings) -> Stack:
    """The stack; a stopped lab may take on another release, as a cluster is upgraded."""
    names = (OPERATOR, MACHINES) if settings.operator else (MACHINES,)

    def contribute(lab: Lab) -> Contribution:
        parts = {OPERATOR: advisor, MACHINES: machine_config_operator}
        return Contribution(
            components=tuple(parts[name](lab, settings) for name in names),
            services=tuple(Service(name) for name in (OPERATOR, MACHINES)),
            objects=tuple(_objects(lab, settings)),
        )

    ports = {name: PORTS[name] for name in names}
    return Stack(name=STACK, contribute=contribute, ports=ports, settings=settings.to_lab())


def advisor(lab: Lab, settings: AdvisorSettings) -> Component:
    """The operator, as it runs in a cluster; ready when its profiles are there to be planned."""
    return _service(lab, OPERATOR, "--open-metrics", ready=ADVERTISED)


def machine_config_operator(lab: Lab, settings: AdvisorSettings) -> Component:
    """Ready when all nodes are in their pools: `lab up` hands over an installed cluster."""
    reboot = f"--reboot={settings.reboot_s / lab.spec.clock.scale:g}s"
    return _service(lab, MACHINES, reboot, ready=SETTLED, needs=("nodes",))


def lab_baseline() -> list[Free]:
    """All nodes of a lab that VMs may run on are workers."""
    return baseline(machines=0, workers=LAB_WORKERS)


def _service(
    lab: Lab, name: str, *options: str, ready: str = "readyz", needs: tuple[str, ...] = ()
) -> Component:
    url = f"http://127.0.0.1:{lab.port(name)}"
    return Component(
        name=name,
        argv=trimtab(name, f"--port={lab.port(name)}", *options),
        probes=(HttpGet(f"{url}/{ready}"),),
        needs=("tokens", "kube-apiserver", *needs),
        url=url,
    )


def _objects(lab: Lab, settings: AdvisorSettings) -> list[Free]:
    """With the loop there is an upstream descheduler to configure, too."""
    homes = [EXAMPLE.namespace]
    if LOOP in lab.spec.stacks:
        homes += [POLICY.namespace, RULES.namespace]
    return [
        *definitions(settings.release),
        config_crd(),
        *policies(),
        *operator_rbac(),
        *map(namespace, homes),
        *target_rbac(*homes),
        *user_rbac(),
        *machines_rbac(),
    ]


def machines_rbac() -> list[Free]:
    """What the machine-config operator of a lab may do: that, and install the baseline."""
    machines = MACHINE_CONFIGS.group
    rules = [
        rule("", ["nodes"], [*LOOK, "patch"]),
        rule(machines, [MACHINE_CONFIGS.plural], [*LOOK, "create"]),
        rule(machines, [MACHINE_CONFIG_POOLS.plural], [*LOOK, "create", "patch"]),
        rule("", ["namespaces"], ["create"]),
        rule(KUBE_DESCHEDULERS.group, [KUBE_DESCHEDULERS.plural], ["create"]),
        rule(HYPERCONVERGEDS.group, [HYPERCONVERGEDS.plural], ["create"]),
    ]
    return bound(f"trimtab:{MACHINES}", (HOME, MACHINES), rules)
