"""Roles of the loop's services, and of the descheduler: the least that each can work with."""

from typing import Any

from trimtab.kube.machines import GROUP
from trimtab.model.names import SYSTEM_NAMESPACE

HOME = SYSTEM_NAMESPACE
DESCHEDULER = ("kube-descheduler", "descheduler")
_RBAC = "rbac.authorization.k8s.io"
Manifest = dict[str, Any]
LOOK = ["get", "list", "watch"]


def descheduler_rbac() -> list[Manifest]:
    """Look at what its rules read, ask for evictions, tell of them; its own token's secret."""
    namespace, account = DESCHEDULER
    everywhere = [
        rule("", ["nodes", "namespaces", "pods", "persistentvolumeclaims"], LOOK),
        rule("scheduling.k8s.io", ["priorityclasses"], LOOK),
        rule("policy", ["poddisruptionbudgets"], LOOK),
        rule("", ["pods/eviction"], ["create"]),
        rule("events.k8s.io", ["events"], ["create", "update", "patch"]),
    ]
    name = "trimtab:descheduler"
    subject = (namespace, account)
    return [
        *bound(name, subject, everywhere),
        # it watches all secrets of this namespace: there is only the token
        *bound(name, subject, [rule("", ["secrets"], LOOK)], namespace),
    ]


def projector_rbac(maps: list[tuple[str, str]]) -> list[Manifest]:
    """Read, seed and annotate the two ConfigMaps that it projects."""
    return [
        manifest
        for namespace, name in maps
        for manifest in bound(
            "trimtab:projector",
            (HOME, "projector"),
            [
                rule("", ["configmaps"], ["create"]),
                rule("", ["configmaps"], [*LOOK, "patch"], only=[name]),
            ],
            namespace,
        )
    ]


def scenario_rbac() -> list[Manifest]:
    """Make and remove VMs, shape nodes, and drain them when the scenario says so."""
    everywhere = [
        rule(GROUP, ["virtualmachines"], [*LOOK, "create", "delete"]),
        rule("", ["nodes"], [*LOOK, "patch"]),
        rule("", ["nodes/status"], ["patch"]),
        rule("", ["pods"], ["list"]),
        rule("", ["pods/eviction"], ["create"]),
    ]
    at_home = [
        rule("", ["configmaps"], ["create"]),
        rule("", ["configmaps"], [*LOOK, "patch"], only=["clock", "scenario"]),
    ]
    who = (HOME, "scenario")
    return [
        *bound("trimtab:scenario", who, everywhere),
        *bound("trimtab:scenario", who, at_home, HOME),
    ]


def rule(
    group: str, resources: list[str], verbs: list[str], *, only: list[str] | None = None
) -> Manifest:
    names = {"resourceNames": only} if only else {}
    return {"apiGroups": [group], "resources": resources, "verbs": verbs} | names


def bound(
    name: str, account: tuple[str, str], rules: list[Manifest], namespace: str = ""
) -> list[Manifest]:
    """A role for a service account (namespace and name), in one namespace or everywhere."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    subject = {"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
            "subjects": [subject],
        },
    ]
