"""The API objects every lab starts with, and its nodes."""

from collections.abc import Mapping
from typing import Any

from trimtab.lab.components.identity import NAMESPACE, ServiceIdentity
from trimtab.lab.components.kwok import rbac
from trimtab.lab.spec import LabClock, NodeSize

NODE_PREFIX = "kwok-node-"


def bootstrap_objects(
    clock: LabClock, services: tuple[ServiceIdentity, ...]
) -> list[dict[str, Any]]:
    """Our namespace, the clock, kwok's rights, an account for each service."""
    # "default" would be made by the controller manager; the probe pod does not wait for it
    ours = [service.name for service in services if service.namespace == NAMESPACE]
    accounts = [service_account(name) for name in ("default", *ours)]
    return [_named("v1", "Namespace", NAMESPACE), clock_map(clock), *rbac(), *accounts]


def service_account(name: str) -> dict[str, Any]:
    return _named("v1", "ServiceAccount", name, NAMESPACE)


def node_name(number: int) -> str:
    return f"{NODE_PREFIX}{number}"


def node(number: int, size: NodeSize) -> dict[str, Any]:
    """A node as its kubelet would register it; kwok makes it Ready."""
    name = node_name(number)
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/role": "agent",
        "kubevirt.io/schedulable": "true",
        "node-role.kubernetes.io/agent": "",
        "type": "kwok",
    }
    resources = {"cpu": size.cpu, "memory": size.memory, "pods": str(size.pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [
                {"type": "InternalIP", "address": "127.0.0.1"},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "kwok",
                "kernelVersion": "kwok",
                "kubeProxyVersion": "",
                "kubeletVersion": "kwok",
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "trimtab lab",
                "systemUUID": "",
            },
        },
    }


def probe_pod(scheduler_name: str) -> dict[str, Any]:
    """A pod that asks for nothing and fits on any node, cordoned and NotReady ones included.

    It must prove that the scheduler and kwok work, also in a resumed lab where somebody has
    cordoned everything.
    """
    return {
        **_named("v1", "Pod", "lab-probe", NAMESPACE),
        "spec": {
            "schedulerName": scheduler_name,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "probe", "image": "none"}],
        },
    }


def _named(version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


# The ConfigMap from which everybody in a lab reads the time, and whether it is right.
CLOCK_PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/clock"
_TITLE = f"the lab's clock (ConfigMap {NAMESPACE}/clock)"


def clock_map(clock: LabClock) -> dict[str, Any]:
    """The clock as everybody in the lab reads it: both values as text, the epoch in seconds."""
    data = {"epoch": f"{clock.epoch:.3f}", "scale": str(clock.scale)}
    return {**_named("v1", "ConfigMap", "clock", NAMESPACE), "data": data}


def wrong_clock(clock: LabClock, found: Mapping[str, str] | None) -> str:
    """The difference between the lab's clock and what its ConfigMap says, in words; or nothing."""
    if found is None:
        return f"{_TITLE} is gone"
    right: dict[str, str] = clock_map(clock)["data"]
    try:
        same = all(float(found[key]) == float(value) for key, value in right.items())
    except (KeyError, ValueError):
        same = False
    if same:
        return ""
    said = ", ".join(f"{key} {found.get(key, 'missing')}" for key in right)
    wanted = ", ".join(f"{key} {value}" for key, value in right.items())
    return f"{_TITLE} says {said} instead of {wanted}"
