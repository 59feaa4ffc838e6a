"""The status of a VirtPlatformConfig in its definition: what the operator answers."""

from typing import get_args

from trimtab.advisor.api import Phase, Severity
from trimtab.advisor.decide.history import MOST
from trimtab.install.definitions import ANYTHING, Note, Notes, conditions, list_map, under

FIELD = r"^(data|(data|spec)(\.[A-Za-z0-9_-]+)+)$"
"""Paths that can be ignored: what items manage is below spec or data."""
_SEVERITIES = ("", *get_args(Severity))


def accepted(path: str, text: str) -> Notes:
    """A list of values that others gave to fields and that may stay."""
    return {
        path: Note(text, most=32),
        f"{path}[].item": Note("The item of the plan.", least=1, most=253, required=True),
        f"{path}[].field": Note(most=512, pattern=FIELD, required=True),
        f"{path}[].value": Note("What it is."),
        f"{path}[].removed": Note("The field is not there."),
    }


_ITEM: Notes = {
    "name": Note("Which item.", most=253, required=True),
    "targetRef": Note("The object."),
    **under(
        "targetRef", dict.fromkeys(("apiVersion", "kind", "name", "namespace"), Note(most=253))
    ),
    "verb": Note("What is done with it; apply if not said."),
    "impactSeverity": Note("What it does to the cluster.", choices=_SEVERITIES),
    "impact": Note("The same in words.", most=1024),
    "diff": Note("What would change, as a patch.", most=1 << 18),
    "desiredState": Note("What is applied."),
    "state": Note("How far it is.", filled=True),
    "message": Note("How far it is, in words.", most=1024),
    "lastTransitionTime": Note("Since when."),
    "managedFields": Note("Paths it is about.", most=64),
    "managedFields[]": Note(most=512),
    "dependsOn": Note("Items before it.", most=16),
    "dependsOn[]": Note(most=253),
    "takes": Note("Fields that it takes from other managers.", most=256),
    "takes[].field": Note(most=1024),
    "takes[].manager": Note(most=256),
    "warnings": Note("What to know of it.", most=16),
    "warnings[]": Note(most=1024),
    "reasons": Note("Why the profile sets each field.", most=64),
    "reasons[].field": Note(most=1024),
    "reasons[].why": Note(most=1024),
    "reasons[].changes": Note("It gets another value."),
    "ignored": Note("Fields that it leaves to others, because spec.ignore says so.", most=256),
    "ignored[].field": Note(most=1024),
    "ignored[].manager": Note(most=128),
    "applied": Note("Written; its effect is waited for."),
    "drifted": Note("Not as it was when completed."),
    "drift": Note("The fields that are not as they were applied.", most=256),
    "drift[].field": Note(most=1024),
    "drift[].value": Note("What it is now."),
    "drift[].by": Note(most=16),
    "drift[].by[]": Note(most=256),
    **accepted("accepted", "Values of others that it leaves as they are."),
}
STATUS: Notes = {
    "status.phase": Note("Where it is on its way.", choices=("", *get_args(Phase))),
    "status.impactSeverity": Note("The worst of the items.", choices=_SEVERITIES),
    "status.observedGeneration": Note("The spec that this status answers."),
    "status.sourceSnapshotHash": Note(
        "SHA-256 of the managed fields: plan made, or applied.", most=64
    ),
    "status.operatorVersion": Note("The version that made the plan.", most=64),
    # without defaults and rules: it is a copy, and old copies must stay readable
    "status.appliedOptions": Note(
        "The options that the plan was made with.", instead={"type": "object", **ANYTHING}
    ),
    "status.appliedIgnore": Note("What the plan was told to leave to others.", most=32),
    "status.appliedIgnore[].field": Note(most=512),
    "status.appliedIgnore[].manager": Note(most=128),
    "status.appliedIgnore[].item": Note(most=253),
    **accepted("status.appliedAccepted", "The drift that the plan was told to leave."),
    "status.lookedAt": Note("As of when the plan holds."),
    "status.lookedFor": Note("The request for another look that this answers.", most=64),
    "status.items": Note("The plan, in order.", most=32, also=list_map("name")),
    **under("status.items[]", _ITEM),
    **conditions(
        "One per phase, Ready, Progressing, Degraded, and markers.", most=32, longest_message=4096
    ),
    "status.planId": Note("Stands for the plan: items, inputs, state. See approvedPlan.", most=12),
    "status.inputs": Note("What the plan was made from besides the options."),
    "status.approval.planId": Note("The plan that was approved.", most=12),
    "status.approval.by": Note("Who, as admission saw it.", most=512),
    "status.approval.at": Note("When the operator took note of it."),
    "status.asked": Note("What the spec asked for when it was last looked at."),
    "status.asked.generation": Note("The generation of the spec that was looked at."),
    "status.asked.action": Note("The action when the spec was last looked at.", most=16),
    "status.asked.approvedPlan": Note("The approvedPlan then.", most=12),
    "status.asked.options": Note("A digest of the options then.", most=12),
    "status.asked.plan": Note("The plan that action: Apply stands for until it starts.", most=12),
    "status.asked.used": Note("approvedPlan has started its plan."),
    "status.asked.by": Note("Who turned the action or named the plan.", most=512),
    "status.asked.at": Note("When."),
    "status.reverse": Note("The plan takes back what was applied."),
    "status.remediation.at": Note("When drift was put right.", most=16),
    "status.remediation.running": Note("It is being put right."),
    "status.remediation.paused": Note("Too often: waits for an edit."),
    "status.warnings": Note("What the reviewer should know.", most=32),
    "status.warnings[]": Note(most=1024),
    "status.history": Note("What happened, the newest last.", most=MOST),
    "status.history[].what": Note(most=64),
    "status.history[].planId": Note(most=12),
    "status.history[].by": Note(most=512),
    "status.history[].outcome": Note(most=256),
    "status.history[].diff": Note("What a plan changed; kept of the newest plans.", most=1 << 15),
}
