"""Every row of the table of transitions, each reached as a user would reach it."""

import re
from collections.abc import Callable

import pytest
from msgspec import structs

from builders.worlds.advisor import DESCHEDULER, LIVE, MACHINE, World
from trimtab.advisor.api import LoadAwareOptions, Options, Taking
from trimtab.advisor.decide import phases
from trimtab.advisor.decide.conditions import INPUT_DRIFT, REVIEW_AGAIN, UPGRADE, find, is_true
from trimtab.advisor.decide.situation import Trouble, WaitForChange
from trimtab.advisor.plan.pools import PoolHealth

MISSING = Trouble("prerequisite", "Missing in this cluster:\n  - KubeDescheduler")
BROKEN = Trouble("generation", "apply refused: spec.mode")
WAITING = PoolHealth("waiting", "MachineConfigPool 'worker' is updating (Updated: 1/3, Ready: 1/3)")
READY = PoolHealth("ready", "ready")


def planned(**spec: object) -> World:
    world = World(**spec)  # type: ignore[arg-type]
    world.run()
    return world


def completed(**spec: object) -> World:
    world = planned(**spec)
    world.edit(action="Apply")
    world.run()
    assert world.phase == "Completed"
    return world


def drifted(**spec: object) -> World:
    world = completed(**spec)
    world.hand("mode", "Predictive")
    return world


def test_a_new_object_is_drafted_at_once() -> None:
    world = World()
    world.step()
    assert world.phase == "Drafting"


def nothing(_: World) -> None:
    """The row is about where it begins."""


def wait_for_pool(world: World) -> None:
    world.pool = WAITING


def in_desired_state() -> World:
    world = completed()
    fresh = World(action="DryRun")
    fresh.objects = world.objects
    return fresh


def unhealthy_in_desired_state() -> World:
    world = in_desired_state()
    world.pool = WAITING
    return world


def with_trouble(trouble: Trouble) -> Callable[[], World]:
    def make() -> World:
        world = World()
        world.trouble = trouble
        return world

    return make


def lose_definition(world: World) -> None:
    world.trouble = MISSING


def stale(world: World) -> None:
    world.hand("mode", "Manual")
    world.edit(action="Apply")


def refuse(world: World) -> None:
    world.refused = "422: spec.mode: no"
    world.edit(action="Apply")


def raise_limit(world: World) -> None:
    world.limit = 9


def approve(world: World) -> None:
    world.edit(action="Apply")


def upgrade(world: World) -> None:
    world.version = "2"


def upgrade_logic(world: World) -> None:
    world.version, world.logic = "2", "b"


def in_trouble(trouble: Trouble) -> World:
    world = with_trouble(trouble)()
    world.run()
    return world


def ignored() -> World:
    world = completed()
    world.edit(action="Ignore")
    world.run()
    return world


def seen_drifted() -> World:
    world = drifted()
    world.run()
    return world


def cured(world: World) -> None:
    world.trouble = None


def cured_and_edited(world: World) -> None:
    cured(world)
    world.edit(action="Apply")


def continuing() -> World:
    return planned(failure_policy="Continue")


def preview_other_options(world: World) -> None:
    world.options(900)
    world.edit(action="DryRun")


def going_back() -> World:
    world = completed()
    world.edit(action="Rollback")
    world.run()
    return world


def rolled_back() -> World:
    world = going_back()
    world.edit(approved_plan=world.config.status.plan_id)
    assert world.run().phase == "RolledBack"
    return world


def half_applied() -> World:
    """Approved, and the pool takes its time."""
    world = planned()
    world.after_apply = WAITING
    world.edit(action="Apply")
    assert world.run().phase == "InProgress"
    return world


def pool_is_ready(world: World) -> None:
    world.pool = world.after_apply = READY


