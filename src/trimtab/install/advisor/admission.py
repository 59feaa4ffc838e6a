"""Admission policies: who asked is written down by the API server, not by the one who asks.

`identity` stamps the user on every edit that decides something (turns the action, names a plan,
sets the bypass), and keeps the stamp otherwise. `rules` refuses an approval of a plan that is
not the one under review.
`approval` lets only those who may `approve` ask: a plan can reboot every node, and somebody
who may edit objects may not do that otherwise. All are policies rather than webhooks: nothing
has to run for them.
"""

from typing import Any

from trimtab.advisor.api import CONFIGS, GROUP, VERSION
from trimtab.advisor.decide.approval import REQUESTED_BY
from trimtab.install.advisor.rbac import APPROVE, APPROVER
from trimtab.install.policies import matching, mutating, validating

Manifest = dict[str, Any]
IDENTITY, RULES, APPROVAL = (f"trimtab-advisor-{n}" for n in ("identity", "rules", "approval"))
_ACTING = (
    "((has(object.spec.action) && object.spec.action in ['Apply', 'Rollback']) || "
    "(has(object.spec.bypassOptimisticLock) && object.spec.bypassOptimisticLock))"
)
_PLAN = "has(object.spec.approvedPlan) ? object.spec.approvedPlan : ''"
_OLD_PLAN = (
    "oldObject != null && has(oldObject.spec.approvedPlan) ? oldObject.spec.approvedPlan : ''"
)
_TURNED = (
    "(has(object.spec.action) && object.spec.action in ['Apply', 'Rollback'] && (oldObject == null "
    "|| !has(oldObject.spec.action) || object.spec.action != oldObject.spec.action))"
)
_BYPASSED = (
    "(has(object.spec.bypassOptimisticLock) && object.spec.bypassOptimisticLock && (oldObject == "
    "null || !has(oldObject.spec.bypassOptimisticLock) || !oldObject.spec.bypassOptimisticLock))"
)
_VARIABLES = [
    {"name": "plan", "expression": _PLAN},
    {"name": "approves", "expression": f"variables.plan != '' && variables.plan != ({_OLD_PLAN})"},
    {"name": "edited", "expression": "oldObject == null || object.spec != oldObject.spec"},
    {"name": "turned", "expression": f"{_TURNED} || {_BYPASSED}"},
    {"name": "decides", "expression": "variables.approves || variables.turned"},
    {"name": "asks", "expression": f"variables.approves || (variables.edited && {_ACTING})"},
]
_NOTE = f"'{REQUESTED_BY}'"


def policies() -> list[Manifest]:
    """What is installed with the operator."""
    return [*identity(), *rules(), *approval()]


def identity() -> list[Manifest]:
    old = (
        f"oldObject != null && has(oldObject.metadata.annotations) && {_NOTE} in "
        f"oldObject.metadata.annotations ? oldObject.metadata.annotations[{_NOTE}] : ''"
    )
    have = (
        f"has(object.metadata.annotations) && {_NOTE} in object.metadata.annotations "
        f"? object.metadata.annotations[{_NOTE}] : ''"
    )
    key = f"jsonpatch.escapeKey({_NOTE})"
    patch = (
        "variables.who == variables.have ? [] : has(object.metadata.annotations) ? "
        f"[JSONPatch{{op: 'add', path: '/metadata/annotations/' + {key}, value: variables.who}}] : "
        "[JSONPatch{op: 'add', path: '/metadata/annotations', "
        f"value: {{{_NOTE}: variables.who}}}}]"
    )
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": _matches(),
        "variables": [
            *_VARIABLES,
            {"name": "have", "expression": have},
            {
                "name": "who",
                "expression": f"variables.decides ? request.userInfo.username : ({old})",
            },
        ],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    return mutating(IDENTITY, spec)


def rules() -> list[Manifest]:
    current = "oldObject != null && has(oldObject.status) && has(oldObject.status.planId)"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": _matches(),
        "variables": _VARIABLES,
        "validations": [
            {
                "expression": "!variables.approves || oldObject == null || "
                f"({current} && oldObject.status.planId == variables.plan)",
                "messageExpression": "'approvedPlan ' + variables.plan + ' is not the plan under "
                f"review' + ({current} ? ', ' + oldObject.status.planId : '') + "
                "'; look at the plan again, then approve that'",
                "reason": "Invalid",
            }
        ],
    }
    return validating(RULES, spec)


def approval() -> list[Manifest]:
    may = (
        f"authorizer.group('{GROUP}').resource('{CONFIGS.plural}').name(object.metadata.name)"
        f".check('{APPROVE}').allowed()"
    )
    says = (
        "'user ' + request.userInfo.username + ' may not approve ' + object.metadata.name + "
        "': Apply, Rollback, approvedPlan, bypassOptimisticLock and edits while they are set can "
        f"reboot nodes and need the verb {APPROVE} on {CONFIGS.plural}.{GROUP}; leave action "
        "DryRun and ask somebody with that right to approve the plan, or ask a cluster "
        f"administrator to bind you to the ClusterRole {APPROVER}'"
    )
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": _matches(),
        "variables": _VARIABLES,
        "validations": [
            {
                "expression": f"!variables.asks || {may}",
                "messageExpression": says,
                "reason": "Forbidden",
            }
        ],
    }
    return validating(APPROVAL, spec)


def _matches() -> Manifest:
    return {"resourceRules": [matching(GROUP, [CONFIGS.plural], ["CREATE", "UPDATE"], VERSION)]}
