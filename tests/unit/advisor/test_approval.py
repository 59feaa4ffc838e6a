"""An approval is of one plan, by one person, for one start; nothing else starts a plan."""

from collections.abc import Callable

import pytest

from builders.worlds.advisor import DESCHEDULER, World
from trimtab.advisor.api import LoadAwareOptions, Options
from trimtab.advisor.decide.conditions import find
from trimtab.advisor.decide.situation import Trouble
from trimtab.advisor.plan.pools import PoolHealth

MISSING = Trouble("prerequisite", "Missing in this cluster:\n  - KubeDescheduler")
OTHER = Options(load_aware=LoadAwareOptions(descheduling_interval_seconds=900))


def held() -> World:
    """Alice approves the plan she read while Bob edits the options."""
    world = World()
    read = world.run().plan_id
    world.edit("bob", options=OTHER)
    world.edit("alice", action="Apply", approved_plan=read)
    assert world.run().phase == "ReviewRequired"
    return world


def completed() -> World:
    world = World()
    world.edit("alice", action="Apply", approved_plan=world.run().plan_id)
    assert world.run().phase == "Completed"
    return world


def drifted() -> World:
    world = completed()
    world.hand("mode", "Predictive")
    assert world.run().phase == "Drifted"
    return world


def fed() -> World:
    """An input changed after all was completed."""
    world = completed()
    world.limit = 9
    assert world.run().phase == "ReviewRequired"
    return world


EDITS: dict[str, Callable[[World], None]] = {
    "clears approvedPlan": lambda w: w.edit("alice", approved_plan=""),
    "says Continue": lambda w: w.edit("carol", failure_policy="Continue"),
    "waits longer": lambda w: w.edit("carol", wait_timeout="1h"),
    "edits the options": lambda w: w.options(120),
    "bypasses the lock": lambda w: w.edit("carol", bypass_optimistic_lock=True),
}
ALWAYS = [each for each in EDITS if each != "bypasses the lock"]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("begin", [held, fed])
def test_no_edit_starts_a_plan_that_waits(begin: Callable[[], World], edit: str) -> None:
    world = begin()
    written = len(world.writes)
    EDITS[edit](world)
    assert world.run().phase == "ReviewRequired"
    assert len(world.writes) == written
    world.edit("alice", approved_plan=world.config.status.plan_id)
    assert world.run().phase == "Completed"


@pytest.mark.parametrize("edit", ALWAYS)
def test_no_edit_puts_right_what_drifted(edit: str) -> None:
    world = drifted()
    written = len(world.writes)
    EDITS[edit](world)
    assert world.run().phase == "ReviewRequired"
    assert len(world.writes) == written


def test_options_edited_after_apply_are_reviewed() -> None:
    world = completed()
    world.options(900)
    status = world.run()
    assert status.phase == "ReviewRequired"
    review = find(status, "ReviewRequired")
    assert review is not None
    assert f"spec.approvedPlan: {status.plan_id}" in review.message


def test_the_first_plan_is_applied_at_once_with_the_options_of_that_moment() -> None:
    world = World("Apply")
    world.trouble = MISSING
    world.run()
    world.trouble = None
    assert world.run().phase == "Completed"
    world = World("Apply")
    world.trouble = MISSING
    world.run()
    world.edit("bob", options=OTHER)
    world.run()
    world.trouble = None
    assert world.run().phase == "ReviewRequired", "nobody asked to apply these"


def test_a_definition_that_goes_and_comes_back_is_planned_and_reviewed() -> None:
    world = completed()
    del world.objects[DESCHEDULER]
    assert world.run().phase == "Drifted"
    world.trouble = MISSING
    assert world.run().phase == "PrerequisiteFailed"
    world.trouble, world.logic = None, "b"
    written = len(world.writes)
    assert world.run().phase == "ReviewRequired"
    assert len(world.writes) == written


def test_another_release_of_a_definition_is_reviewed_while_drifted() -> None:
    world = completed()
    del world.objects[DESCHEDULER]
    world.run()
    world.limit, world.logic = 6, "b"
    assert world.run().phase == "ReviewRequired"


def test_an_approval_starts_its_plan_once() -> None:
    world = World()
    del world.objects[DESCHEDULER]
    plan = world.run().plan_id
    world.edit("alice", action="Apply", approved_plan=plan)
    world.run()
    world.objects.clear()
    world.run()
    world.edit("carol", wait_timeout="1h")
    status = world.run()
    assert (status.phase, status.plan_id) == ("ReviewRequired", plan), "the very same plan again"
    review = find(status, "ReviewRequired")
    assert review is not None
    assert "was approved and started once" in review.message
    world.edit("alice", approved_plan="")
    world.run()
    world.edit("alice", approved_plan=plan)
    assert world.run().phase == "Completed"


def test_an_approval_that_was_used_does_not_stand_in_the_way_of_apply() -> None:
    world = drifted()
    world.edit(action="DryRun")
    world.run()
    world.edit(action="Apply")
    assert world.run().phase == "Completed"
    world.edit(action="Rollback")
    world.edit(approved_plan=world.run().plan_id)
    assert world.run().phase == "RolledBack"
    world.edit(action="DryRun")
    world.run()
    world.edit(action="Apply")
    assert world.run().phase == "Completed"


def test_apply_over_a_plan_that_is_being_made_again_is_reviewed() -> None:
    world = drifted()
    world.edit(action="DryRun")
    while world.phase != "Drafting":
        world.step()
    world.edit(action="Apply")
    assert world.run().phase == "ReviewRequired", "the new plan was not shown yet"


def test_the_record_names_who_approved_which_plan_and_when() -> None:
    world = World()
    plan = world.run().plan_id
    world.edit("alice", action="Apply", approved_plan=plan)
    world.after_apply = PoolHealth("waiting", "updating")
    world.run()
    acted = world.now
    world.later(60)
    world.edit("carol", failure_policy="Continue")
    world.pool = PoolHealth("ready", "ready")
    status = world.run()
    assert status.approval is not None
    assert (status.approval.plan_id, status.approval.by) == (plan, "alice")
    line = next(each for each in status.history if each.what == "Approved")
    assert (line.plan_id, line.by, line.at) == (plan, "alice", acted)
    assert "1 to add, 1 to change" in line.outcome


def test_a_status_of_an_older_operator_approves_nothing_by_itself() -> None:
    world = fed()
    status = world.config.status
    world.config = type(world.config)(
        world.config.metadata,
        world.config.spec,
        type(status)(**{f: getattr(status, f) for f in status.__struct_fields__ if f != "asked"}),
    )
    world.edit("carol", wait_timeout="1h")
    assert world.run().phase == "ReviewRequired"
