"""An admission policy that limits the vm-controller to virt-launcher pods of VMs.

RBAC can only grant a right to all pods. Without this policy, somebody with the controller's token
could create a pod with the host's files, or one that acts under another service account. With it
the API server refuses every write of a pod that the controller itself would not make
(`desired_pod` in vm/launcher.py).
"""

from typing import Any

from trimtab.install.policies import matching, validating
from trimtab.kube.virtual_machines import APP_LABEL, GROUP
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.vm.launcher import IMAGE

POLICY = "trimtab-launcher-pods"
_CONTROLLER = (
    f'request.userInfo.username == "system:serviceaccount:{SYSTEM_NAMESPACE}:vm-controller"'
)
_SPEC = "object.spec"


def _absent(field: str) -> str:
    return f"!has({_SPEC}.{field})"


def _off(field: str) -> str:
    return f"(!has({_SPEC}.{field}) || !{_SPEC}.{field})"


def _all(items: str, condition: str) -> str:
    return f"(!has({items}) || {items}.all(each, {condition}))"


_LAUNCHER = (
    'object.metadata.name.startsWith("virt-launcher-") && has(object.metadata.labels) && '
    f'"{APP_LABEL[0]}" in object.metadata.labels && '
    f'object.metadata.labels["{APP_LABEL[0]}"] == "{APP_LABEL[1]}"'
)
_OWNED = (
    "has(object.metadata.ownerReferences) && size(object.metadata.ownerReferences) == 1 && "
    "object.metadata.ownerReferences.all(owner, "
    f'owner.apiVersion.startsWith("{GROUP}/") && owner.kind == "VirtualMachine" && '
    "has(owner.controller) && owner.controller)"
)
_IMAGE = (
    f"size({_SPEC}.containers) == 1 && {_absent('initContainers')} && "
    f'{_SPEC}.containers.all(each, each.image == "{IMAGE}" && '
    "!has(each.command) && !has(each.args) && !has(each.env) && !has(each.envFrom) && "
    "!has(each.ports) && !has(each.lifecycle))"
)
_HOST = " && ".join(
    [
        *(_off(field) for field in ("hostNetwork", "hostPID", "hostIPC")),
        _absent("nodeName"),
        _all(f"{_SPEC}.volumes", "has(each.emptyDir)"),
    ]
)
_ACCOUNT = (
    f"has({_SPEC}.automountServiceAccountToken) && !{_SPEC}.automountServiceAccountToken && "
    f'(!has({_SPEC}.serviceAccountName) || {_SPEC}.serviceAccountName == "default")'
)
_PRIVILEGES = f"{_SPEC}.containers.all(each, !has(each.securityContext))"


def _at(operation: str, expression: str, message: str) -> dict[str, Any]:
    """A condition for one operation; others pass it."""
    return {
        "expression": f'request.operation != "{operation}" || ({expression})',
        "message": f"the vm-controller {message}",
        "reason": "Forbidden",
    }


def launcher_pods_only() -> list[dict[str, Any]]:
    """The policy and its binding."""
    validations = [
        _at("CREATE", _LAUNCHER, "creates virt-launcher pods only"),
        _at("CREATE", _OWNED, "creates pods for a VirtualMachine only, as its controller"),
        _at("CREATE", _IMAGE, f"creates pods with one container of {IMAGE} only, as it is"),
        _at("CREATE", _HOST, "creates pods without the host's network, processes and files"),
        _at("CREATE", _ACCOUNT, "creates pods without a service account's token only"),
        _at("CREATE", _PRIVILEGES, "creates pods without privileges only"),
        _at(
            "UPDATE",
            'object.metadata.name.startsWith("virt-launcher-") && object.spec == oldObject.spec',
            "changes labels, annotations and owners of virt-launcher pods only",
        ),
        _at(
            "DELETE",
            'oldObject.metadata.name.startsWith("virt-launcher-")',
            "deletes virt-launcher pods only",
        ),
    ]
    operations = ["CREATE", "UPDATE", "DELETE"]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [matching("", ["pods"], operations)]},
        "matchConditions": [{"name": "vm-controller", "expression": _CONTROLLER}],
        "validations": validations,
    }
    return validating(POLICY, spec)