HOW: dict[str, tuple[Callable[[], World], Callable[[World], object]]] = {
    "there is something to change, action DryRun": (World, nothing),
    "there is something to change, action Apply": (lambda: World("Apply"), nothing),
    "a definition or a namespace is missing": (with_trouble(MISSING), nothing),
    "the plan cannot be made": (with_trouble(BROKEN), nothing),
    "nothing is to be changed": (in_desired_state, nothing),
    "nothing is to be changed, its pool is rolling": (unhealthy_in_desired_state, nothing),
    "the plan is approved": (planned, approve),
    "approved, but the cluster is not as reviewed": (planned, stale),
    "approved, an item is refused, policy Abort": (planned, refuse),
    "approved, an item is refused, policy Continue": (continuing, refuse),
    "its options are edited": (planned, lambda w: w.options(900)),
    "the pool is not done": (half_applied, nothing),
    "all items are in effect": (half_applied, pool_is_ready),
    "nothing happens": (completed, nothing),
    "other options": (completed, lambda w: w.options(900)),
    "other options, action DryRun": (completed, preview_other_options),
    "another operator that plans the same": (completed, upgrade),
    "another operator that plans differently": (completed, upgrade_logic),
    "an input of the plan changes": (completed, raise_limit),
    "the pool rolls for somebody else": (completed, wait_for_pool),
    "a definition is deleted": (completed, lose_definition),
    "somebody changes a managed field": (completed, lambda w: w.hand("mode", "Predictive")),
    "the same with bypassOptimisticLock: re-applied": (
        lambda: completed(bypass_optimistic_lock=True),
        lambda w: w.hand("mode", "Predictive"),
    ),
    "the field is put back by hand": (seen_drifted, lambda w: w.hand("mode", "Automatic")),
    "action DryRun: planned again": (seen_drifted, lambda w: w.edit(action="DryRun")),
    "what was missing arrives": (lambda: in_trouble(MISSING), cured),
    "an edit, and it is still missing": (
        lambda: in_trouble(MISSING),
        lambda w: w.edit(action="Apply"),
    ),
    "the cause is gone, nobody edits": (lambda: in_trouble(BROKEN), cured),
    "the cause is gone, action Apply": (lambda: in_trouble(BROKEN), cured_and_edited),
    "action Ignore": (completed, lambda w: w.edit(action="Ignore")),
    "action DryRun, nothing is to be changed": (ignored, lambda w: w.edit(action="DryRun")),
    "action Rollback": (completed, lambda w: w.edit(action="Rollback")),
    "the way back is approved": (
        going_back,
        lambda w: w.edit(approved_plan=w.config.status.plan_id),
    ),
    "action DryRun: begun again": (rolled_back, lambda w: w.edit(action="DryRun")),
}
"""How each row of the table is reached."""
_ROW = re.compile(r"^    (\S+) {2,}(\S.*?) {2,}(\S+)$", re.MULTILINE)
TABLE = [row for row in _ROW.findall(phases.__doc__ or "") if row[0] != "phase"]
"""The table in the module's own words: phase, what happens, next phase that rests."""


def test_every_row_of_the_table_has_a_way_and_every_way_a_row() -> None:
    assert sorted(happens for _, happens, _ in TABLE) == sorted(HOW)


@pytest.mark.parametrize(("before", "happens", "after"), TABLE)
def test_transitions(before: str, happens: str, after: str) -> None:
    begin, act = HOW[happens]
    world = begin()
    assert (world.phase or "new") == before
    act(world)
    assert world.run().phase == after


@pytest.mark.parametrize("happens", HOW)
def test_nothing_is_written_twice_where_it_rests(happens: str) -> None:
    begin, act = HOW[happens]
    world = begin()
    act(world)
    world.run()
    before = world.statuses, len(world.writes)
    assert isinstance(world.step(), WaitForChange)
    assert (world.statuses, len(world.writes)) == before


def test_ignored_keeps_items_and_looks_at_nothing() -> None:
    world = completed()
    items = world.config.status.items
    world.edit(action="Ignore")
    world.run()
    world.hand("mode", "Manual")
    world.trouble = MISSING
    world.run()
    ignored = find(world.config.status, "Ignored")
    assert ignored is not None
    assert (ignored.status, ignored.reason) == ("True", "Ignored")
    assert "stay as they are" in ignored.message
    assert world.config.status.items == items
    assert world.config.status.observed_generation == world.config.metadata.generation


