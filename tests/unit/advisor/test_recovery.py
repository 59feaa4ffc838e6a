"""After a failure: a pool that is well again, hands on what was applied, a new object."""

from typing import Any

import pytest

from builders.worlds.advisor import DESCHEDULER, MACHINE, World
from trimtab.advisor.api import Taking
from trimtab.advisor.decide.conditions import REVIEW_AGAIN, find, is_true
from trimtab.advisor.plan.pools import PoolHealth

READY, WAITING = PoolHealth("ready", "ready"), PoolHealth("waiting", "updating (Updated: 1/3)")
DEGRADED = PoolHealth("failed", "MachineConfigPool 'worker' is degraded (1 machines)")
ENDS = {"Abort": "Failed", "Continue": "CompletedWithErrors"}


def completed(**spec: Any) -> World:
    world = World(**spec)
    world.run()
    world.edit(action="Apply")
    assert world.run().phase == "Completed"
    return world


def degraded(policy: str) -> World:
    """All was completed; then the pool rolls for somebody else's sake, and a machine fails."""
    world = completed(failure_policy=policy)
    world.pool = WAITING
    world.run()
    world.pool = DEGRADED
    assert world.run().phase == ENDS[policy]
    return world


@pytest.mark.parametrize("policy", ENDS)
def test_a_pool_that_is_well_again_completes_what_was_completed(policy: str) -> None:
    world = degraded(policy)
    world.pool = WAITING
    assert world.run().phase == ENDS[policy], "not before it is well"
    written = len(world.writes)
    world.pool = READY
    assert world.run().phase == "Completed"
    assert len(world.writes) == written


@pytest.mark.parametrize("policy", ENDS)
def test_drift_is_noticed_although_it_failed(policy: str) -> None:
    world = degraded(policy)
    world.hand("mode", "Predictive")
    status = world.run()
    assert status.phase == "Drifted"
    assert "spec.mode changed by kubectl-edit" in status.items[1].message
    world.pool = READY
    world.hand("mode", "Automatic")
    assert world.run().phase == "Completed"


def test_a_plan_that_stopped_halfway_stays_stopped_and_tells_what_changed() -> None:
    world = World()
    world.run()
    world.edit(action="Apply")
    world.after_apply = WAITING
    world.run()
    world.pool, world.refused = READY, "422: no"
    assert world.run().phase == "Failed"
    world.objects[MACHINE]["spec"]["kernelArguments"] = ["psi=0"]
    status = world.run()
    assert status.phase == "Failed"
    assert status.items[0].drifted
    assert "spec.kernelArguments changed" in status.items[0].message
    world.objects[MACHINE]["spec"]["kernelArguments"] = ["psi=1"]
    assert not world.run().items[0].drifted
    assert DESCHEDULER not in world.writes


def test_a_way_back_that_failed_for_its_pool_ends_when_that_is_well() -> None:
    world = completed()
    world.edit(action="Rollback")
    world.after_apply = DEGRADED
    world.edit(approved_plan=world.run().plan_id)
    assert world.run().phase == "Failed"
    world.pool = READY
    assert world.run().phase == "RolledBack"
    assert world.record.priors == ()


def test_a_new_object_says_what_an_earlier_plan_left_and_how_to_take_it_back() -> None:
    world = World()
    world.run()
    world.after_apply = WAITING
    world.edit(action="Apply")
    assert world.run().phase == "InProgress"
    world.recreate()
    status = world.run()
    told = find(status, "Ignored")
    assert told is not None
    assert "stay as they are" in told.message
    assert "stopped halfway and left its mark on MachineConfig psi;" in told.message
    assert "action: Rollback takes it back" in told.message
    world.pool = world.after_apply = READY
    world.edit(action="Rollback")
    world.edit(approved_plan=world.run().plan_id)
    assert world.run().phase == "RolledBack"
    assert MACHINE not in world.objects


def test_the_way_back_names_whose_later_work_it_undoes() -> None:
    world = completed()
    world.hand("interval", 120, manager="alice")
    world.edit(action="Rollback")
    status = world.run()
    back = status.items[0]
    assert back.takes == (Taking(field="spec.interval", manager="alice"),)
    assert back.warnings == ("undoes what alice wrote later: spec.interval",)
    assert status.items[1].takes == ()


def test_later_work_that_the_reviewer_did_not_see_sends_the_way_back_to_review() -> None:
    world = completed()
    world.edit(action="Rollback")
    status = world.run()
    entries = world.objects[DESCHEDULER]["metadata"]["managedFields"]
    theirs: dict[str, Any] = {"f:spec": {"f:mode": {}}}
    entries.append({"manager": "gitops", "operation": "Apply", "fieldsV1": theirs})
    written = len(world.writes)
    world.edit(approved_plan=status.plan_id)
    status = world.run()
    assert status.phase == "ReviewRequired"
    assert is_true(status, REVIEW_AGAIN)
    assert len(world.writes) == written
    assert Taking(field="spec.mode", manager="gitops") in status.items[0].takes
    world.edit(approved_plan=status.plan_id)
    assert world.run().phase == "RolledBack"
