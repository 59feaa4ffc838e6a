"""What we applied and no longer want goes away, and no plan is completed before it has."""

import pytest

from builders.worlds.advisor import DESCHEDULER, MACHINE, World
from trimtab.advisor.api import MANAGER, Taking
from trimtab.advisor.decide.conditions import REVIEW_AGAIN, find, is_true
from trimtab.advisor.plan.fields import given_up, left_behind
from trimtab.advisor.plan.pools import PoolHealth
from trimtab.kube.resources import Free

WAITING = PoolHealth("waiting", "MachineConfigPool 'worker' is updating (Updated: 1/3, Ready: 1/3)")


def applied(world: World) -> World:
    """Plan with the options of the moment, and apply what was planned."""
    world.edit(action="DryRun", approved_plan="")
    plan = world.run().plan_id
    world.edit(action="Apply", approved_plan=plan)
    world.run()
    return world


def with_node_limit() -> World:
    world = World()
    world.options(60, node=2)
    assert applied(world).phase == "Completed"
    assert world.objects[DESCHEDULER]["spec"]["node"] == 2
    return world


def test_a_field_that_is_no_longer_wanted_is_removed_before_it_is_completed() -> None:
    world = with_node_limit()
    world.options(60)
    applied(world)
    assert world.phase == "Completed"
    assert "node" not in world.objects[DESCHEDULER]["spec"]
    world.edit(action="DryRun")
    assert world.run().phase == "Completed", "there is nothing more to remove"


def test_a_removal_is_made_by_whoever_continues_after_a_crash() -> None:
    world = with_node_limit()
    world.options(60)
    world.edit(action="DryRun", approved_plan="")
    plan = world.run().plan_id
    world.edit(action="Apply", approved_plan=plan)
    before = len(world.writes)
    while len(world.writes) == before:
        status = world.config.status
        world.step()
    world.config = type(world.config)(world.config.metadata, world.config.spec, status)
    assert world.run().phase == "Completed"
    assert len(world.writes) == before + 1, "and it is not made twice"


def test_something_of_ours_that_should_be_gone_is_drift() -> None:
    world = with_node_limit()
    world.options(60)
    applied(world)
    live = world.objects[DESCHEDULER]
    live["spec"]["node"] = 2
    mine = next(e for e in live["metadata"]["managedFields"] if e["manager"] == MANAGER)
    mine["fieldsV1"]["f:spec"]["f:node"] = {}
    status = world.run()
    assert status.phase == "Drifted"
    assert "spec.node should be gone" in status.items[1].message


def test_a_field_that_another_keeps_is_given_up_and_said() -> None:
    world = with_node_limit()
    entries = world.objects[DESCHEDULER]["metadata"]["managedFields"]
    theirs: Free = {"f:spec": {"f:node": {}}}
    entries.append({"manager": "gitops", "operation": "Apply", "fieldsV1": theirs})
    world.options(60)
    world.edit(action="DryRun")
    warnings = world.run().items[1].warnings
    assert "spec.node is no longer managed and stays as it is: gitops owns it too" in warnings
    applied(world)
    assert world.phase == "Completed"
    assert world.objects[DESCHEDULER]["spec"]["node"] == 2
    world.later(600)
    assert world.run().phase == "Completed", "it is neither ours nor drift"


def test_an_owner_of_a_later_item_is_noticed_before_the_first_is_written() -> None:
    world = World()
    world.run()
    world.rivals = (Taking(field="spec.mode", manager="gitops"),)
    world.edit(action="Apply")
    status = world.run()
    assert status.phase == "ReviewRequired"
    assert world.writes == [], "no node restarts for it"
    told = find(status, REVIEW_AGAIN)
    assert told is not None
    assert "spec.mode from gitops" in told.message


def test_a_refusal_of_a_later_item_is_noticed_before_the_first_is_written() -> None:
    world = World()
    world.run()
    world.edit(action="Apply")
    world.refused_early = "422: spec.mode: no"
    status = world.run()
    assert status.phase == "Failed"
    assert world.writes == []


@pytest.mark.parametrize("when", ["as it is applied", "after it was completed"])
def test_a_machine_config_deleted_while_its_pool_rolls_is_said_and_reviewed(when: str) -> None:
    world = World()
    world.run()
    if when == "as it is applied":
        world.after_apply = WAITING
    world.edit(action="Apply")
    world.run()
    world.pool = WAITING
    assert world.run().phase == "InProgress"
    del world.objects[MACHINE]
    status = world.run()
    assert status.phase == "ReviewRequired"
    assert is_true(status, REVIEW_AGAIN)
    told = find(status, REVIEW_AGAIN)
    assert told is not None
    assert "MachineConfig psi is not as it was applied: the object was deleted" in told.message
    assert world.writes.count(MACHINE) == 1, "nodes restart again only if somebody says so"


def test_a_machine_config_deleted_when_all_is_completed_is_drift() -> None:
    world = applied(World())
    del world.objects[MACHINE]
    world.pool = WAITING
    assert world.run().phase == "Drifted"


def an_object(fields: Free, spec: Free, version: str = "g/v1") -> Free:
    entry = {
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsV1": {"f:spec": fields},
    }
    meta = {"name": "x", "managedFields": [entry]}
    return {"apiVersion": version, "kind": "K", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    ("fields", "desired", "left"),
    [
        ({"f:mode": {}}, {"mode": "a"}, ()),
        ({"f:mode": {}, "f:flag": {}}, {"mode": "a"}, ("spec.flag",)),
        ({"f:a": {".": {}, "f:b": {}, "f:c": {}}}, {"a": {"b": 1}}, ("spec.a.c",)),
        ({"f:a": {"f:b": {}}}, {}, ("spec.a",)),
        ({"f:labels": {"f:ksm": {}}}, {"labels": {}}, ("spec.labels.ksm",)),
        ({"f:list": {'k:{"name":"x"}': {"f:v": {}}}}, {"list": [{"name": "x", "v": 1}]}, ()),
        ({"f:list": {'k:{"name":"x"}': {}}}, {"list": []}, ('spec.list[{"name":"x"}]',)),
        ({"f:list": {'k:{"name":"x"}': {"f:v": {}}}}, {"list": [{"name": "x"}]},
         ('spec.list[{"name":"x"}].v',)),
        ({"f:set": {'v:"a"': {}, 'v:"b"': {}}}, {"set": ["a"]}, ('spec.set["b"]',)),
    ],
)  # fmt: skip
def test_what_is_ours_and_not_wanted_is_found(
    fields: Free, desired: Free, left: tuple[str, ...]
) -> None:
    live = an_object(fields, {})
    assert left_behind({"apiVersion": "g/v1", "spec": desired}, live) == left
    assert left_behind({"apiVersion": "g/v2", "spec": desired}, live) == (), "other paths"


def test_nothing_is_given_up_that_goes() -> None:
    live = an_object({"f:flag": {}}, {"flag": True})
    desired = {"apiVersion": "g/v1", "spec": {}}
    assert given_up(desired, live, {"spec": {}}) == ()
