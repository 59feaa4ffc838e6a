"""The phases after a plan was carried out: Completed (with errors, with upgrade) and Drifted.

Has something changed since, and whose doing is it?
"""

from msgspec import structs

from trimtab.advisor.api import PlatformStatus
from trimtab.advisor.decide.approval import begun_anew
from trimtab.advisor.decide.conditions import UPGRADE, is_true
from trimtab.advisor.decide.drift import drifting, is_drifted, reported
from trimtab.advisor.decide.edit_war import remedy, resumed
from trimtab.advisor.decide.inputs import input_drift, inputs_changed
from trimtab.advisor.decide.recovery import recovered
from trimtab.advisor.decide.situation import (
    CHECK_S,
    ConfigSituation,
    Step,
    Trouble,
    WaitForChange,
    WriteStatus,
)
from trimtab.advisor.decide.transition import become, mark, moved, stay
from trimtab.advisor.plan.fields import snapshot_hash
from trimtab.advisor.plan.plan import differs, stored
from trimtab.advisor.plan.profile import Draft


def completed(s: ConfigSituation) -> Step:
    """Completed, with or without errors; the order of the questions is part of the contract."""
    draft = s.seen.draft
    if s.asked_otherwise:
        return become(s, "Drafting", "The options changed")
    if s.edited and (s.status.phase == "CompletedWithErrors" or s.config.spec.action == "DryRun"):
        return begun_anew(s)
    if isinstance(draft, Trouble) and draft.kind == "prerequisite":
        return become(s, "PrerequisiteFailed", draft.message)
    if isinstance(draft, Draft):
        step = _upgraded(s, draft) or _fed(s, draft)
        if step is not None:
            return step
    if s.status.phase == "CompletedWithErrors":
        return recovered(s)
    return drifting(s) or _unsettled(s) or _quiet(s)


def _upgraded(s: ConfigSituation, draft: Draft) -> WriteStatus | None:
    """Another version of the operator: would it plan the same?"""
    if s.status.operator_version == s.version:
        if not is_true(s.status, UPGRADE):
            return None
        return WriteStatus(mark(s, s.status, UPGRADE, False, "Applied", "Applied by this version"))
    if differs(s.status.items, draft.desired_objects):
        text = f"Version {s.version} plans differently; set action: DryRun to see how"
        status = mark(s, s.status, UPGRADE, True, "LogicChanged", text)
        return become(s, "CompletedWithUpgrade", text, status=status)
    return WriteStatus(_aligned(s, "NoLogicChange"))


def _aligned(s: ConfigSituation, reason: str) -> PlatformStatus:
    status = structs.replace(s.status, operator_version=s.version)
    return mark(s, status, UPGRADE, False, reason, f"Version {s.version} plans the same")


def _fed(s: ConfigSituation, draft: Draft) -> WriteStatus | None:
    """Inputs from outside: a change that plans the same is only noted."""
    if stored(draft.inputs) == s.status.inputs:
        return None
    if inputs_changed(s, draft):
        return input_drift(s, draft)
    return WriteStatus(structs.replace(s.status, inputs=stored(draft.inputs)))


def _unsettled(s: ConfigSituation) -> WriteStatus | None:
    """A pool that rolls again, perhaps for another's sake: wait for it as for our own change."""
    items = tuple(
        moved(s, item, "InProgress", health.message, applied=True)
        if item.state == "Completed"
        and (health := s.seen.health.get(item.name)) is not None
        and health.state in ("waiting", "blocked")
        else item
        for item in s.status.items
    )
    if items == s.status.items:
        return None
    return become(s, "InProgress", "Waiting until it is in effect again", items=items)


def _quiet(s: ConfigSituation) -> Step:
    if not s.status.source_snapshot_hash:
        baseline = snapshot_hash(s.status.items, s.seen.live)
        return WriteStatus(structs.replace(s.status, source_snapshot_hash=baseline))
    return (stay(s) if s.edited else None) or WaitForChange(CHECK_S)


def upgradable(s: ConfigSituation) -> Step:
    """CompletedWithUpgrade: until the user asks for a plan, or there is nothing to plan."""
    if s.edited:
        return begun_anew(s)
    draft = s.seen.draft
    if isinstance(draft, Draft) and not differs(s.status.items, draft.desired_objects):
        return become(s, "Completed", status=_aligned(s, "ManuallyAligned"))
    return WaitForChange(CHECK_S)


def drifted(s: ConfigSituation) -> Step:
    heals = _heals(s)
    if s.asked_otherwise or (s.edited and not heals):
        return begun_anew(s)
    if (lacking := _lacking(s)) is not None:
        return lacking
    if s.edited:
        return stay(s, status=resumed(s)) or WaitForChange(CHECK_S)
    if not is_drifted(s):
        calm = structs.replace(s, config=structs.replace(s.config, status=resumed(s)))
        return become(s, "Completed", status=reported(calm, back=True))
    again = drifting(s)
    if again is not None:
        return again
    return remedy(s) if heals else WaitForChange(CHECK_S)


def _heals(s: ConfigSituation) -> bool:
    """Whether the plan that was approved is applied again without asking."""
    spec, approval = s.config.spec, s.status.approval
    approved = approval is not None and approval.plan_id == s.status.plan_id
    return approved and spec.action == "Apply" and spec.bypass_optimistic_lock


def _lacking(s: ConfigSituation) -> WriteStatus | None:
    """What the profile needs is gone, or other inputs would give another plan."""
    draft = s.seen.draft
    if isinstance(draft, Trouble) and draft.kind == "prerequisite":
        return become(s, "PrerequisiteFailed", draft.message)
    if isinstance(draft, Draft) and inputs_changed(s, draft):
        return input_drift(s, draft)
    return None
