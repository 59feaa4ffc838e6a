"""The status of a VirtPlatformConfig in its definition: what the operator answers."""

from typing import get_args

from trimtab.advisor.api import ItemState, Phase, Severity, Verb
from trimtab.advisor.decide.history import MOST
from trimtab.kube.crd_schema import Schema, array, choice, count, map_by, obj, string

FIELD = r"^(data|(data|spec)(\.[A-Za-z0-9_-]+)+)$"
"""Paths that can be ignored: what items manage is below spec or data."""
_FREE: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_TIME: Schema = {"type": "string", "format": "date-time"}


def status_schema() -> Schema:
    properties = {
        "phase": choice(("", *get_args(Phase)), "Where it is on its way."),
        "impactSeverity": choice(("", *get_args(Severity)), "The worst of the items."),
        "observedGeneration": count("The spec that this status answers."),
        "sourceSnapshotHash": string(64, "SHA-256 of the managed fields: plan made, or applied."),
        "operatorVersion": string(64, "The version that made the plan."),
        "appliedOptions": _options_seen(),
        "appliedIgnore": array(
            obj({"field": string(512), "manager": string(128), "item": string(253)}),
            32,
            "What the plan was told to leave to others.",
        ),
        "appliedAccepted": accepted("The drift that the plan was told to leave."),
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
                "at": array(_TIME, 16, "When drift was put right."),
                "running": {"type": "boolean", "description": "It is being put right."},
                "paused": {"type": "boolean", "description": "Too often: waits for an edit."},
            }
        ),
        "warnings": array(
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
            "managedFields": array({"type": "string", "maxLength": 512}, 64, "Paths it is about."),
            "dependsOn": array({"type": "string", "maxLength": 253}, 16, "Items before it."),
            "takes": array(
                obj({"field": string(1024), "manager": string(256)}),
                256,
                "Fields that it takes from other managers.",
            ),
            "warnings": array({"type": "string", "maxLength": 1024}, 16, "What to know of it."),
            "reasons": array(
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
            "ignored": array(
                obj({"field": string(1024), "manager": string(128)}),
                256,
                "Fields that it leaves to others, because spec.ignore says so.",
            ),
            "applied": {"type": "boolean", "description": "Written; its effect is waited for."},
            "drifted": {"type": "boolean", "description": "Not as it was when completed."},
            "drift": array(
                obj(
                    {
                        "field": string(1024),
                        "value": ANY | {"description": "What it is now."},
                        "removed": {"type": "boolean"},
                        "added": {"type": "boolean"},
                        "by": array({"type": "string", "maxLength": 256}, 16),
                    }
                ),
                256,
                "The fields that are not as they were applied.",
            ),
            "accepted": accepted("Values of others that it leaves as they are."),
        },
        required=["name"],
    )
    return array(item, 32, "The plan, in order.") | map_by("name")


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
    return array(line, MOST, "What happened, the newest last.")


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
    return array(condition, 32, text) | map_by("type")


def accepted(text: str) -> Schema:
    entry = obj(
        {
            "item": string(253, "The item of the plan.", least=1),
            "field": {"type": "string", "maxLength": 512, "pattern": FIELD},
            "value": ANY | {"description": "What it is."},
            "removed": {"type": "boolean", "description": "The field is not there."},
        },
        required=["item", "field"],
    )
    return array(entry, 32, text)
