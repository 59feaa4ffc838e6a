"""Another look because somebody asks: the same plan as of now, or on to another one."""

from datetime import UTC, datetime

from msgspec import structs

from trimtab.advisor.api import Item, Phase, PlatformStatus, VirtPlatformConfig
from trimtab.advisor.decide.refresh_request import LOOK_AGAIN, answered, is_asked, needs_plan
from trimtab.advisor.decide.situation import ConfigSituation, SeenForDecision
from trimtab.advisor.plan.plan import PlatformPlan
from trimtab.kube.resources import ObjectMeta

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def situation(phase: Phase, asked: str, plan_id: str = "a") -> ConfigSituation:
    meta = ObjectMeta(name="x", annotations={LOOK_AGAIN: asked} if asked else {})
    status = PlatformStatus(phase=phase, plan_id="a", looked_for="old")
    seen = SeenForDecision(plan=PlatformPlan((), "", plan_id))
    return ConfigSituation(VirtPlatformConfig(metadata=meta, status=status), NOW, "1", seen=seen)


def test_only_another_request_is_one() -> None:
    assert is_asked(situation("Completed", "new"))
    assert not is_asked(situation("Completed", "old"))
    assert not is_asked(situation("Completed", ""))


def test_the_same_plan_is_as_of_now() -> None:
    for phase in ("ReviewRequired", "Completed", "PrerequisiteFailed"):
        s = situation(phase, "new")
        after = answered(s).status
        assert after == structs.replace(s.status, looked_for="new", looked_at=NOW)


def test_another_plan_is_drafted_and_approves_nothing() -> None:
    s = situation("ReviewRequired", "new", plan_id="b")
    assert needs_plan(s)
    after = answered(s).status
    assert (after.phase, after.plan_id, after.approval) == ("Drafting", "a", None)
    assert not is_asked(structs.replace(s, config=structs.replace(s.config, status=after)))


def test_the_same_plan_tells_what_it_warns_of_now() -> None:
    s = situation("ReviewRequired", "new")
    item = Item(name="psi", warnings=("MachineConfigPool 'worker' is paused",))
    plan = PlatformPlan((item,), "", "a", warnings=("two people write",))
    after = answered(structs.replace(s, seen=SeenForDecision(plan=plan))).status
    assert (after.phase, after.items, after.warnings) == (
        "ReviewRequired",
        (item,),
        ("two people write",),
    )
