"""Whole runs: what holds for every scenario, seed and policy."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.sim import a_node, a_scenario, a_vm, one_hot_node
from trimtab.model.curve import Constant, Curve, Diurnal, Spikes, Steps, Trace
from trimtab.model.machines import RequestsModel
from trimtab.model.scenario import Event, Migration, Scenario
from trimtab.sim import simulate, simulate_one
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import Placement, Restraint, RunSpec, Timing, VictimChoice

SCORES = [
    "linear_amplified_ippd_k3",
    "cpu_focused",
    "pareto_front",
    "centroid_distance",
    "sustained",
    "in_flight_aware",
]
curves: st.SearchStrategy[Curve] = st.one_of(
    st.floats(0, 1.5).map(Constant),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(
        lambda levels: Diurnal(min(levels), max(levels), period=1800.0)
    ),
    st.lists(st.floats(0, 1.2), min_size=1, max_size=5).map(lambda v: Trace(tuple(v), 200.0)),
    st.floats(0, 1).map(lambda level: Steps(((0.0, level), (450.0, 1.0 - level)), repeat=900.0)),
    st.integers(0, 5).map(lambda seed: Spikes(0.2, 1.0, every=600.0, lasts=90.0, seed=seed)),
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    count = draw(st.integers(1, 5))
    node_list = [a_node(f"n{i}", cpu=draw(st.sampled_from([16, 32]))) for i in range(count)]
    names = [node.name for node in node_list]
    vms = [
        a_vm(
            f"v{i}",
            node=draw(st.sampled_from([None, "n0", *names])),
            cpu=draw(st.sampled_from([1, 2, 8])),
            memory=draw(st.sampled_from([1, 8, 32])),
            load=draw(curves),
            memory_load=draw(st.floats(0, 1)),
            priority=draw(st.integers(0, 1)),
            strategy=draw(st.sampled_from(["LiveMigrate", "LiveMigrateIfPossible", "None"])),
            migratable=draw(st.integers(0, 4)) > 0,
            dirty_rate=draw(st.sampled_from([0.0, 5e8])),
        )
        for i in range(draw(st.integers(0, 25)))
    ]
    events = []
    for vm in vms[:3]:
        if draw(st.booleans()):
            events.append(Event(draw(st.floats(0, 1500)), "arrive", vm.name))
            events.append(Event(1550.0, "depart", vm.name))
    if draw(st.booleans()):
        failing = draw(st.booleans())
        events.append(Event(draw(st.floats(0, 1000)), "fail" if failing else "drain", "n0"))
        ends = draw(st.floats(1000, 1700))
        events.append(Event(ends, "recover" if failing else "undrain", "n0"))
    migration = Migration(
        mode=draw(st.sampled_from(["live", "recreate"])),
        bandwidth=draw(st.sampled_from([1e8, 1e9])),
        failure_rate=draw(st.sampled_from([0.0, 0.5])),
    )
    requests: RequestsModel = draw(st.sampled_from(["consumption", "overcommit"]))
    return a_scenario(
        node_list,
        vms,
        duration_s=1800.0,
        events=sorted(events, key=lambda event: event.at),
        migration=migration,
        requests=requests,
    )


@st.composite
def specs(draw: st.DrawFn) -> RunSpec:
    placements: list[Placement] = ["spread", "binpack", "least-loaded", "soft-taints"]
    victims: list[VictimChoice] = ["stock", "best-fit", "steepest-pair"]
    return RunSpec(
        scenario=draw(scenarios()),
        score=draw(st.sampled_from(SCORES)),
        thresholds=draw(st.sampled_from([None, (5.0, 5.0)])),
        placement=draw(st.sampled_from(placements)),
        victims=draw(st.sampled_from(victims)),
        restraint=draw(st.sampled_from([Restraint(), Restraint(cooldown_s=300.0, consecutive=2)])),
        timing=Timing(descheduling_s=draw(st.sampled_from([60.0, 300.0]))),
    )


def digest(outcome: Outcome) -> bytes:
    """Every bit of an outcome."""
    return msgspec.msgpack.encode(outcome, enc_hook=lambda array: array.tobytes())


@settings(max_examples=10, deadline=None)
@given(specs())
def test_a_batch_of_seeds_gives_the_same_bits_as_one_run_each(spec: RunSpec) -> None:
    together = simulate(spec, [1, 2, 3])
    assert [digest(o) for o in together] == [digest(simulate_one(spec, s)) for s in (1, 2, 3)]


@settings(max_examples=10, deadline=None)
@given(specs())
def test_doing_nothing_moves_nothing_unless_the_scenario_does(spec: RunSpec) -> None:
    idle = simulate_one(msgspec.structs.replace(spec, score=None), 1)
    drained = {event.name for event in spec.scenario.events if event.what == "drain"}
    assert all(move.source in drained for move in idle.moves)
    if not spec.scenario.events:
        assert idle.placement_after == idle.placement_before


@settings(max_examples=10, deadline=None)
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
