"""Who may do what: the least that the controller and the webhook can work with."""

from typing import Any

from trimtab.kube.machines import GROUP
from trimtab.model.names import SYSTEM_NAMESPACE

NAMESPACE = SYSTEM_NAMESPACE
_RBAC = "rbac.authorization.k8s.io"
Manifest = dict[str, Any]
LOOK = ["get", "list", "watch"]


def controller_rbac() -> list[Manifest]:
    """The vm-controller: VMs and migrations, their pods, Events, its lease and the clock."""
    everywhere = [
        # patch: to take away the annotation that asks to cancel an evacuation
        rule(GROUP, ["virtualmachines"], [*LOOK, "patch"]),
        rule(GROUP, ["virtualmachines/status", "virtualmachinemigrations/status"], ["patch"]),
        # where OwnerReferencesPermissionEnforcement is on, for pods that block the deletion
        rule(GROUP, ["virtualmachines/finalizers"], ["update"]),
        # patch: to make the VM an owner of a migration that somebody wrote
        rule(GROUP, ["virtualmachinemigrations"], [*LOOK, "create", "patch", "delete"]),
        rule("", ["pods"], [*LOOK, "create", "patch", "delete"]),
        rule("events.k8s.io", ["events"], ["create", "patch"]),
    ]
    at_home = [
        rule("coordination.k8s.io", ["leases"], ["create"]),
        rule("coordination.k8s.io", ["leases"], ["get", "patch"], only=["vm-controller"]),
        rule("", ["configmaps"], LOOK, only=["clock"]),
    ]
    return [
        *bound("vm-controller", "ClusterRole", everywhere),
        *bound("vm-controller", "Role", at_home),
    ]


def webhook_rbac() -> list[Manifest]:
    """The webhook: looks at pods and VMs, and marks VMs."""
    rules = [
        rule("", ["pods"], LOOK),
        rule(GROUP, ["virtualmachines"], LOOK),
        rule(GROUP, ["virtualmachines/status"], ["patch"]),
    ]
    return bound("webhook", "ClusterRole", rules)


def rule(
    group: str, resources: list[str], verbs: list[str], *, only: list[str] | None = None
) -> Manifest:
    names = {"resourceNames": only} if only else {}
    return {"apiGroups": [group], "resources": resources, "verbs": verbs} | names


def bound(service: str, kind: str, rules: list[Manifest]) -> list[Manifest]:
    """A role for the service account of `service`, and the binding between them."""
    name = f"trimtab:{service}"
    metadata = {"name": name} | ({"namespace": NAMESPACE} if kind == "Role" else {})
    account = {"kind": "ServiceAccount", "name": service, "namespace": NAMESPACE}
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
