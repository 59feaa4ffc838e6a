"""Migrations over time: KubeVirt's limits, time-outs, back-off, and the mode `recreate`."""

import itertools
from collections.abc import Sequence

import pytest

from builders.worlds.sim import a_node, a_scenario, a_vm, nodes
from trimtab.errors import ConfigError
from trimtab.model.nodes_and_vms import Node, Vm
from trimtab.model.scenarios.scenario import Migration, ScenarioEvent
from trimtab.sim import simulate_one
from trimtab.sim.outcome import MigrationRecord, Outcome
from trimtab.sim.spec import RunSpec, Timing

GIB = 1024**3
# 4 GiB are used and move in 4 s at 1 GiB/s.
HOT = [a_vm(f"hot{i}", node="n0", memory=8, memory_load=0.5) for i in range(8)]


def drained(
    vms: Sequence[Vm],
    node_list: Sequence[Node] | None = None,
    migration: Migration | None = None,
    *,
    duration_s: float = 3600.0,
    events: Sequence[ScenarioEvent] = (),
) -> Outcome:
    """Node n0 is drained at once; nothing else moves anything."""
    scenario = a_scenario(
        node_list or nodes(4),
        vms,
        duration_s=duration_s,
        events=[ScenarioEvent(0.0, "drain", "n0"), *events],
        migration=migration,
    )
    return simulate_one(RunSpec(scenario, score=None), 1)


def spans(moves: Sequence[MigrationRecord]) -> list[tuple[float, float]]:
    """When each began and ended."""
    assert all(move.started_s is not None and move.ended_s is not None for move in moves)
    return [(move.started_s or 0.0, move.ended_s or 0.0) for move in moves]


def at_once(moves: Sequence[MigrationRecord]) -> int:
    """The largest number of moves at any moment."""
    changes = [(start, 1) for start, _ in spans(moves)] + [(end, -1) for _, end in spans(moves)]
    running = peak = 0
    for _, change in sorted(changes):
        running += change
        peak = max(peak, running)
    return peak


def test_no_more_leave_a_node_at_once_than_its_limit() -> None:
    outcome = drained(HOT)
    assert outcome.card.migrations == 8
    assert at_once(outcome.moves) == 2
    assert outcome.card.peak_concurrent == 2


def test_no_more_run_in_the_cluster_than_its_limit() -> None:
    migration = Migration(per_cluster=3, per_node_outbound=8)
    assert at_once(drained(HOT, migration=migration).moves) == 3


def test_two_that_leave_together_share_the_card_of_their_node() -> None:
    outcome = drained(HOT[:2])
    # 4 GiB each at half a GiB/s.
    assert spans(outcome.moves) == [(0.0, 8.0), (0.0, 8.0)]
    assert outcome.card.precopy_seconds == 16.0
    assert outcome.card.gb_moved == pytest.approx(8 * GIB / 1e9)


def test_waiting_ones_start_when_a_slot_is_free() -> None:
    outcome = drained(HOT[:3])
    assert spans(outcome.moves)[2][0] == 8.0
    assert spans(outcome.moves)[2][1] == 12.0


def test_a_dirty_rate_makes_copies_longer_and_sends_more() -> None:
    busy = a_vm("busy", node="n0", memory=8, memory_load=0.5, dirty_rate=0.5 * GIB)
    outcome = drained([busy])
    assert spans(outcome.moves) == [(0.0, 8.0)]
    assert outcome.card.gb_moved == pytest.approx(8 * GIB / 1e9)


def test_a_copy_that_never_converges_times_out_and_is_tried_again_later_and_later() -> None:
    wild = a_vm("wild", node="n0", memory=8, memory_load=0.5, dirty_rate=2.0 * GIB)
    outcome = drained([wild], duration_s=1000.0)
    ended = [move for move in outcome.moves if move.outcome == "timed-out"]
    # 150 s without progress each; back-off 20 s, then 40 s, 80 s, 160 s.
    assert spans(ended) == [(0.0, 150.0), (170.0, 320.0), (360.0, 510.0), (590.0, 740.0)]
    assert outcome.card.failed_migrations == 4
    assert outcome.card.migrations == 0
    assert outcome.placement_after["wild"] == "n0"


def test_the_wait_after_a_failure_stops_doubling_at_the_fifth() -> None:
    wild = a_vm("wild", node="n0", memory=8, memory_load=0.5, dirty_rate=2.0 * GIB)
    outcome = drained([wild], duration_s=2500.0)
    ended = spans([move for move in outcome.moves if move.outcome == "timed-out"])
    waits = [begun - before for (_, before), (begun, _) in itertools.pairwise(ended)]
    assert waits == [20.0, 40.0, 80.0, 160.0, 320.0, 320.0, 320.0]


