"""What the API server is told about our pods: the eviction webhook, and the guard.

The guard is a policy inside the API server and not a webhook: in the path of every pod DELETE
a webhook that is down would stop garbage collection, namespace deletion and node loss
(docs/decisions/0006). An allowed eviction does not pass DELETE admission at all.
"""

from typing import Any

from trimtab.install.policies import API, matching, validating
from trimtab.kube.virtual_machines import GUARD_LABEL, VM_NAME_LABEL
from trimtab.model.names import SYSTEM_NAMESPACE
from trimtab.vm.webhook import PATH

WEBHOOK = "trimtab-eviction"
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


def eviction_webhook(client_config: dict[str, Any]) -> dict[str, Any]:
    """The configuration for a webhook at `client_config` (url or service, and caBundle)."""
    if "url" in client_config:
        client_config = client_config | {"url": client_config["url"].rstrip("/") + PATH}
    return {
        "apiVersion": API,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOK},
        "webhooks": [
            {
                "name": "virt-launcher-eviction.trimtab.dev",
                "clientConfig": client_config,
                "rules": [matching("", ["pods/eviction"], ["CREATE"]) | {"scope": "Namespaced"}],
                "matchConditions": [
                    {
                        "name": "virt-launcher",
                        "expression": 'request.name.startsWith("virt-launcher-")',
                    }
                ],
                "admissionReviewVersions": ["v1"],
                "sideEffects": "NoneOnDryRun",
                "failurePolicy": "Fail",
                "matchPolicy": "Exact",
                "timeoutSeconds": 5,
            }
        ],
    }


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
