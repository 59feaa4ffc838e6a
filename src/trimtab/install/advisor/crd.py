"""The CustomResourceDefinition of VirtPlatformConfig, with the limits and sentences of refusals.

A default is only filled in where it holds for everybody: the memory ratio has none, because
it depends on swap, and a default that another rule then refuses would be a trap.
"""

from typing import Any, get_args

from trimtab.advisor.api import (
    CONFIGS,
    Action,
    Deviation,
    FailurePolicy,
    ItemState,
    Mode,
    Phase,
    ProfileName,
    Severity,
    Target,
    Verb,
)
from trimtab.advisor.decide.history import MOST
from trimtab.advisor.plan import durations
from trimtab.advisor.profiles.deviation import all_in_words
from trimtab.kube.crd_schema import Schema, choice, column, count, crd, flag, obj, rule, string

LOAD_AWARE, DENSITY = "load-aware-rebalancing", "virt-higher-density"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
FIELD = r"^(data|(data|spec)(\.[A-Za-z0-9_-]+)+)$"
"""Paths that can be ignored: what items manage is below spec or data."""
_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LABEL_VALUE = f"^({_NAME})?$"
LABEL_KEY = rf"^([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}$"
_FREE: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_TIME: Schema = {"type": "string", "format": "date-time"}


def config_crd() -> Schema:
    columns = [
        column("Action", ".spec.action"),
        column("Impact", ".status.impactSeverity"),
        column("Phase", ".status.phase"),
        column("Plan", ".status.planId", wide=True),
        column("Age", ".metadata.creationTimestamp", "date"),
    ]
    singleton = rule(
        "self.metadata.name == self.spec.profile",
        "metadata.name must equal spec.profile: there is a single VirtPlatformConfig per profile",
    )
    schema = obj({"spec": _spec(), "status": _status()}, required=["spec"], rules=[singleton])
    return crd(CONFIGS, [], schema, columns)


def _spec() -> Schema:
    properties = {
        "profile": choice(get_args(ProfileName), "What the cluster is configured for."),
        "action": choice(
            get_args(Action),
            "DryRun plans, Apply carries out the plan that is shown, Rollback plans the way back, "
            "Ignore leaves everything as it is.",
            default="DryRun",
        ),
        "failurePolicy": choice(
            get_args(FailurePolicy),
            "What a failed item does to those after it.",
            default="Abort",
        ),
        "bypassOptimisticLock": flag(
            False, "Apply although the cluster changed since, and again after drift."
        ),
        "waitTimeout": {
            "type": "string",
            "maxLength": 32,
            "pattern": durations.PATTERN,
            "description": "How long an item may take to be in effect; unset waits for ever.",
        },
        "approvedPlan": {
            "type": "string",
            "pattern": "^([0-9a-f]{12})?$",
            "maxLength": 12,
            "description": "Approves the plan with this id, for one start, and no other.",
        },
        "options": _options(),
        "ignore": _ignore(),
        "accepted": _accepted("Drift that may stay, for as long as the field has this value."),
    }
    return obj(properties, required=["profile"], rules=_spec_rules())


def _accepted(text: str) -> Schema:
    entry = obj(
        {
            "item": string(253, "The item of the plan.", least=1),
            "field": {"type": "string", "maxLength": 512, "pattern": FIELD},
            "value": ANY | {"description": "What it is."},
            "removed": {"type": "boolean", "description": "The field is not there."},
        },
        required=["item", "field"],
    )
    return _list(entry, 32, text)


def _ignore() -> Schema:
    which = rule("has(self.field) != has(self.manager)", "ignore names either a field or a manager")
    entry = obj(
        {
            "field": {
                "type": "string",
                "maxLength": 512,
                "pattern": FIELD,
                "description": "Path of a field as in managedFields: spec.mode.",
            },
            "manager": string(128, "A field manager: all fields that it owns.", least=1),
            "item": string(253, "Only in this item of the plan; unset: in all."),
        },
        rules=[which],
    )
    return _list(entry, 32, "What plans neither write nor compare.")


def _spec_rules() -> list[Schema]:
    only = "options.{} belongs to the profile {} only"
    needs = "profile {} takes its options in options.{}; leave options out for the defaults"
    rules = [rule("self.profile == oldSelf.profile", "profile cannot be changed; use another one")]
    for profile, mine, other in (
        (LOAD_AWARE, "loadAware", "virtHigherDensity"),
        (DENSITY, "virtHigherDensity", "loadAware"),
    ):
        is_it = f"self.profile == '{profile}'"
        rules += [
            rule(
                f"!({is_it} && has(self.options)) || "
                f"(has(self.options.{mine}) && !has(self.options.{other}))",
                needs.format(profile, mine),
            ),
            rule(
                f"!(has(self.options) && has(self.options.{mine})) || {is_it}",
                only.format(mine, profile),
            ),
        ]
    return rules