def test_the_time_allowed_grows_with_the_memory() -> None:
    slow = Migration(bandwidth=GIB / 1000, timeout_s_per_gib=30.0)
    outcome = drained(HOT[:1], migration=slow, duration_s=400.0)
    assert outcome.moves[0].outcome == "timed-out"
    assert spans(outcome.moves[:1]) == [(0.0, 240.0)]  # 8 GiB at 30 s each


def test_a_target_that_fits_nowhere_holds_its_slot_for_five_minutes_and_fails() -> None:
    crowd = [a_vm("crowd", node="n1", memory=200)]
    outcome = drained([*HOT[:1], *crowd], [a_node("n0"), a_node("n1", memory=102)])
    failed = [move for move in outcome.moves if move.outcome == "failed"]
    assert spans(failed)[0] == (0.0, 300.0)
    assert spans(failed)[1] == (320.0, 620.0)
    assert all(move.target is None for move in failed)


def test_a_waiting_target_is_bound_as_soon_as_there_is_room() -> None:
    crowd = [a_vm("crowd", node="n1", memory=200)]
    cluster = [a_node("n0"), a_node("n1", memory=102)]
    outcome = drained([*HOT[:1], *crowd], cluster, events=[ScenarioEvent(100.0, "depart", "crowd")])
    assert outcome.card.failed_migrations == 0
    assert outcome.placement_after["hot0"] == "n1"
    assert spans(outcome.moves) == [(0.0, 104.0)]


def test_failures_are_drawn_for_each_attempt_and_retried() -> None:
    outcome = drained(HOT, migration=Migration(failure_rate=0.5))
    assert outcome.card.migrations == 8
    assert outcome.card.failed_migrations > 0
    again = drained(HOT, migration=Migration(failure_rate=0.5))
    assert [move.outcome for move in outcome.moves] == [move.outcome for move in again.moves]


def test_recreate_stops_a_vm_first_and_moves_no_data() -> None:
    outcome = drained(HOT[:2], migration=Migration(mode="recreate"))
    assert outcome.card.migrations == 2
    assert outcome.card.gb_moved == 0.0
    assert outcome.card.down_vm_seconds == 10.0
    assert "n0" not in outcome.placement_after.values()


def test_a_stopped_vm_waits_for_room_as_long_as_it_takes() -> None:
    crowd = [a_vm("crowd", node="n1", memory=200)]
    cluster = [a_node("n0"), a_node("n1", memory=102)]
    outcome = drained(
        [*HOT[:1], *crowd],
        cluster,
        Migration(mode="recreate"),
        events=[ScenarioEvent(1000.0, "depart", "crowd")],
    )
    assert outcome.card.failed_migrations == 0
    assert outcome.card.down_vm_seconds == 1005.0


def test_what_is_not_finished_at_the_end_is_told() -> None:
    outcome = drained(HOT[:3], duration_s=5.0)
    assert [move.outcome for move in outcome.moves] == ["running", "running", "waiting"]
    assert [move.ended_s for move in outcome.moves] == [None] * 3
    assert outcome.card.precopy_seconds == 10.0
    assert outcome.card.gb_moved == pytest.approx(5 * GIB / 1e9)


def test_while_it_is_copied_a_vm_fills_memory_on_both_nodes_and_cpu_on_one() -> None:
    slow = Migration(bandwidth=GIB / 100)
    scenario = a_scenario(
        nodes(2),
        HOT[:1],
        duration_s=200.0,
        events=[ScenarioEvent(30.0, "drain", "n0")],
        migration=slow,
    )
    course = simulate_one(RunSpec(scenario, score=None, timing=Timing()), 1).course
    assert course.cpu[1:].tolist() == [[0.0625, 0.0]] * 3
    assert course.memory[0].tolist() == [0.03125, 0.0]
    assert course.memory[1:].tolist() == [[0.03125, 0.03125]] * 3


def test_a_migration_begins_as_late_as_the_cluster_reacts() -> None:
    scenario = a_scenario(
        nodes(2), HOT[:1], duration_s=200.0, events=[ScenarioEvent(30.0, "drain", "n0")]
    )
    prompt, slow = (
        simulate_one(RunSpec(scenario, score=None, timing=Timing(reaction_s=each)), 1).moves[0]
        for each in (0.0, 20.0)
    )
    assert (prompt.requested_s, prompt.started_s) == (30.0, 30.0)
    assert (slow.requested_s, slow.started_s) == (30.0, 50.0)
    assert prompt.ended_s is not None
    assert slow.ended_s == prompt.ended_s + 20.0


def test_a_reaction_before_its_cause_is_refused() -> None:
    scenario = a_scenario(nodes(2), HOT[:1])
    with pytest.raises(ConfigError, match="reaction_s must not be negative"):
        simulate_one(RunSpec(scenario, timing=Timing(reaction_s=-1.0)), 1)
