"""A bare API server that `trimtab record` may look at, with the rights that we ship."""

from pathlib import Path
from typing import Any

from conformance.apiserver import ApiServer
from trimtab.install.observe.rbac import snapshot_rbac
from trimtab.kube.client import Client
from trimtab.kube.resources import NAMESPACES, free_kind

ACCOUNT = "system:serviceaccount:kube-descheduler:snapshot"
_RBAC = "rbac.authorization.k8s.io"
KINDS = {
    "ServiceAccount": free_kind("", "v1", "serviceaccounts", "ServiceAccount"),
    "ClusterRole": free_kind(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    "ClusterRoleBinding": free_kind(
        _RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
    "Role": free_kind(_RBAC, "v1", "roles", "Role"),
    "RoleBinding": free_kind(_RBAC, "v1", "rolebindings", "RoleBinding"),
}


async def grant(client: Client) -> None:
    """The namespace of VMs, and what `ACCOUNT` needs."""
    for name in ("kube-descheduler", "shop"):
        await client.create(NAMESPACES, {"metadata": {"name": name}})
    for manifest in snapshot_rbac():
        await client.create(KINDS[manifest["kind"]], manifest)


def a_node(name: str, cores: int, memory: str = "64Gi") -> dict[str, Any]:
    has = {"cpu": str(cores), "memory": memory, "pods": "110"}
    return {"metadata": {"name": name}, "status": {"capacity": has, "allocatable": has}}


def a_launcher(vm: str, node: str, memory: str) -> dict[str, Any]:
    asked = {"requests": {"cpu": "200m", "memory": memory}}
    return {
        "metadata": {
            "name": f"virt-launcher-{vm}-abcde",
            "namespace": "shop",
            "labels": {"kubevirt.io": "virt-launcher", "kubevirt.io/domain": vm},
            "annotations": {"kubevirt.io/domain": vm},
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "compute", "image": "x", "resources": asked}],
        },
    }


def arguments(server: ApiServer, url: str, output: Path, *more: str) -> list[str]:
    """Of the command, as the account with the least rights."""
    account = server.kubeconfig_for(server.url, ACCOUNT)
    where = ["--kubeconfig", str(account), "--prometheus", url]
    return ["record", *where, "-o", str(output), *more]
