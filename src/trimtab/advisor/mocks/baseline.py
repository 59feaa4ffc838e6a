"""A small OpenShift cluster before anybody asked for load-aware rebalancing."""

from typing import Any

from trimtab.advisor.kinds import (
    DESCHEDULER,
    HYPERCONVERGED,
    HYPERCONVERGED_V1,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    ROLE,
)
from trimtab.advisor.plan.profile import manifest_head
from trimtab.virt.launcher import SCHEDULABLE

Manifest = dict[str, Any]
WORKERS = {"node-role.kubernetes.io/worker": ""}
LAB_WORKERS = {SCHEDULABLE: "true"}
"""All nodes of a lab that VMs may run on; the sample says the same, so that it fits a lab."""
MASTERS = {"node-role.kubernetes.io/master": ""}
RENDERED = "rendered-{}-00000000000000000000000000000000"


def baseline(machines: int = 3, workers: dict[str, str] = WORKERS) -> list[Manifest]:
    """Namespaces, a descheduler by requests, HyperConverged, two pools with their configs.

    `workers` are the labels of the nodes in the pool of workers.
    """
    return [
        *map(namespace, (DESCHEDULER.namespace, HYPERCONVERGED.namespace)),
        descheduler(),
        hyperconverged(),
        *(config for role in ("worker", "master") for config in configs(role)),
        pool("worker", workers, machines),
        pool("master", MASTERS, 0),
    ]


def namespace(name: str) -> Manifest:
    labels = {"openshift.io/cluster-monitoring": "true"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def descheduler() -> Manifest:
    profiles = ["AffinityAndTaints", "SoftTopologyAndDuplicates", "LifecycleAndUtilization"]
    spec = {
        "managementState": "Managed",
        "deschedulingIntervalSeconds": 3600,
        "mode": "Predictive",
        "profiles": profiles,
    }
    return manifest_head(DESCHEDULER) | {"spec": spec}


def hyperconverged() -> Manifest:
    limits = {"parallelMigrationsPerCluster": 5, "parallelOutboundMigrationsPerNode": 2}
    return manifest_head(HYPERCONVERGED) | {"spec": {"liveMigrationConfig": limits}}


def hyperconverged_v1() -> Manifest:
    old = hyperconverged()
    return old | {
        "apiVersion": HYPERCONVERGED_V1.api_version,
        "spec": {"virtualization": old["spec"]},
    }


def configs(role: str) -> list[Manifest]:
    """What the installer wrote, and what was rendered of it."""
    return [
        machine_config(f"00-{role}", {ROLE: role}),
        machine_config(RENDERED.format(role), {}),
    ]


def machine_config(name: str, labels: dict[str, str]) -> Manifest:
    spec = {"config": {"ignition": {"version": "3.2.0"}}, "kernelArguments": []}
    return {
        "apiVersion": MACHINE_CONFIGS.api_version,
        "kind": MACHINE_CONFIGS.kind,
        "metadata": {"name": name} | ({"labels": labels} if labels else {}),
        "spec": spec,
    }


def pool(role: str, nodes: dict[str, str], machines: int) -> Manifest:
    """A pool whose machines all run the config that was rendered for it."""
    source = [{"apiVersion": MACHINE_CONFIGS.api_version, "kind": "MachineConfig"}]
    source[0]["name"] = f"00-{role}"
    configuration = {"name": RENDERED.format(role), "source": source}
    return {
        "apiVersion": MACHINE_CONFIG_POOLS.api_version,
        "kind": MACHINE_CONFIG_POOLS.kind,
        "metadata": {"name": role},
        "spec": {
            "configuration": configuration,
            "machineConfigSelector": {"matchLabels": {ROLE: role}},
            "nodeSelector": {"matchLabels": nodes},
            "paused": False,
        },
        "status": {
            "configuration": configuration,
            "conditions": [
                {"type": "Updated", "status": "True"},
                {"type": "Updating", "status": "False"},
                {"type": "Degraded", "status": "False"},
            ],
            "machineCount": machines,
            "updatedMachineCount": machines,
            "readyMachineCount": machines,
            "unavailableMachineCount": 0,
            "degradedMachineCount": 0,
        },
    }
