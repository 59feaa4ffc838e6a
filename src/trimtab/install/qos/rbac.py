"""Who may do what: the least that the service can work with."""

from typing import Any

from trimtab.kube.machines import GROUP as VM_GROUP
from trimtab.kube.machines import KUBEVIRT
from trimtab.qos.settings import NAME, NAMESPACE
from trimtab.qos.wire import GROUP

_RBAC = "rbac.authorization.k8s.io"
Manifest = dict[str, Any]
LOOK = ["get", "list", "watch"]
PAGE_READER = "trimtab:qos-page"


def qos_rbac() -> list[Manifest]:
    """Look at pods and what owns them, stamp pods, keep accounts, tell, ask who asks."""
    everywhere = [
        rule("", ["pods"], [*LOOK, "patch"]),
        rule("", ["namespaces", "nodes"], LOOK),
        rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], LOOK),
        rule("batch", ["jobs"], LOOK),
        rule(VM_GROUP, ["virtualmachines"], LOOK),
        rule(KUBEVIRT, ["virtualmachines", "virtualmachineinstances"], LOOK),
        rule(GROUP, ["qosaccounts"], [*LOOK, "create", "patch"]),
        rule(GROUP, ["qosaccounts/status"], ["patch"]),
        rule("events.k8s.io", ["events"], ["create", "patch"]),
        rule("authentication.k8s.io", ["tokenreviews", "selfsubjectreviews"], ["create"]),
        rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ]
    at_home = [
        rule("coordination.k8s.io", ["leases"], ["create"]),
        rule("coordination.k8s.io", ["leases"], ["get", "patch"], only=[NAME]),
    ]
    return [*bound(everywhere), *bound(at_home, NAMESPACE), page_reader()]


def page_reader() -> Manifest:
    """What somebody needs to read the page where it is exposed; bind it to them."""
    paths = ["/", "/v1/*", "/metrics"]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": PAGE_READER},
        "rules": [{"nonResourceURLs": paths, "verbs": ["get"]}],
    }


def rule(
    group: str, resources: list[str], verbs: list[str], *, only: list[str] | None = None
) -> Manifest:
    names = {"resourceNames": only} if only else {}
    return {"apiGroups": [group], "resources": resources, "verbs": verbs} | names


def bound(rules: list[Manifest], namespace: str = "") -> list[Manifest]:
    """A role for the service's account, in one namespace or everywhere."""
    kind = "Role" if namespace else "ClusterRole"
    name = f"trimtab:{NAME}"
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
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
