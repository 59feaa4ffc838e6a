"""Who may do what: the least that the exporter can work with."""

from typing import Any

from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.clock import NAMESPACE
from trimtab.kube.machines import GROUP

_RBAC = "rbac.authorization.k8s.io"
Manifest = dict[str, Any]
LOOK = ["get", "list", "watch"]


def exporter_rbac(*, allow_scenario: bool = False, namespace: str = "default") -> list[Manifest]:
    """Read pods, nodes, VMs and the clock; with `allow_scenario` write VMs and migrations."""
    everywhere = [
        _rule("", ["pods", "nodes"], LOOK),
        _rule(GROUP, ["virtualmachines"], LOOK),
    ]
    at_home = [_rule("", ["configmaps"], LOOK, only=[CLOCK])]
    writing = [
        _rule(GROUP, ["virtualmachines"], ["create", "delete"]),
        _rule(GROUP, ["virtualmachinemigrations"], [*LOOK, "create", "delete"]),
    ]
    objects = [
        *_bound("trimtab:exporter", everywhere),
        *_bound("trimtab:exporter", at_home, NAMESPACE),
    ]
    if allow_scenario:
        objects += _bound("trimtab:exporter:scenario", writing, namespace)
    return objects


def _rule(
    group: str, resources: list[str], verbs: list[str], *, only: list[str] | None = None
) -> Manifest:
    names = {"resourceNames": only} if only else {}
    return {"apiGroups": [group], "resources": resources, "verbs": verbs} | names


def _bound(name: str, rules: list[Manifest], namespace: str = "") -> list[Manifest]:
    """A role for the exporter's service account, in one namespace or everywhere."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    account = {"kind": "ServiceAccount", "name": "exporter", "namespace": NAMESPACE}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
            "subjects": [account],
        },
    ]
