"""Whole runs: what holds for every scenario, seed and policy."""

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from builders.examples import examples
from builders.worlds.sim import one_hot_node, plain
from builders.worlds.sim_specs import specs
from trimtab.model.scenarios.scenario import Migration
from trimtab.sim import simulate, simulate_one
from trimtab.sim.descheduling.idle_cycles import IdleCycles
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import RunSpec

TOO_SLOW = [HealthCheck.too_slow]


def digest(outcome: Outcome) -> bytes:
    """Every bit of an outcome."""
    return msgspec.msgpack.encode(outcome, enc_hook=plain)


@settings(max_examples=examples(6), deadline=None, suppress_health_check=TOO_SLOW)
@given(specs())
def test_a_batch_of_seeds_gives_the_same_bits_as_one_run_each(spec: RunSpec) -> None:
    together = simulate(spec, [1, 2])
    assert [digest(o) for o in together] == [digest(simulate_one(spec, s)) for s in (1, 2)]


@pytest.mark.full
@settings(max_examples=80, deadline=None, suppress_health_check=TOO_SLOW, phases=[Phase.generate])
@given(specs())
def test_any_batch_of_seeds_gives_the_same_bits_as_one_run_each(spec: RunSpec) -> None:
    together = simulate(spec, [1, 2, 3])
    assert [digest(o) for o in together] == [digest(simulate_one(spec, s)) for s in (1, 2, 3)]


@settings(
    max_examples=examples(5),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(specs())
def test_runs_are_the_same_without_the_shortcut_for_idle_cycles(spec: RunSpec) -> None:
    usual = [digest(outcome) for outcome in simulate(spec, [1, 2])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IdleCycles, "_find", lambda self, scores: None)
        assert [digest(outcome) for outcome in simulate(spec, [1, 2])] == usual


@settings(max_examples=examples(8), deadline=None, suppress_health_check=TOO_SLOW)
@given(specs())
def test_doing_nothing_moves_nothing_unless_the_scenario_does(spec: RunSpec) -> None:
    idle = simulate_one(msgspec.structs.replace(spec, score=None), 1)
    drained = {event.name for event in spec.scenario.events if event.what == "drain"}
    assert all(move.source in drained for move in idle.moves)
    if not spec.scenario.events:
        assert idle.placement_after == idle.placement_before


@settings(max_examples=examples(8), deadline=None, suppress_health_check=TOO_SLOW)
@given(specs())
def test_every_vm_is_on_one_node_at_the_end_unless_it_waits_boots_or_left(spec: RunSpec) -> None:
    outcome = simulate_one(spec, 7)
    present = {vm.name for vm in spec.scenario.vms}
    for event in spec.scenario.events:
        if event.what == "depart":
            present.discard(event.name)
    assert set(outcome.placement_after) <= present
    if not outcome.errors and not spec.scenario.events and spec.scenario.migration.mode == "live":
        strict = {v.name for v in spec.scenario.vms if v.eviction_strategy == "LiveMigrate"}
        assert strict <= set(outcome.placement_after)


def test_a_hot_node_is_relieved_and_the_others_take_its_load() -> None:
    outcome = simulate_one(RunSpec(one_hot_node()), 1)
    assert outcome.card.migrations > 0
    assert outcome.card.load_std_final < 0.05
    assert {move.source for move in outcome.moves} == {"n0"}


def test_the_seed_varies_who_moves_but_not_how_it_starts() -> None:
    first, second = simulate(RunSpec(one_hot_node()), [1, 2])
    assert first.placement_before == second.placement_before
    assert [move.vm for move in first.moves] != [move.vm for move in second.moves]


def test_the_course_has_a_row_for_each_decision() -> None:
    course = simulate_one(RunSpec(one_hot_node(duration_s=600.0)), 1).course
    assert course.times.tolist() == [60.0 * cycle for cycle in range(10)]
    assert course.cpu.shape == course.classes.shape == (10, 4)
    np.testing.assert_allclose(course.cpu[0], [24 / 32, 8 / 32, 8 / 32, 8 / 32])
    assert course.classes[0].tolist() == [1, -1, -1, -1]


def test_copies_that_end_shortly_before_a_decision_make_the_loop_overshoot() -> None:
    """Six moves level this cluster; with samples from before the last of them two more follow."""

    def moved(gib_per_second: float) -> list[int]:
        migration = Migration(bandwidth=gib_per_second * 1024**3)
        scenario = msgspec.structs.replace(one_hot_node(), migration=migration)
        found = simulate(RunSpec(scenario, thresholds=(0.0, 20.0)), range(10))
        return [outcome.card.migrations for outcome in found]

    assert moved(1.0) == [6] * 10  # done after 8 s: every sample is of the time after it
    assert set(moved(0.25)) == {6, 8}  # after 32 s: it depends on the phases of the timers
    assert moved(0.17) == [8] * 10  # after 47 s: nearly every sample is of the time before