def test_round_trips_between_actions_end_where_they_should() -> None:
    world = planned()
    for _ in range(5):
        world.edit(action="Ignore")
        assert world.run().phase == "Ignored"
        world.edit(action="DryRun")
        assert world.run().phase == "ReviewRequired"
    world.edit(action="Apply")
    assert world.run().phase == "Completed"


def test_a_stale_plan_applies_nothing_and_says_so() -> None:
    world = planned()
    world.hand("mode", "Manual")
    world.edit(action="Apply")
    status = world.run()
    failed = find(status, "Failed")
    assert failed is not None
    assert "stale" in failed.message
    assert {item.state for item in status.items} == {"Pending"}
    assert world.writes == []


def test_bypass_applies_a_stale_plan() -> None:
    world = planned(bypass_optimistic_lock=True)
    world.hand("mode", "Manual")
    world.edit(action="Apply")
    assert world.run().phase == "Completed"


def test_a_changed_input_is_reviewed_although_the_action_is_apply() -> None:
    world = completed()
    world.limit = 9
    status = world.run()
    marker = find(status, INPUT_DRIFT)
    assert status.phase == "ReviewRequired"
    assert marker is not None
    assert (marker.status, marker.reason) == ("True", "InputChanged")
    assert "limit (5 → 9)" in marker.message
    assert world.run().phase == "ReviewRequired"
    world.edit(wait_timeout="1h")
    assert world.run().phase == "ReviewRequired", "no approval, whoever edits what"
    world.edit(action="DryRun")
    world.run()
    world.edit(action="Apply")
    status = world.run()
    assert status.phase == "Completed"
    assert not is_true(status, INPUT_DRIFT)


def test_an_input_that_returns_resolves_the_review() -> None:
    world = completed()
    world.limit = 9
    world.run()
    world.limit = 5
    status = world.run()
    assert status.phase == "Completed"
    marker = find(status, INPUT_DRIFT)
    assert marker is not None
    assert (marker.status, marker.reason) == ("False", "DriftResolved")


def test_a_hand_on_a_field_that_an_input_shapes_is_drift_and_not_input_drift() -> None:
    world = completed()
    world.hand("limit", 7)
    status = world.run()
    assert status.phase == "Drifted"
    assert not is_true(status, INPUT_DRIFT)


def test_options_edited_during_a_review_are_planned_and_reviewed_again() -> None:
    world = planned()
    first = world.config.status.plan_id
    world.options(900)
    world.edit(action="Apply")
    status = world.run()
    assert status.phase == "ReviewRequired"
    assert status.plan_id != first
    assert is_true(status, REVIEW_AGAIN)
    assert world.writes == []
    world.edit(approved_plan=status.plan_id)
    assert world.run().phase == "Completed"
    assert world.objects[DESCHEDULER]["spec"]["interval"] == 900


def test_an_approval_counts_for_one_plan_only() -> None:
    world = planned()
    world.edit(approved_plan="000000000000", action="Apply")
    status = world.run()
    assert status.phase == "ReviewRequired"
    review = find(status, "ReviewRequired")
    assert review is not None
    assert "is not this plan" in review.message
    assert world.writes == []
    world.edit(approved_plan=status.plan_id)
    assert world.run().phase == "Completed"


def test_dry_run_stops_a_plan_that_is_being_applied() -> None:
    world = planned()
    world.after_apply = WAITING
    world.edit(action="Apply")
    assert world.run().phase == "InProgress"
    world.edit(action="DryRun")
    assert world.run().phase == "ReviewRequired"
    assert world.writes == [MACHINE], "the descheduler was not touched"


def test_an_item_waits_until_the_one_before_is_in_effect() -> None:
    world = planned()
    world.after_apply = WAITING
    world.edit(action="Apply")
    status = world.run()
    assert [item.state for item in status.items] == ["InProgress", "Pending"]
    assert "Updated: 1/3" in status.items[0].message
    world.later(60)
    world.run()
    assert world.writes == [MACHINE], "neither applied again nor gone on"
    world.pool = READY
    assert world.run().phase == "Completed"
    assert world.writes == [MACHINE, DESCHEDULER]


