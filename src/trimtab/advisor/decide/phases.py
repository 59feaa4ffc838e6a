"""The next step of a VirtPlatformConfig: a pure function of what it says and what was seen.

One step at a time: the status is written, then everything is looked at again. So a process
that dies between two steps is continued by the next one, which cannot tell the difference.
Pending, Drafting and RollingBack are passed through:

    phase                what happens                                    comes to rest in
    new                  there is something to change, action DryRun     ReviewRequired
    new                  there is something to change, action Apply      Completed
    new                  a definition or a namespace is missing          PrerequisiteFailed
    new                  the plan cannot be made                         Failed
    new                  nothing is to be changed                        Completed
    new                  nothing is to be changed, its pool is rolling   InProgress
    ReviewRequired       the plan is approved                            Completed
    ReviewRequired       approved, but the cluster is not as reviewed    Failed
    ReviewRequired       approved, an item is refused, policy Abort      Failed
    ReviewRequired       approved, an item is refused, policy Continue   CompletedWithErrors
    ReviewRequired       its options are edited                          ReviewRequired
    InProgress           the pool is not done                            InProgress
    InProgress           all items are in effect                         Completed
    Completed            nothing happens                                 Completed
    Completed            other options                                   ReviewRequired
    Completed            other options, action DryRun                    ReviewRequired
    Completed            another operator that plans the same            Completed
    Completed            another operator that plans differently         CompletedWithUpgrade
    Completed            an input of the plan changes                    ReviewRequired
    Completed            the pool rolls for somebody else                InProgress
    Completed            a definition is deleted                         PrerequisiteFailed
    Completed            somebody changes a managed field                Drifted
    Completed            the same with bypassOptimisticLock: re-applied  Completed
    Drifted              the field is put back by hand                   Completed
    Drifted              action DryRun: planned again                    ReviewRequired
    PrerequisiteFailed   what was missing arrives                        ReviewRequired
    PrerequisiteFailed   an edit, and it is still missing                PrerequisiteFailed
    Failed               the cause is gone, nobody edits                 Failed
    Failed               the cause is gone, action Apply                 Completed
    Completed            action Ignore                                   Ignored
    Ignored              action DryRun, nothing is to be changed         Completed
    Completed            action Rollback                                 ReviewRequired
    ReviewRequired       the way back is approved                        RolledBack
    RolledBack           action DryRun: begun again                      ReviewRequired

`decide/` has a module for each row's reason: `approval`, `execution`, `completed`, `drift`,
`edit_war`, `inputs`, `recovery`. The tests read this table.
"""

from msgspec import structs

from trimtab.advisor.api import Approval, Item, Phase, PlatformStatus
from trimtab.advisor.decide.approval import (
    acknowledged,
    begun_anew,
    granted,
    is_approved,
    noted,
    shown,
    waiting_text,
)
from trimtab.advisor.decide.completed import completed, drifted, upgradable
from trimtab.advisor.decide.conditions import REVIEW_AGAIN, TEXTS
from trimtab.advisor.decide.edit_war import resumed
from trimtab.advisor.decide.execution import execute
from trimtab.advisor.decide.history import recorded
from trimtab.advisor.decide.inputs import input_drift, inputs_changed
from trimtab.advisor.decide.recovery import recovered
from trimtab.advisor.decide.situation import (
    ConfigSituation,
    Step,
    StoreRecord,
    Trouble,
    WaitForChange,
    Want,
    WriteStatus,
)
from trimtab.advisor.decide.transition import become, mark, moved, stay
from trimtab.advisor.plan import durations
from trimtab.advisor.plan.fields import is_ours, left_behind
from trimtab.advisor.plan.plan import PlatformPlan, changes_nothing, worst
from trimtab.advisor.plan.profile import Draft
from trimtab.advisor.plan.rollback import RollbackRecord, forgotten, is_taken_back
from trimtab.advisor.plan.summary import summarise

PREREQUISITES_S = 120.0
REVIEW_S = 300.0

