"""What the API server is told: which SLOs it accepts, who may stamp, and where stamps come from.

The first two are policies inside the API server, so they hold while our service is down. The
webhook may fail: then a pod is created unstamped and scheduled by its age.
"""

from typing import Any

from trimtab.install.policies import API, matching, mutating, validating
from trimtab.kube.virtual_machines import GROUP as VM_GROUP
from trimtab.kube.virtual_machines import KUBEVIRT
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.promise import PATTERN
from trimtab.qos.queue.key import ANNOTATION as KEY
from trimtab.qos.settings import NAME, NAMESPACE, WEBHOOK_PATH

WEBHOOK = "trimtab-qos"
SLO_POLICY = "trimtab-qos-slo"
STAMP_POLICY = "trimtab-qos-stamp"
CLEAN_POLICY = "trimtab-qos-clean"
STAMPER = f"system:serviceaccount:{NAMESPACE}:{NAME}"
Manifest = dict[str, Any]
_APART = ["kube-system", NAMESPACE]
_QUOTED = PATTERN.replace("\\", "\\\\")


def policies(stamper: str = STAMPER) -> list[Manifest]:
    """All policies with their bindings; `stamper` is who the service is to the API server."""
    return [*slo_policy(), *stamp_policy(stamper), *clean_policy()]


def slo_policy() -> list[Manifest]:
    """An SLO that cannot be read is refused where it is written: on pods, owners, namespaces."""
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": _declaring()},
        "matchConditions": [{"name": "declares-an-slo", "expression": f"{_OWN} || {_TEMPLATE}"}],
        "validations": [
            _readable(f"!({_OWN}) || {_fits('object.metadata')}", _complaint("object.metadata")),
            _readable(
                f"!({_TEMPLATE}) || {_fits('object.spec.template.metadata')}",
                _complaint("object.spec.template.metadata"),
            ),
        ],
    }
    return validating(SLO_POLICY, spec)


def _has(meta: str, name: str) -> str:
    return f"has({meta}.annotations) && '{name}' in {meta}.annotations"


_OWN = _has("object.metadata", SLO)
_TEMPLATE = (
    "has(object.spec) && has(object.spec.template) && has(object.spec.template.metadata) && "
    + _has("object.spec.template.metadata", SLO)
)


def _fits(meta: str) -> str:
    return f"{meta}.annotations['{SLO}'].matches('{_QUOTED}')"


def _complaint(meta: str) -> str:
    return (
        f"'annotation {SLO}: \"' + {meta}.annotations['{SLO}'] + "
        "'\" is not an SLO; write a number from 0 to 1 like 0.95, or 95%'"
    )


def _readable(expression: str, message: str) -> Manifest:
    return {"expression": expression, "messageExpression": message, "reason": "Invalid"}


def _declaring() -> list[Manifest]:
    kinds = (
        ("", "v1", ["pods", "namespaces"]),
        ("apps", "v1", ["deployments", "replicasets", "statefulsets", "daemonsets"]),
        ("batch", "v1", ["jobs"]),
        (VM_GROUP, "*", ["virtualmachines"]),
        (KUBEVIRT, "*", ["virtualmachines", "virtualmachineinstances"]),
    )
    writes = ["CREATE", "UPDATE"]
    return [matching(group, resources, writes, version) for group, version, resources in kinds]


def stamp_policy(stamper: str = STAMPER) -> list[Manifest]:
    """Nobody but the stamper changes a stamp."""
    old, new = (
        f"({_has(f'{which}.metadata', KEY)} ? {which}.metadata.annotations['{KEY}'] : '')"
        for which in ("oldObject", "object")
    )
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [matching("", ["pods"], ["UPDATE"])]},
        "matchConditions": [
            {"name": "not-the-stamper", "expression": f"request.userInfo.username != '{stamper}'"},
            {"name": "changes-the-stamp", "expression": f"{old} != {new}"},
        ],
        "validations": [
            {
                "expression": "false",
                "message": f"annotation {KEY} is written by {stamper} only; "
                f"declare an SLO with annotation {SLO} instead",
                "reason": "Forbidden",
            }
        ],
    }
    return validating(STAMP_POLICY, spec)


def clean_policy() -> list[Manifest]:
    """A stamp that somebody supplies with a new pod is taken off before the webhook is asked."""
    path = "/metadata/annotations/" + KEY.replace("/", "~1")
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",  # again after the webhook, it would take off ours
        "matchConstraints": {"resourceRules": [matching("", ["pods"], ["CREATE"])]},
        "matchConditions": [
            {"name": "comes-with-a-stamp", "expression": _has("object.metadata", KEY)}
        ],
        "mutations": [
            {
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": f"[JSONPatch{{op: 'remove', path: '{path}'}}]"},
            }
        ],
    }
    return mutating(CLEAN_POLICY, spec)


def stamping_webhook(client_config: Manifest) -> Manifest:
    """The configuration for a webhook at `client_config` (url or service, and caBundle)."""
    if "url" in client_config:
        client_config = client_config | {"url": client_config["url"].rstrip("/") + WEBHOOK_PATH}
    apart = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": _APART}
    return {
        "apiVersion": API,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": WEBHOOK},
        "webhooks": [
            {
                "name": "stamp.qos.trimtab.dev",
                "clientConfig": client_config,
                "rules": [matching("", ["pods"], ["CREATE"]) | {"scope": "Namespaced"}],
                "namespaceSelector": {"matchExpressions": [apart]},
                "matchConditions": [
                    {
                        "name": "to-be-scheduled",
                        "expression": "!has(object.spec.nodeName) || object.spec.nodeName == ''",
                    }
                ],
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "reinvocationPolicy": "Never",
                "matchPolicy": "Exact",
                "timeoutSeconds": 2,
            }
        ],
    }
