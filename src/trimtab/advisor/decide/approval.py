"""Approval: of one plan, by one person, for one start.

Two acts approve a plan, and nothing else does:

- `approvedPlan` is set to its id;
- `action` is turned to Apply, with no other `approvedPlan` standing, while the plan is shown in
  the status. Where no plan was shown yet, the first plan for the options of that moment is
  meant: a new object with `action: Apply` is applied at once.

An approval starts its plan once. Other changes never approve: clearing `approvedPlan`, editing
another field, another input of the plan, another release of a definition. If such a change leads
to another plan, that plan waits for an approval of its own. A rollback plan is approved by
`approvedPlan` only: its `action: Rollback` was set before there was a plan to review.

What sends a plan back to review is decided in `decide/phases.py`: `_review` while it
waits, `decide/inputs.py` when an input changes, `decide/completed.py` after it was applied.

The status keeps what the spec asked for when the operator last read it (`asked`). The operator
writes a status only if the spec is still the one it decided from. So a difference between the
spec and `asked` is an edit that was made while the plan in the status was shown.
"""

from datetime import datetime

from msgspec import convert, structs, to_builtins

from trimtab.advisor.api import Approval, Asked, PlatformStatus
from trimtab.advisor.decide.conditions import INPUT_DRIFT, REVIEW_AGAIN, is_true, marked
from trimtab.advisor.decide.situation import ConfigSituation, WriteStatus
from trimtab.advisor.decide.transition import become
from trimtab.advisor.plan.fields import digest, manager_entries
from trimtab.kube.resources import Free

REQUESTED_BY = "advisor.kubevirt.io/requested-by"
"""Annotation with who last asked for an Apply, a Rollback or a plan; written by admission."""
FIRST = "first"
"""Stands for the first plan that will be made."""


def noted(s: ConfigSituation) -> ConfigSituation:
    """With what the spec asks for now, and which plan that stands for."""
    spec, was = s.config.spec, _before(s)
    turned = spec.action != was.action
    named = spec.approved_plan != was.approved_plan
    used = was.used and not named
    plan = was.plan
    if turned:
        narrowed = bool(spec.approved_plan) and not used
        plan = "" if narrowed or spec.action != "Apply" else s.status.plan_id or _first(s, was)
    elif named or _chosen(s) != was.options:
        plan = ""
    generation = s.config.metadata.generation
    now = structs.replace(
        was,
        generation=generation,
        action=spec.action,
        approved_plan=spec.approved_plan,
        options=_chosen(s),
        plan=plan,
        used=used,
    )
    if turned or named:
        by = s.config.metadata.annotations.get(REQUESTED_BY, "")
        now = structs.replace(now, by=by, at=s.asked_at or s.now)
    return _with(s, structs.replace(s.status, asked=now))


def _first(s: ConfigSituation, was: Asked) -> str:
    """The first plan to come, if this edit is the only one: after two that nobody looked at in
    between, the options may be somebody else's."""
    return FIRST if s.config.metadata.generation <= was.generation + 1 else ""


def _before(s: ConfigSituation) -> Asked:
    """What was asked before; a status without it was written by an older operator."""
    if s.status.asked is not None or not s.status.plan_id:
        return s.status.asked or Asked()
    spec, past = s.config.spec, s.status.approval or Approval()
    return Asked(
        action=spec.action,
        approved_plan=spec.approved_plan,
        options=_chosen(s),
        used=past.plan_id == spec.approved_plan,
        by=past.by,
        at=past.at,
    )


def _chosen(s: ConfigSituation) -> str:
    """What a plan is made from, as far as people choose it."""
    spec = s.config.spec
    return digest(to_builtins((spec.options, spec.ignore, spec.accepted)))[:12]


def is_approved(s: ConfigSituation, plan_id: str) -> bool:
    """Whether somebody said yes to this plan, and it was not started for that yet."""
    spec, asked = s.config.spec, s.status.asked or Asked()
    by_name = spec.approved_plan == plan_id and not asked.used
    if spec.action == "Rollback":
        return by_name
    return spec.action == "Apply" and (by_name or asked.plan in (plan_id, FIRST))


def granted(s: ConfigSituation, status: PlatformStatus) -> PlatformStatus:
    """The status of an approved plan that starts: what was asked for is used up."""
    asked = status.asked or Asked()
    used = asked.used or asked.approved_plan == status.plan_id
    return structs.replace(
        acknowledged(status, "Acknowledged", s.now),
        asked=structs.replace(asked, plan="", used=used),
        approval=Approval(plan_id=status.plan_id, by=asked.by, at=asked.at or s.now),
    )


def shown(status: PlatformStatus) -> PlatformStatus:
    """The status with a plan that is not started: from now on it is not the first any more."""
    asked = status.asked
    if asked is None or asked.plan != FIRST:
        return status
    return structs.replace(status, asked=structs.replace(asked, plan=""))


def acknowledged(status: PlatformStatus, reason: str, now: datetime) -> PlatformStatus:
    """Without the markers that tell why a plan waits although the action is Apply."""
    for marker in (INPUT_DRIFT, REVIEW_AGAIN):
        if is_true(status, marker):
            text = "The change was taken note of"
            status = structs.replace(
                status, conditions=marked(status, marker, False, reason, text, now)
            )
    return status


def begun_anew(s: ConfigSituation, detail: str = "") -> WriteStatus:
    """To Pending because of an edit, which also takes note of whatever was marked."""
    return become(s, "Pending", detail, status=acknowledged(s.status, "Acknowledged", s.now))


def asked_at(raw: Free) -> datetime | None:
    """When action or approvedPlan was last written: policies have no clock, but the API
    server notes the time of every change beside its manager."""
    times = [
        entry["time"]
        for entry in manager_entries(raw)
        if not entry.get("subresource") and "time" in entry and _asks(entry)
    ]
    return convert(max(times), datetime) if times else None


def _asks(entry: Free) -> bool:
    fields = (entry.get("fieldsV1") or {}).get("f:spec") or {}
    return "f:action" in fields or "f:approvedPlan" in fields


def _with(s: ConfigSituation, status: PlatformStatus) -> ConfigSituation:
    return structs.replace(s, config=structs.replace(s.config, status=status))


def waiting_text(s: ConfigSituation, plan_id: str) -> str:
    """What the reviewer is to do, in a sentence."""
    spec, asked = s.config.spec, s.status.asked or Asked()
    how = f"approve it with: spec.approvedPlan: {plan_id}"
    if asked.used and spec.approved_plan == plan_id:
        return (
            f"Plan {plan_id} was approved and started once; to start it again set spec.action: "
            "DryRun, then the action again"
        )
    if spec.approved_plan and spec.approved_plan != plan_id and not asked.used:
        return f"approvedPlan {spec.approved_plan} is not this plan, {plan_id}; {how}"
    if spec.action == "Rollback":
        return f"The way back is ready for review; {how}"
    if spec.action == "Apply":
        return f"Plan {plan_id} is not the one that Apply was meant for; review it, then {how}"
    return f"Plan {plan_id} is ready for review; apply it with spec.action: Apply"
