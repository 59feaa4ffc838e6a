"""Pressure-stall information on the nodes: a kernel argument that OpenShift leaves off.

One MachineConfig per role. Workers always get it; masters only where VMs can run on them:
when they are schedulable, or when there is nothing else. Applying it reboots nodes, unless
they run with it already.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trimtab.advisor.api import Severity
from trimtab.advisor.kinds import MACHINE_CONFIGS, ROLE, SCHEDULER
from trimtab.advisor.plan.pools import (
    DEFAULT_POOL,
    PSI,
    arguments_of,
    is_effective,
    machines,
    pool_named,
    taken_by,
)
from trimtab.advisor.plan.profile import ClusterFacts, DesiredObject, dig
from trimtab.kube.resources import Free

ITEM = "enable-psi-metrics"
MASTER = "master"


def psi_objects(facts: ClusterFacts, pools: tuple[Free, ...]) -> tuple[DesiredObject, ...]:
    """The MachineConfigs, workers first."""
    return tuple(_desired_object(role, facts, pools) for role in roles(facts))


def roles(facts: ClusterFacts) -> tuple[str, ...]:
    """The roles whose nodes run VMs."""
    workers, masters = (machines(pool_named(name, facts)) for name in (DEFAULT_POOL, MASTER))
    schedulable = dig(facts.get(SCHEDULER), "spec", "mastersSchedulable") is True
    with_masters = masters > 0 and (schedulable or workers == 0)
    return (DEFAULT_POOL, MASTER) if with_masters else (DEFAULT_POOL,)


def is_on(role: str, facts: ClusterFacts) -> bool:
    """Whether the nodes of the role's pool run with PSI now."""
    return is_effective(arguments_of(pool_named(role, facts), facts), PSI)


def machine_config(role: str) -> Free:
    return {
        "apiVersion": MACHINE_CONFIGS.api_version,
        "kind": MACHINE_CONFIGS.kind,
        "metadata": {"name": f"99-{role}-psi-karg", "labels": {ROLE: role}},
        "spec": {"kernelArguments": [PSI]},
    }


def _desired_object(role: str, facts: ClusterFacts, pools: tuple[Free, ...]) -> DesiredObject:
    desired = machine_config(role)
    name, taking = desired["metadata"]["name"], taken_by(desired, pools)
    severity, impact, message = _consequence(role, name, facts, taking)
    paused = [dig(pool, "metadata", "name") for pool in taking if dig(pool, "spec", "paused")]
    return DesiredObject(
        name=ITEM if role == DEFAULT_POOL else f"{ITEM}-{role}",
        desired=desired,
        managed_fields=("spec.kernelArguments",),
        severity=severity,
        impact=impact,
        message=message,
        reasons={
            "spec.kernelArguments": f"{PSI} lets the kernel tell how long work waits for CPU and "
            "memory; the KubeVirt profiles go by that, and OpenShift leaves it off"
        },
        warnings=tuple(
            f"MachineConfigPool '{pool}' is paused: the change waits until it is unpaused"
            for pool in paused
        ),
    )


def _consequence(
    role: str, name: str, facts: ClusterFacts, taking: list[Free]
) -> tuple[Severity, str, str]:
    if is_on(role, facts):
        said = f"PSI is already effective in pool '{role}'"
        return "Low", f"{said}: no reboot", f"{said}; MachineConfig '{name}' will keep it so"
    count = sum(machines(pool) for pool in taking)
    where = ", ".join(f"'{dig(pool, 'metadata', 'name')}'" for pool in taking) or f"'{role}'"
    impact = f"reboots the {count} machines of pool {where}, one after another"
    if not count:
        impact = f"reboots every machine of pool {where}, one after another"
    return "High", impact, f"MachineConfig '{name}' will enable PSI metrics ({PSI})"


# What a cluster's KubeDescheduler can do, read from its CRD's schema and never from a version.
#
# The schema says which profiles there are, which customizations, and whether evictions can be
# limited per node. All of it is an input of the plan: an upgraded CRD re-plans.
GA, DEV, FALLBACK = "KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate", "LongLifecycle"
PREFERENCE = (GA, DEV, FALLBACK)
KEPT = ("AffinityAndTaints", "SoftTopologyAndDuplicates")
"""Profiles of a live KubeDescheduler that do not contradict ours."""
SOFT_TAINTER = "devEnableSoftTainter"


class Capabilities(Struct, frozen=True):
    """`profile` is the best one there is; customizations and limits are sorted names."""

    profile: str = GA
    customizations: tuple[str, ...] | None = None
    """None: the schema does not tell."""
    limits: tuple[str, ...] = ()
    soft_tainter_ignored: bool = False

    @property
    def is_kubevirt(self) -> bool:
        return self.profile != FALLBACK

    def customizes(self, name: str) -> bool:
        return self.customizations is None or name in self.customizations


def capabilities(crd: Free | None) -> Capabilities:
    """Of the first version whose schema lists the profiles; without one, today's profile."""
    for version in dig(crd, "spec", "versions") or ():
        spec = dig(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")
        names = dig(spec, "profiles", "items", "enum")
        if names:
            return _read(spec, names)
    return Capabilities()


def _read(spec: Mapping[str, Any], names: list[str]) -> Capabilities:
    customizations = dig(spec, "profileCustomizations", "properties")
    described = str(dig(customizations, SOFT_TAINTER, "description") or "").lower()
    return Capabilities(
        profile=next((name for name in PREFERENCE if name in names), GA),
        customizations=None if customizations is None else tuple(sorted(customizations)),
        limits=tuple(sorted(dig(spec, "evictionLimits", "properties") or ())),
        soft_tainter_ignored="deprecated" in described or "ignored" in described,
    )


def profiles_with(live: Free | None, chosen: str) -> list[str]:
    """What stays of the live list, in its order, and the chosen profile last."""
    there = dig(live, "spec", "profiles") or ()
    kept = [name for name in dict.fromkeys(there) if name in KEPT]
    return [*kept, chosen]
