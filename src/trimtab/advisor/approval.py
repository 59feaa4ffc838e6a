"""Approval: of this plan, by this person, and withdrawn when the plan becomes another.

`action: Apply` alone approves whatever the profile plans, as it always did; `approvedPlan`
narrows it to one plan. A rollback is approved by `approvedPlan` only: the action that asked
for it was given before there was anything to review. After a change that nobody asked for
(an input, a new owner of a field) and after options were edited during a review, the plan
waits for an edit of the spec.
"""

from datetime import datetime

from msgspec import convert, structs

from trimtab.advisor.api import Approval, PlatformStatus
from trimtab.advisor.becoming import become
from trimtab.advisor.conditions import INPUT_DRIFT, REVIEW_AGAIN, is_true, marked
from trimtab.advisor.situation import Situation, Write
from trimtab.kube.resources import Free

REQUESTED_BY = "advisor.kubevirt.io/requested-by"
"""Annotation with who last asked for an Apply, a Rollback or a plan; written by admission."""


def is_approved(s: Situation, plan_id: str) -> bool:
    """Whether the spec says yes to this plan, markers aside."""
    spec = s.config.spec
    if spec.action == "Rollback":
        return spec.approved_plan == plan_id
    return spec.action == "Apply" and spec.approved_plan in ("", plan_id)


def is_held(status: PlatformStatus) -> bool:
    """Whether the plan must be looked at again although the action says Apply."""
    return is_true(status, INPUT_DRIFT) or is_true(status, REVIEW_AGAIN)


def acknowledged(status: PlatformStatus, reason: str, now: datetime) -> PlatformStatus:
    """Without the markers that hold a plan back."""
    for marker in (INPUT_DRIFT, REVIEW_AGAIN):
        if is_true(status, marker):
            text = "The change was taken note of"
            status = structs.replace(
                status, conditions=marked(status, marker, False, reason, text, now)
            )
    return status


def begun_anew(s: Situation, detail: str = "") -> Write:
    """To Pending because of an edit, which also takes note of whatever was marked."""
    return become(s, "Pending", detail, status=acknowledged(s.status, "Acknowledged", s.now))


def approval(s: Situation) -> Approval:
    by = s.config.metadata.annotations.get(REQUESTED_BY, "")
    return Approval(plan_id=s.status.plan_id, by=by, at=s.asked_at or s.now)


def asked_at(raw: Free) -> datetime | None:
    """When action or approvedPlan was last written: policies have no clock, but the API
    server notes the time of every change beside its manager."""
    times = [
        entry["time"]
        for entry in raw["metadata"].get("managedFields") or ()
        if not entry.get("subresource") and "time" in entry and _asks(entry)
    ]
    return convert(max(times), datetime) if times else None


def _asks(entry: Free) -> bool:
    fields = (entry.get("fieldsV1") or {}).get("f:spec") or {}
    return "f:action" in fields or "f:approvedPlan" in fields


def waiting_text(s: Situation, plan_id: str) -> str:
    """What the reviewer is to do, in a sentence."""
    spec, how = s.config.spec, f"approve it with: spec.approvedPlan: {plan_id}"
    if spec.approved_plan and spec.approved_plan != plan_id:
        return f"approvedPlan {spec.approved_plan} is not this plan, {plan_id}; {how}"
    if spec.action == "Rollback":
        return f"The way back is ready for review; {how}"
    if is_held(s.status) and spec.action == "Apply":
        return f"Something changed since the plan was asked for; review plan {plan_id}, then {how}"
    return f"Plan {plan_id} is ready for review; apply it with spec.action: Apply"