@pytest.mark.parametrize(
    ("policy", "phase"), [("Abort", "Failed"), ("Continue", "CompletedWithErrors")]
)
def test_a_timeout_fires_and_ends_the_plan_by_its_policy(policy: str, phase: str) -> None:
    world = planned(wait_timeout="1m30s", failure_policy=policy)
    world.after_apply = WAITING
    world.edit(action="Apply")
    world.run()
    world.later(89)
    assert world.run().phase == "InProgress"
    world.later(1)
    status = world.run()
    assert status.phase == phase
    assert "not in effect within 1m30s" in status.items[0].message
    assert world.writes == [MACHINE], "what depends on it is not started"
    world.pool = READY
    assert world.run().phase == phase, "and it stays that way"


def test_a_degraded_pool_is_a_failure_and_not_a_wait() -> None:
    world = planned()
    world.after_apply = PoolHealth("failed", "MachineConfigPool 'worker' is degraded")
    world.edit(action="Apply")
    assert world.run().phase == "Failed"
    assert [item.state for item in world.config.status.items] == ["Failed", "Pending"]


def test_a_refused_item_is_failed_and_the_ones_before_are_completed() -> None:
    world = planned()
    world.after_apply = WAITING
    world.edit(action="Apply")
    world.run()
    world.pool, world.refused = READY, "422: spec.mode: no"
    status = world.run()
    assert [item.state for item in status.items] == ["Completed", "Failed"]
    assert "422" in status.items[1].message
    assert world.writes == [MACHINE]


def test_a_repaired_field_clears_the_drift() -> None:
    world = drifted()
    status = world.run()
    assert [item.drifted for item in status.items] == [False, True]
    assert "spec.mode changed by kubectl-edit" in status.items[1].message
    world.hand("mode", "Automatic")
    status = world.run()
    assert status.phase == "Completed"
    assert not any(item.drifted for item in status.items)


def test_completed_with_errors_is_not_completed_and_an_edit_plans_again() -> None:
    world = planned(failure_policy="Continue")
    refuse(world)
    status = world.run()
    assert is_true(status, "CompletedWithErrors")
    assert not is_true(status, "Completed")
    world.later(600)
    assert world.run() == status
    world.refused = ""
    world.edit(wait_timeout="1h")
    status = world.run()
    assert status.phase == "ReviewRequired"
    world.edit(approved_plan=status.plan_id)
    assert world.run().phase == "Completed"
    assert not is_true(world.config.status, "CompletedWithErrors")


def test_an_upgrade_is_told_reviewed_and_applied() -> None:
    world = completed()
    upgrade_logic(world)
    status = world.run()
    assert is_true(status, UPGRADE)
    assert world.objects[DESCHEDULER]["spec"]["logic"] == "a", "never by itself"
    world.edit(action="DryRun")
    assert world.run().phase == "ReviewRequired"
    world.edit(action="Apply")
    status = world.run()
    assert status.phase == "Completed"
    assert not is_true(status, UPGRADE)
    assert status.operator_version == "2"


def test_a_version_that_only_sees_what_we_created_is_no_upgrade() -> None:
    world = World()
    del world.objects[DESCHEDULER]
    world.run()
    assert world.config.status.items[1].impact_severity == "Medium"
    world.edit(action="Apply")
    world.run()
    world.version = "2"
    assert world.run().phase == "Completed"
    assert world.config.status.operator_version == "2"


def test_a_definition_that_can_do_more_is_planned_with_again() -> None:
    world = completed()
    world.limit, world.logic = 6, "c"
    assert world.run().phase == "ReviewRequired"


def test_what_leaves_the_plan_is_an_item_of_its_own() -> None:
    world = completed()
    world.edit(action="DryRun")
    world.options(60, psi=False)
    status = world.run()
    going = status.items[-1]
    assert (going.name, going.verb, going.impact_severity) == ("delete-machine", "delete", "High")
    world.edit(action="Apply")
    status = world.run()
    assert status.phase == "Completed"
    assert MACHINE not in world.objects
    assert [item.name for item in status.items] == ["descheduler"]
    assert [prior.ref for prior in world.record.priors] == [DESCHEDULER]