_WANTS: dict[str, tuple[Want, ...]] = {
    "Drafting": ("plan",),
    "ReviewRequired": ("draft",),
    "PrerequisiteFailed": ("draft",),
    "InProgress": ("draft", "live"),
    "RollingBack": ("live",),
    "Completed": ("draft", "live"),
    "CompletedWithErrors": ("draft", "live"),
    "CompletedWithUpgrade": ("draft",),
    "Drifted": ("draft", "live"),
    "Failed": ("live",),
}


def wants(s: ConfigSituation) -> tuple[Want, ...]:
    """What must be read before `next_step` can decide."""
    if s.config.spec.action == "Ignore":
        return () if s.status.phase == "Ignored" else ("recorded",)
    if _turned(s):
        return ()
    wanted = _WANTS.get(s.status.phase, ())
    return tuple(w for w in wanted if not (s.status.reverse and w == "draft"))


def next_step(s: ConfigSituation) -> Step:
    now = noted(s)
    step = _next_step(now)
    if isinstance(step, WaitForChange) and now.status != s.status:
        return WriteStatus(now.status)
    return step


def _next_step(s: ConfigSituation) -> Step:
    if s.config.spec.action == "Ignore":
        return _ignore(s)
    if (problem := durations.problem(s.config.spec.wait_timeout)) is not None:
        return (
            become(s, "Failed", f"spec.waitTimeout: {problem}") if _is_news(s) else WaitForChange()
        )
    if s.status.phase == "Ignored" or _turned(s):
        return begun_anew(s)
    match s.status.phase:
        case "Drafting":
            return _draft(s)
        case "PrerequisiteFailed":
            return _prerequisites(s)
        case "ReviewRequired":
            return _review(s)
        case "InProgress" | "RollingBack":
            return execute(s)
        case "Completed" | "CompletedWithErrors":
            return completed(s)
        case "CompletedWithUpgrade":
            return upgradable(s)
        case "Drifted":
            return drifted(s)
        case "Failed":
            return begun_anew(s) if s.edited else recovered(s)
        case "RolledBack":
            return begun_anew(s) if s.edited else WaitForChange()
        case _:
            reverse = s.config.spec.action == "Rollback"
            return become(s, "Drafting", status=resumed(s), reverse=reverse)


def _ignore(s: ConfigSituation) -> Step:
    severity = worst(s.status.items, s.impact)
    if s.status.phase == "Ignored" and s.status.impact_severity == severity:
        return WaitForChange()
    return become(s, "Ignored", _ignored_text(s), impact_severity=severity)


def _ignored_text(s: ConfigSituation) -> str:
    """Also after the object was deleted and made anew: what is still there of an earlier plan."""
    priors = s.seen.record.priors
    ours = ", ".join(str(prior.ref) for prior in priors if is_ours(s.seen.live.get(prior.ref)))
    if not ours:
        return ""
    halfway = not all(prior.applied for prior in priors)
    what = "A plan was stopped halfway and left" if halfway else "An earlier plan left"
    return f"{TEXTS['Ignored']}. {what} its mark on {ours}; action: Rollback takes it back"


def _is_news(s: ConfigSituation) -> bool:
    return s.edited or s.status.phase != "Failed"


def _turned(s: ConfigSituation) -> bool:
    """Whether the plan goes forward and the action back, or the other way round."""
    if s.status.phase in ("", "Pending", "Ignored"):
        return False
    return s.status.reverse != (s.config.spec.action == "Rollback")


def _draft(s: ConfigSituation) -> Step:
    plan = s.seen.plan
    if isinstance(plan, Trouble):
        return _troubled(s, plan)
    assert plan is not None
    fresh = _planned(s, plan)
    if changes_nothing(plan.items) and _is_clean(s, plan):
        return _nothing_to_do(s, plan, fresh)
    if is_approved(s, plan.plan_id):
        return start(s, fresh)
    text = waiting_text(s, plan.plan_id)
    return become(s, "ReviewRequired", text, status=shown(fresh))


