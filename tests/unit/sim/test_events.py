"""What scenarios do to a cluster: arrivals, departures, lost and drained nodes."""

from collections.abc import Sequence

import pytest

from builders.worlds.sim import a_node, a_scenario, a_vm, nodes
from trimtab.model.nodes_and_vms import Node, Vm
from trimtab.model.scenarios.scenario import ScenarioEvent
from trimtab.sim import simulate_one
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import RunSpec


def left_alone(
    vms: Sequence[Vm],
    events: Sequence[ScenarioEvent],
    node_list: Sequence[Node] | None = None,
    *,
    duration_s: float = 1800.0,
) -> Outcome:
    scenario = a_scenario(node_list or nodes(3), vms, events=events, duration_s=duration_s)
    return simulate_one(RunSpec(scenario, score=None), 1)


def test_a_vm_that_arrives_is_placed_and_boots() -> None:
    outcome = left_alone([a_vm("v")], [ScenarioEvent(90.0, "arrive", "v")])
    assert outcome.placement_before == {}
    assert set(outcome.placement_after) == {"v"}
    assert outcome.card.down_vm_seconds == 5.0
    assert outcome.course.cpu[:3].sum(axis=1).tolist() == [0.0, 0.0, 0.0625]


def test_a_vm_that_departs_leaves_its_place_to_one_that_waits() -> None:
    vms = [a_vm("first", memory=200, node="n0"), a_vm("second", memory=200)]
    outcome = left_alone(vms, [ScenarioEvent(600.0, "depart", "first")], [a_node("n0")])
    assert outcome.placement_before == {"first": "n0"}
    assert outcome.placement_after == {"second": "n0"}
    assert outcome.errors == ("start: second found no node that takes it and wait",)
    assert outcome.card.down_vm_seconds == 605.0


def test_vms_of_a_lost_node_start_elsewhere_after_five_minutes() -> None:
    outcome = left_alone([a_vm("v", node="n0")], [ScenarioEvent(100.0, "fail", "n0")])
    assert outcome.placement_after["v"] != "n0"
    assert outcome.card.down_vm_seconds == 305.0
    assert outcome.card.migrations == 0


def test_a_node_that_is_back_in_time_still_has_its_vms() -> None:
    events = [ScenarioEvent(100.0, "fail", "n0"), ScenarioEvent(250.0, "recover", "n0")]
    outcome = left_alone([a_vm("v", node="n0")], events)
    assert outcome.placement_after == {"v": "n0"}
    assert outcome.card.down_vm_seconds == 150.0


def test_a_node_that_fails_again_gets_its_five_minutes_again() -> None:
    events = [ScenarioEvent(100.0, "fail", "n0"), ScenarioEvent(200.0, "recover", "n0")]
    events += [ScenarioEvent(300.0, "fail", "n0"), ScenarioEvent(550.0, "recover", "n0")]
    outcome = left_alone([a_vm("v", node="n0")], events)
    assert outcome.placement_after == {"v": "n0"}
    assert outcome.card.down_vm_seconds == 350.0


def test_a_migration_to_a_lost_node_fails_and_is_tried_again_elsewhere() -> None:
    vms = [a_vm("v", node="n0", memory=64, memory_load=1.0)]
    cluster = [a_node("n0"), a_node("n1"), a_node("n2", unschedulable=True)]
    events = [
        ScenarioEvent(0.0, "drain", "n0"),
        ScenarioEvent(10.0, "fail", "n1"),
        ScenarioEvent(20.0, "undrain", "n2"),
    ]
    outcome = left_alone(vms, events, cluster)
    assert [(m.target, m.outcome) for m in outcome.moves] == [("n1", "failed"), ("n2", "succeeded")]
    assert outcome.placement_after == {"v": "n2"}


def test_a_migration_from_a_lost_node_is_over() -> None:
    vms = [a_vm("v", node="n0", memory=64, memory_load=1.0)]
    outcome = left_alone(
        vms, [ScenarioEvent(0.0, "drain", "n0"), ScenarioEvent(10.0, "fail", "n0")]
    )
    assert [move.outcome for move in outcome.moves] == ["failed"]
    assert outcome.placement_after["v"] != "n0"


def test_a_drained_node_is_emptied_except_of_vms_that_cannot_move() -> None:
    vms = [
        a_vm("moves", node="n0"),
        a_vm("restarts", node="n0", strategy="None"),
        a_vm("restarts too", node="n0", strategy="LiveMigrateIfPossible", migratable=False),
        a_vm("stays", node="n0", migratable=False),
    ]
    outcome = left_alone(vms, [ScenarioEvent(60.0, "drain", "n0")])
    assert [vm for vm, node in outcome.placement_after.items() if node == "n0"] == ["stays"]
    assert [move.vm for move in outcome.moves] == ["moves"]
    assert outcome.card.down_vm_seconds == 10.0


def test_a_vm_that_lands_on_a_node_being_drained_is_sent_on() -> None:
    vms = [a_vm("v", node="n0", memory=64, memory_load=1.0)]
    events = [ScenarioEvent(0.0, "drain", "n0"), ScenarioEvent(10.0, "drain", "n1")]
    cluster = [a_node("n0"), a_node("n1"), a_node("n2", unschedulable=True)]
    outcome = left_alone(vms, [*events, ScenarioEvent(20.0, "undrain", "n2")], cluster)
    assert [move.target for move in outcome.moves] == ["n1", "n2"]
    assert outcome.placement_after == {"v": "n2"}


def test_a_vm_that_departs_while_it_moves_leaves_nothing_behind() -> None:
    vms = [a_vm("v", node="n0", memory=64, memory_load=1.0)]
    outcome = left_alone(
        vms, [ScenarioEvent(0.0, "drain", "n0"), ScenarioEvent(30.0, "depart", "v")]
    )
    assert outcome.placement_after == {}
    assert outcome.course.memory[-1].tolist() == [0.0, 0.0, 0.0]


def test_a_first_node_is_kept_although_it_is_full_and_others_are_not() -> None:
    vms = [a_vm(f"v{i}", node="n0", cpu=64, memory=8) for i in range(2)]  # 32 of 32 cores each
    outcome = left_alone(vms, [])
    assert outcome.placement_after == {"v0": "n0"}
    assert outcome.card.degraded_vm_share == pytest.approx(0.5)


def test_a_vm_does_not_arrive_on_a_node_that_is_lost_or_cordoned() -> None:
    vms = [a_vm("v", node="n0"), a_vm("w", node="n1")]
    events = [ScenarioEvent(10.0, "fail", "n0"), ScenarioEvent(10.0, "drain", "n1")]
    events += [ScenarioEvent(20.0, "arrive", "v"), ScenarioEvent(20.0, "arrive", "w")]
    events += [ScenarioEvent(100.0, "recover", "n0"), ScenarioEvent(200.0, "undrain", "n1")]
    outcome = left_alone(vms, events)
    assert outcome.placement_after == {"v": "n0", "w": "n1"}
    assert outcome.card.down_vm_seconds == 85.0 + 185.0


def test_vms_may_start_on_a_node_that_is_cordoned() -> None:
    outcome = left_alone([a_vm("v", node="n0")], [], [a_node("n0", unschedulable=True)])
    assert outcome.placement_before == {"v": "n0"}


def test_the_scheduler_places_vms_that_name_no_node() -> None:
    outcome = left_alone([a_vm(f"v{i}") for i in range(6)], [])
    counts = [list(outcome.placement_before.values()).count(f"n{i}") for i in range(3)]
    assert counts == [2, 2, 2]