def test_owners_that_the_reviewer_did_not_see_send_the_plan_back() -> None:
    world = planned()
    world.rivals = (Taking(field="spec.mode", manager="argocd"),)
    world.edit(action="Apply")
    status = world.run()
    assert status.phase == "ReviewRequired"
    assert is_true(status, REVIEW_AGAIN)
    assert DESCHEDULER not in world.writes
    assert Taking(field="spec.mode", manager="argocd") in status.items[1].takes
    world.edit(approved_plan=status.plan_id)
    assert world.run().phase == "Completed"


def test_a_rollback_is_reviewed_then_restores_values_and_owners() -> None:
    world = completed()
    world.edit(action="Rollback")
    status = world.run()
    assert [(item.verb, item.target_ref) for item in status.items] == [
        ("restore", DESCHEDULER),
        ("delete", MACHINE),
    ]
    assert world.run().phase == "ReviewRequired", "asking for it is not approving it"
    world.edit(approved_plan=status.plan_id)
    assert world.run().phase == "RolledBack"
    assert world.objects == {DESCHEDULER: LIVE}
    assert world.record.priors == ()
    assert world.run().phase == "RolledBack"


def test_a_rollback_of_nothing_ends_at_once() -> None:
    world = World("Rollback")
    assert world.run().phase == "RolledBack"


def test_after_a_rollback_the_plan_can_be_made_again() -> None:
    world = completed()
    world.edit(action="Rollback")
    world.edit(approved_plan=world.run().plan_id)
    world.run()
    world.edit(action="DryRun", approved_plan="")
    assert world.run().phase == "ReviewRequired"
    world.edit(action="Apply")
    assert world.run().phase == "Completed"


def test_giving_up_a_rollback_plans_forward_again() -> None:
    world = completed()
    world.edit(action="Rollback")
    world.run()
    world.edit(action="Apply")
    assert world.run().phase == "Completed"
    assert world.writes == [MACHINE, DESCHEDULER]


def test_an_unreadable_duration_fails_its_object_alone() -> None:
    world = planned(wait_timeout="soon")
    assert world.phase == "Failed"
    assert world.statuses < 5


def test_any_edit_takes_note_of_a_changed_input() -> None:
    world = completed()
    world.limit = 9
    world.run()
    world.edit(action="Ignore")
    world.run()
    world.edit(action="Apply")
    status = world.run()
    assert status.phase == "Completed"
    assert not is_true(status, INPUT_DRIFT)


@pytest.mark.parametrize("skip", ["an item was begun", "no hash was stored"])
def test_the_lock_is_asked_once_and_only_if_there_is_one(skip: str) -> None:
    world = planned()
    world.after_apply = WAITING
    world.edit(action="Apply")
    world.run()
    assert world.phase == "InProgress"
    status = world.config.status
    if skip == "no hash was stored":
        items = tuple(structs.replace(item, state="Pending") for item in status.items)
        status = structs.replace(status, items=items, source_snapshot_hash="")
        world.config = structs.replace(world.config, status=status)
    world.hand("mode", "Manual")
    assert world.run().phase in ("InProgress", "ReviewRequired")


CHANGES: list[dict[str, object]] = [
    {"descheduling_interval_seconds": 900},
    {"mode": "Predictive"},
    {"enable_psi_metrics": False},
    {"dev_deviation_thresholds": "High"},
    {"eviction_limit_total": 3},
    {"eviction_limit_node": 1},
    {"target": "upstream"},
    {"algorithm": "mean"},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_every_option_that_changes_is_planned_anew(change: dict[str, object]) -> None:
    same = Options(load_aware=LoadAwareOptions())
    world = completed(options=same)
    drafts = sum(line.what == "Completed" for line in world.config.status.history)
    world.edit(options=Options(load_aware=LoadAwareOptions()))
    world.run()
    again = sum(line.what == "Completed" for line in world.config.status.history)
    assert again == drafts, "equal options are no change"
    world.edit(options=Options(load_aware=LoadAwareOptions(**change)))  # type: ignore[arg-type]
    world.step()
    assert world.phase == "Drafting"
    world.run()
    world.edit(options=None)
    world.step()
    assert world.phase == "Drafting", "none at all is different from some"