def _options() -> Schema:
    return obj({"loadAware": _load_aware(), "virtHigherDensity": _density()})


def _load_aware() -> Schema:
    properties = {
        "deschedulingIntervalSeconds": integer(60, 86400, "Seconds between two runs.", 60),
        "mode": choice(
            get_args(Mode), "Automatic evicts, Predictive only simulates.", default="Automatic"
        ),
        "enablePSIMetrics": flag(True, "Switch PSI on by a kernel argument: nodes restart."),
        "devDeviationThresholds": choice(
            get_args(Deviation),
            "How far from the average load is too far. " + ". ".join(all_in_words().values()) + ".",
            default="AsymmetricLow",
        ),
        "evictionLimitTotal": integer(
            1, 1000, "Evictions at a time in the cluster; unset: from HyperConverged."
        ),
        "evictionLimitNode": integer(
            1, 100, "Evictions at a time from one node; unset: from HyperConverged."
        ),
        "target": choice(
            get_args(Target),
            "Which descheduler: OpenShift's operator, or the upstream one.",
            default="openshift",
        ),
        "algorithm": string(63, "The node score of the upstream target; empty: the default."),
        "backgroundEvictions": flag(
            False, "Wait for live migrations also where LongLifecycle is all there is."
        ),
    }
    limits = rule(
        "!has(self.evictionLimitNode) || !has(self.evictionLimitTotal) || "
        "self.evictionLimitNode <= self.evictionLimitTotal",
        "evictionLimitNode must not be larger than evictionLimitTotal",
    )
    return obj(properties, rules=[limits])


def _density() -> Schema:
    requirement = obj(
        {
            "key": string(317, least=1) | {"pattern": LABEL_KEY},
            "operator": choice(_OPERATORS, ""),
            "values": _list({"type": "string", "maxLength": 63, "pattern": LABEL_VALUE}, 64),
        },
        required=["key", "operator"],
        rules=[
            rule(
                "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : "
                "!has(self.values) || self.values.size() == 0",
                "In and NotIn need values, Exists and DoesNotExist take none",
            )
        ],
    )
    selector = obj(
        {
            "matchLabels": {
                "type": "object",
                "additionalProperties": {
                    "type": "string",
                    "maxLength": 63,
                    "pattern": LABEL_VALUE,
                },
                "maxProperties": 32,
                "description": "Labels of the nodes.",
                "x-kubernetes-validations": [
                    rule(
                        "self.all(key, !format.qualifiedName().validate(key).hasValue())",
                        "keys must be names of labels, like kubernetes.io/arch",
                    )
                ],
            },
            "matchExpressions": _list(requirement, 32),
        },
        text="Nodes that share memory pages; empty: all.",
    )
    selector["x-kubernetes-map-type"] = "atomic"
    properties = {
        "enableSwap": {"type": "boolean", "description": "Swap for VMs; unset: true."},
        "ksmConfiguration": obj(
            {
                "enabled": flag(True, "Share equal memory pages."),
                "nodeLabelSelector": selector,
            }
        ),
        "memoryToRequestRatio": integer(
            100,
            300,
            "Percent of memory given to what is asked for; unset: 150 with swap, else 120.",
        ),
    }
    swap = rule(
        "!has(self.memoryToRequestRatio) || self.memoryToRequestRatio <= 120 || "
        "!has(self.enableSwap) || self.enableSwap",
        "memoryToRequestRatio above 120 requires enableSwap: true",
    )
    return obj(properties, rules=[swap])


def _status() -> Schema:
    properties = {
        "phase": choice(("", *get_args(Phase)), "Where it is on its way."),
        "impactSeverity": choice(("", *get_args(Severity)), "The worst of the items."),
        "observedGeneration": count("The spec that this status answers."),
        "sourceSnapshotHash": string(64, "SHA-256 of the managed fields: plan made, or applied."),
        "operatorVersion": string(64, "The version that made the plan."),
        "appliedOptions": _options_seen(),
        "appliedIgnore": _list(
            obj({"field": string(512), "manager": string(128), "item": string(253)}),
            32,
            "What the plan was told to leave to others.",
        ),
        "appliedAccepted": _accepted("The drift that the plan was told to leave."),
        "lookedAt": _TIME | {"description": "As of when the plan holds."},
        "lookedFor": string(64, "The request for another look that this answers."),
        "items": _items(),
        "conditions": _conditions(),
        "planId": string(12, "Stands for the plan: items, inputs, state. See approvedPlan."),
        "inputs": _FREE | {"description": "What the plan was made from besides the options."},
        "approval": obj(
            {
                "planId": string(12, "The plan that was approved."),
                "by": string(512, "Who, as admission saw it."),
                "at": _TIME | {"description": "When the operator took note of it."},
            }
        ),
        "asked": obj(
            {
                "generation": count("The generation of the spec that was looked at."),
                "action": string(16, "The action when the spec was last looked at."),
                "approvedPlan": string(12, "The approvedPlan then."),
                "options": string(12, "A digest of the options then."),
                "plan": string(12, "The plan that action: Apply stands for until it starts."),
                "used": {"type": "boolean", "description": "approvedPlan has started its plan."},
                "by": string(512, "Who turned the action or named the plan."),
                "at": _TIME | {"description": "When."},
            },
            text="What the spec asked for when it was last looked at.",
        ),
        "reverse": {"type": "boolean", "description": "The plan takes back what was applied."},
        "remediation": obj(
            {
                "at": _list(_TIME, 16, "When drift was put right."),
                "running": {"type": "boolean", "description": "It is being put right."},
                "paused": {"type": "boolean", "description": "Too often: waits for an edit."},
            }
        ),
        "warnings": _list(
            {"type": "string", "maxLength": 1024}, 32, "What the reviewer should know."
        ),
        "history": _history(),
    }
    return obj(properties)