def _is_clean(s: ConfigSituation, plan: PlatformPlan) -> bool:
    """Whether nothing of ours is left on what leaves the plan, ownership included."""
    return all(
        not left_behind(item.desired_state, s.seen.live.get(item.target_ref))
        if item.verb == "apply"
        else is_taken_back(item, s.seen.record, s.seen.live.get(item.target_ref))
        for item in plan.items
    )


def _planned(s: ConfigSituation, plan: PlatformPlan) -> PlatformStatus:
    return structs.replace(
        s.status,
        items=plan.items,
        impact_severity=worst(plan.items, s.impact),
        source_snapshot_hash=plan.snapshot,
        operator_version=s.version,
        applied_options=s.config.spec.options,
        applied_ignore=s.config.spec.ignore,
        applied_accepted=s.config.spec.accepted,
        looked_at=s.now,
        plan_id=plan.plan_id,
        inputs=plan.inputs,
        warnings=plan.warnings,
    )


def _troubled(s: ConfigSituation, trouble: Trouble) -> Step:
    if trouble.kind == "generation":
        return become(s, "Failed", trouble.message)
    return become(s, "PrerequisiteFailed", trouble.message)


def _nothing_to_do(s: ConfigSituation, plan: PlatformPlan, fresh: PlatformStatus) -> Step:
    """Already as wished: completed, or waiting for what was applied before to take effect."""
    over = [item.target_ref for item in plan.items if item.verb != "apply"]
    rest = RollbackRecord() if s.status.reverse else forgotten(s.seen.record, over)
    if rest != s.seen.record:
        return StoreRecord(rest)
    done = tuple(_found(s, item) for item in plan.items if item.verb == "apply")
    met = granted(s, fresh) if is_approved(s, plan.plan_id) else shown(fresh)
    after = acknowledged(structs.replace(met, items=done), "DriftResolved", s.now)
    if s.status.reverse:
        return become(s, "RolledBack", "There is nothing to take back", status=after)
    if any(item.state == "InProgress" for item in done):
        return become(s, "InProgress", "Nothing to change; waiting for its effect", status=after)
    return become(s, "Completed", status=after)


def _found(s: ConfigSituation, item: Item) -> Item:
    """An item that needs no write: it is in effect, or on its way."""
    health = s.seen.health.get(item.name)
    if health is None or health.state == "ready":
        return moved(s, item, "Completed", "already in desired state", applied=True)
    return moved(s, item, "InProgress", health.message, applied=True)


def start(s: ConfigSituation, status: PlatformStatus) -> WriteStatus:
    """Approved: from here on items are carried out."""
    phase: Phase = "RollingBack" if status.reverse else "InProgress"
    after = granted(s, status)
    given = after.approval or Approval()
    line = recorded(after, "Approved", given.at or s.now, given.by, str(summarise(after.items)))
    return become(s, phase, f"Plan {status.plan_id}", status=structs.replace(after, history=line))


def _prerequisites(s: ConfigSituation) -> Step:
    if s.edited:
        return begun_anew(s)
    draft = s.seen.draft
    if not isinstance(draft, Trouble) or draft.kind == "generation":
        return become(s, "Pending")
    return stay(s, draft.message) or WaitForChange(PREREQUISITES_S)


def _review(s: ConfigSituation) -> Step:
    status = s.status
    if not status.reverse and s.asked_otherwise:
        if s.config.spec.action == "Apply":
            text = "The options were edited during the review"
            status = mark(s, status, REVIEW_AGAIN, True, "OptionsChanged", text)
        return become(s, "Drafting", status=status)
    draft = s.seen.draft
    if isinstance(draft, Trouble):
        return _troubled(s, draft)
    if isinstance(draft, Draft) and inputs_changed(s, draft):
        return input_drift(s, draft)
    if is_approved(s, status.plan_id):
        return start(s, status)
    return stay(s, waiting_text(s, status.plan_id)) or WaitForChange(REVIEW_S)
