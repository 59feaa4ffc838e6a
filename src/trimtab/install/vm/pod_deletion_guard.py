"""The guard: the API server refuses to delete a running VM's virt-launcher pod directly.

The guard is a policy inside the API server and not a webhook: in the path of every pod DELETE
a webhook that is down would stop garbage collection, namespace deletion and node loss
(docs/decisions/0006). An allowed eviction does not pass DELETE admission at all.
"""

from typing import Any

from trimtab.install.policies import matching, validating
from trimtab.kube.virtual_machines import GUARD_LABEL, VM_NAME_LABEL
from trimtab.model.names import SYSTEM_NAMESPACE

GUARD = "trimtab-guard"

# Those whose business it is to remove pods; everybody else is told what to do instead.
_MAY_DELETE = (
    'request.userInfo.username.startsWith("system:node:")',
    'request.userInfo.username.startsWith("system:serviceaccount:kube-system:")',
    'request.userInfo.username in ["system:kube-scheduler", "system:kube-controller-manager"]',
    'request.userInfo.username == "kwok"',
    f'request.userInfo.username == "system:serviceaccount:{SYSTEM_NAMESPACE}:vm-controller"',
)
_ALIVE = (
    "!has(oldObject.metadata.deletionTimestamp) && "
    '!(has(oldObject.status.phase) && oldObject.status.phase in ["Succeeded", "Failed"])'
)
_VM = f"oldObject.metadata.labels['{VM_NAME_LABEL}']"
_HELP = (
    f'"pod " + oldObject.metadata.name + " runs VM " + {_VM} + " and is not deleted directly; '
    f'move it with: trimtab vm migrate " + {_VM} + ", or stop it with: trimtab vm stop " + {_VM}'
)


def guard() -> list[dict[str, Any]]:
    """The policy that keeps people and scripts from deleting a running VM, and its binding."""
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "objectSelector": {"matchLabels": {GUARD_LABEL: "true"}},
            "resourceRules": [matching("", ["pods"], ["DELETE"])],
        },
        "matchConditions": [
            {"name": "alive", "expression": _ALIVE},
            {"name": "not-their-business", "expression": f"!({' || '.join(_MAY_DELETE)})"},
        ],
        "validations": [{"expression": "false", "messageExpression": _HELP, "reason": "Forbidden"}],
    }
    return validating(GUARD, spec)