def _options_seen() -> Schema:
    """Without defaults and rules: it is a copy, and old copies must stay readable."""
    return _FREE | {"description": "The options that the plan was made with."}


def _items() -> Schema:
    item = obj(
        {
            "name": string(253, "Which item."),
            "targetRef": obj(
                {name: string(253) for name in ("apiVersion", "kind", "name", "namespace")},
                text="The object.",
            ),
            "verb": choice(get_args(Verb), "What is done with it; apply if not said."),
            "impactSeverity": choice(("", *get_args(Severity)), "What it does to the cluster."),
            "impact": string(1024, "The same in words."),
            "diff": string(1 << 18, "What would change, as a patch."),
            "desiredState": _FREE | {"description": "What is applied."},
            "state": choice(get_args(ItemState), "How far it is.", default="Pending"),
            "message": string(1024, "How far it is, in words."),
            "lastTransitionTime": _TIME | {"description": "Since when."},
            "managedFields": _list({"type": "string", "maxLength": 512}, 64, "Paths it is about."),
            "dependsOn": _list({"type": "string", "maxLength": 253}, 16, "Items before it."),
            "takes": _list(
                obj({"field": string(1024), "manager": string(256)}),
                256,
                "Fields that it takes from other managers.",
            ),
            "warnings": _list({"type": "string", "maxLength": 1024}, 16, "What to know of it."),
            "reasons": _list(
                obj(
                    {
                        "field": string(1024),
                        "why": string(1024),
                        "changes": {"type": "boolean", "description": "It gets another value."},
                    }
                ),
                64,
                "Why the profile sets each field.",
            ),
            "ignored": _list(
                obj({"field": string(1024), "manager": string(128)}),
                256,
                "Fields that it leaves to others, because spec.ignore says so.",
            ),
            "applied": {"type": "boolean", "description": "Written; its effect is waited for."},
            "drifted": {"type": "boolean", "description": "Not as it was when completed."},
            "drift": _list(
                obj(
                    {
                        "field": string(1024),
                        "value": ANY | {"description": "What it is now."},
                        "removed": {"type": "boolean"},
                        "added": {"type": "boolean"},
                        "by": _list({"type": "string", "maxLength": 256}, 16),
                    }
                ),
                256,
                "The fields that are not as they were applied.",
            ),
            "accepted": _accepted("Values of others that it leaves as they are."),
        },
        required=["name"],
    )
    return _list(item, 32, "The plan, in order.") | _map("name")


def _history() -> Schema:
    line = obj(
        {
            "at": _TIME,
            "what": string(64),
            "planId": string(12),
            "by": string(512),
            "outcome": string(256),
            "diff": string(1 << 15, "What a plan changed; kept of the newest plans."),
        }
    )
    return _list(line, MOST, "What happened, the newest last.")


def _conditions() -> Schema:
    condition = obj(
        {
            "type": string(64),
            "status": choice(("True", "False", "Unknown"), ""),
            "reason": string(128),
            "message": string(4096),
            "lastTransitionTime": _TIME,
            "observedGeneration": count(""),
        },
        required=["type", "status"],
    )
    text = "One per phase, Ready, Progressing, Degraded, and markers."
    return _list(condition, 32, text) | _map("type")


def integer(least: int, most: int, text: str, default: int | None = None) -> Schema:
    schema: Schema = {
        "type": "integer",
        "format": "int32",
        "minimum": least,
        "maximum": most,
        "description": text,
    }
    return schema if default is None else schema | {"default": default}


def _list(items: Schema, most: int, text: str = "") -> Schema:
    schema: Schema = {"type": "array", "items": items, "maxItems": most}
    return schema | {"description": text} if text else schema


def _map(key: str) -> dict[str, Any]:
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}
