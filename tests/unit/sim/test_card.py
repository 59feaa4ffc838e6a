"""The report card: every number computed by hand."""

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.worlds.sim import a_node, a_scenario, a_vm, nodes
from trimtab.model.load.curve import Steps
from trimtab.model.load.pressure import pressure
from trimtab.model.scenarios.scenario import ScenarioEvent
from trimtab.sim import simulate_one
from trimtab.sim.measures.card import against_the_band, convergence, oscillations, ping_pongs
from trimtab.sim.measures.meter import FIGURES, measured
from trimtab.sim.migration.ended import MovesDone
from trimtab.sim.outcome import ReportCard
from trimtab.sim.spec import RunSpec

OVER, LEVEL, UNDER = 1, 0, -1


def idle_card(
    vms: list[tuple[str, float]], *, events: tuple[ScenarioEvent, ...] = ()
) -> ReportCard:
    """Ten minutes of two nodes with 10 cores and 64 GiB; VMs (node, cores in use), 8 GiB used."""
    machines = [
        a_vm(f"v{i}", node=node, cpu=cores, memory=8, load=1.0, memory_load=1.0)
        for i, (node, cores) in enumerate(vms)
    ]
    scenario = a_scenario(
        nodes(2, cpu=10, memory=64), machines, duration_s=600.0, events=events,
        requests="overcommit",
    )  # fmt: skip
    return simulate_one(RunSpec(scenario, score=None), 1).card


def test_balance_of_two_nodes() -> None:
    card = idle_card([("n0", 6), ("n0", 2), ("n1", 2)])
    assert card.load_std_mean == pytest.approx(0.3)  # 0.8 and 0.2
    assert card.load_std_final == pytest.approx(0.3)
    assert card.load_cv_mean == pytest.approx(0.6)
    assert card.memory_std_mean == pytest.approx(0.0625)  # 0.25 and 0.125
    assert card.max_over_mean == pytest.approx(1.6)
    assert card.spread == pytest.approx(0.6)
    assert card.gini == pytest.approx(2 * 0.6 / (2 * 4 * 0.5))


def figure(name: str, *cpu: float) -> float:
    """A figure of nodes with this CPU use and nothing else."""
    inputs = np.zeros((1, 4, len(cpu)))
    inputs[0, 0] = cpu
    return float(measured(inputs)[0, FIGURES.index(name)])


def test_gini_is_the_mean_difference_of_all_pairs() -> None:
    loads = np.array([0.1, 0.4, 0.7, 0.2, 0.9])
    pairs = np.abs(loads[:, None] - loads[None, :]).sum()
    assert figure("gini", *loads) == pytest.approx(pairs / (2 * 25 * loads.mean()))


def test_an_empty_cluster_is_level() -> None:
    found = [figure(name, 0.0, 0.0, 0.0) for name in ("gini", "max_over_mean", "cpu_cv")]
    assert found == [0.0, 1.0, 0.0]


def test_contention_of_a_node_that_is_asked_for_too_much() -> None:
    card = idle_card([("n0", 9), ("n0", 6), ("n1", 5)])  # 1.5 and 0.5
    assert card.overload_node_seconds == pytest.approx(0.5 * 600)
    assert card.degraded_vm_share == pytest.approx(5 / 20)  # 5 of 20 cores are not served
    assert card.degraded_vm_share_p99 == pytest.approx(1 / 3)  # both VMs there lack a third
    assert card.slatah == pytest.approx(0.5)  # one node of two, all the time
    waiting = pressure(np.array([1.5, 0.5, 0.25, 0.125])).sum()
    assert card.psi_node_seconds == pytest.approx(waiting * 600)


def test_memory_that_is_not_there_counts_as_overload_too() -> None:
    # 80 GiB each for the first five minutes; on average they use, and so request, 48 GiB.
    curve = Steps(((0.0, 1.0), (300.0, 0.2)))
    machines = [a_vm(f"v{i}", memory=80, memory_load=curve, load=0.0) for i in range(2)]
    scenario = a_scenario([a_node("n0", memory=96)], machines, duration_s=600.0)
    card = simulate_one(RunSpec(scenario, score=None), 1).card
    assert card.overload_node_seconds == pytest.approx((160 / 96 - 1) * 300)


def test_integrals_follow_the_load_over_time() -> None:
    # Node n0 is used to 0.8 for a third of the time and to 0.2 for the rest; n1 to 0.2.
    curve = Steps(((0.0, 1.0), (200.0, 0.25)))
    machines = [
        a_vm("v0", node="n0", cpu=8, load=curve),
        a_vm("v1", node="n1", cpu=2, load=1.0),
    ]
    scenario = a_scenario(nodes(2, cpu=10), machines, duration_s=600.0)
    card = simulate_one(RunSpec(scenario, score=None), 1).card
    # The cycle from 180 to 240 s has a third at the high level: 0.4 on average.
    assert card.load_std_mean == pytest.approx((3 * 0.3 + 0.1) / 10)
    assert card.load_std_final == pytest.approx(0.0)


def test_a_migration_costs_a_tenth_of_the_vms_cpu_while_it_is_copied() -> None:
    # 8 GiB at 1 GiB/s: 8 s of 600 s.
    card = idle_card([("n0", 4), ("n1", 4)], events=(ScenarioEvent(0.0, "drain", "n0"),))
    assert card.precopy_seconds == pytest.approx(8.0)
    assert card.pdm == pytest.approx(0.1 * 8 / 600 / 2)
    assert card.slav == card.slatah * card.pdm == 0.0


def test_a_vm_that_is_down_is_not_served() -> None:
    card = idle_card([("n0", 4), ("n1", 4)], events=(ScenarioEvent(400.0, "fail", "n0"),))
    assert card.down_vm_seconds == pytest.approx(200.0)
    assert card.degraded_vm_share == pytest.approx(200 * 4 / (600 * 8))
    # Only n1 is left: nothing to be out of balance with.
    assert card.load_std_mean == pytest.approx(0.0)


def joules(card: ReportCard) -> float:
    return card.energy_kwh * 3.6e6


def test_a_core_draws_4_watts_idle_and_6_more_at_work() -> None:
    card = idle_card([("n0", 6), ("n0", 2), ("n1", 2)])
    assert joules(card) == pytest.approx(20 * 4 * 600 + 10 * 6 * 600)


def test_a_full_node_draws_no_more_than_full() -> None:
    card = idle_card([("n0", 9), ("n0", 6), ("n1", 5)])  # 15 of the 20 cores at work
    assert joules(card) == pytest.approx(20 * 4 * 600 + 15 * 6 * 600)


def test_a_lost_node_draws_nothing() -> None:
    card = idle_card([("n0", 4), ("n1", 4)], events=(ScenarioEvent(400.0, "fail", "n0"),))
    assert joules(card) == pytest.approx((10 * 4 + 4 * 6) * (600 + 400))


def test_esv_is_energy_times_both_violations() -> None:
    # n1 is asked for 12 of its 10 cores all the time; n0's VM leaves in 8 s of 600.
    card = idle_card([("n0", 4), ("n1", 12)], events=(ScenarioEvent(0.0, "drain", "n0"),))
    assert card.slatah == pytest.approx(0.5)
    assert card.pdm == pytest.approx(0.1 * 8 / 600 / 2)
    served = 10 * 600 + 4 * 8  # once there, n0's VM takes its part of the same ten cores
    assert joules(card) == pytest.approx(20 * 4 * 600 + served * 6)
    assert card.esv == pytest.approx(card.energy_kwh * 0.5 * 0.1 * 8 / 600 / 2)


@pytest.mark.parametrize(
    ("first_node", "expected"),
    [
        pytest.param([0.70, 0.60, 0.50], 0.0, id="coming down to the mean is none"),
        pytest.param([0.70, 0.46, 0.42], 0.08, id="below the mean after being hot"),
        pytest.param([0.30, 0.54, 0.57], 0.07, id="above the mean after being cold"),
        pytest.param([0.60, 0.40, 0.60], 0.0, id="it was never out of the band"),
        pytest.param([0.42, 0.70, 0.55], 0.0, id="what was before does not count"),
        pytest.param([0.70, 0.45, 0.55], 0.05, id="the way back up is no second one"),
        pytest.param([0.65, 0.35, 0.63], 0.15, id="thrown across, and back: the larger one"),
    ],
)
def test_overshoot_is_how_far_past_the_mean_a_node_goes(
    first_node: list[float], expected: float
) -> None:
    # Three more nodes make up for the first, so that the mean is 0.5, and stay in the band.
    cpu = np.array([[use, *[(2.0 - use) / 3] * 3] for use in first_node], dtype=np.float32)
    rest, ready = np.full_like(cpu, 0.5), np.ones(cpu.shape, dtype=np.bool_)
    assert against_the_band((cpu, rest), ready)[1] == pytest.approx(expected, abs=1e-6)
    assert against_the_band((rest, cpu), ready)[1] == pytest.approx(expected, abs=1e-6)


@given(
    st.lists(st.lists(st.integers(0, 100), min_size=3, max_size=3), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_the_card_is_the_same_however_many_cycles_are_looked_at_together(
    percent: list[list[int]], cycles: int
) -> None:
    cpu = (np.array(percent) / 100).astype(np.float32)
    memory, ready = cpu[::-1].copy(), np.ones(cpu.shape, dtype=np.bool_)
    ready[len(ready) // 2, 0] = False
    expected = against_the_band((cpu, memory), ready)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trimtab.sim.measures.card.VALUES_AT_ONCE", 3 * cycles)
        found = against_the_band((cpu, memory), ready)
    assert np.array_equal(found[0], expected[0])
    assert found[1] == expected[1]


def test_a_node_that_is_lost_does_not_overshoot() -> None:
    cpu = np.array([[0.8, 0.4, 0.4], [0.0, 0.4, 0.4]], dtype=np.float32)
    ready = np.array([[True, True, True], [False, True, True]])
    assert against_the_band((cpu, cpu), ready)[1] == 0.0


@pytest.mark.parametrize(
    ("history", "first", "last"),
    [
        pytest.param([1, 1, 1, 1, 1], None, None, id="never"),
        pytest.param([0, 0, 0, 0, 0], 0, 0, id="from the start"),
        pytest.param([1, 0, 0, 0, 0], 60, 60, id="after a cycle"),
        pytest.param([1, 0, 0, 1, 0], None, None, id="two cycles are not enough"),
        pytest.param([0, 0, 0, 1, 1], 0, 0, id="and lost again"),
        pytest.param([0, 0, 0, 1, 0, 0, 0, 0], 0, 240, id="found again"),
        pytest.param([0, 0, 0, 1, 0, 0], 0, 0, id="too late to count"),
    ],
)
def test_convergence_is_the_entry_into_three_cycles_without_a_node_above_the_band(
    history: list[int], first: float | None, last: float | None
) -> None:
    classed = np.array([[over, UNDER] for over in history], dtype=np.int8)
    found = convergence(np.arange(float(len(history))) * 60.0, classed)
    assert [None if isnan(moment) else moment for moment in found] == [first, last]


def test_classes_have_one_yardstick_for_both_resources() -> None:
    ready = np.ones((1, 4), dtype=np.bool_)
    cpu = np.array([[0.65, 0.5, 0.45, 0.4]], dtype=np.float32)  # mean 0.5
    memory = np.array([[0.5, 0.66, 0.44, 0.4]], dtype=np.float32)  # mean 0.5
    assert against_the_band((cpu, memory), ready)[0].tolist() == [[OVER, OVER, UNDER, UNDER]]
    at_the_band = np.array([[0.6, 0.4, 0.5, 0.5]], dtype=np.float32)
    assert against_the_band((at_the_band, at_the_band), ready)[0].tolist() == [
        [LEVEL, UNDER, LEVEL, LEVEL]
    ]


def test_lost_nodes_are_not_part_of_the_mean() -> None:
    ready = np.array([[True, True, False]])
    cpu = np.array([[0.5, 0.5, 0.0]], dtype=np.float32)
    assert against_the_band((cpu, cpu), ready)[0].tolist() == [[LEVEL, LEVEL, LEVEL]]


def test_oscillations_count_changes_of_side() -> None:
    history = [
        [OVER, OVER, UNDER],
        [LEVEL, UNDER, UNDER],
        [UNDER, OVER, LEVEL],
        [UNDER, UNDER, UNDER],
    ]
    assert oscillations(np.array(history, dtype=np.int8)) == 1 + 3 + 0


Move = tuple[int, int, int, float]
"""VM, source, target, and when it ended."""


def done(*moves: Move) -> MovesDone:
    vms, sources, targets, ended_s = zip(*moves, strict=True)
    return MovesDone(np.array(vms), np.array(sources), np.array(targets), np.array(ended_s))


@pytest.mark.parametrize(
    ("back_at", "expected"),
    [
        pytest.param(100.0 + 3599, 1, id="within the hour"),
        pytest.param(100.0 + 3600, 0, id="an hour later"),
    ],
)
def test_a_vm_that_comes_back_within_an_hour_plays_ping_pong(back_at: float, expected: int) -> None:
    assert ping_pongs(done((7, 0, 1, 100.0), (7, 1, 0, back_at))) == expected


def test_going_elsewhere_or_being_another_vm_is_no_ping_pong() -> None:
    there = (7, 0, 1, 100.0)
    assert ping_pongs(done(there, (7, 1, 2, 200.0))) == 0
    assert ping_pongs(done(there, (8, 1, 0, 200.0))) == 0


HOPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from([0.0, 900.0])))


@given(HOPS)
def test_ping_pongs_of_all_moves_are_those_found_one_after_the_other(
    hops: list[tuple[int, int, float]],
) -> None:
    where, left, now = [0, 0, 0], dict[tuple[int, int], float](), 0.0
    moves, expected = [], 0
    for vm, target, passed in hops:
        now += passed
        moves.append((vm, where[vm], target, now))
        expected += now - left.get((vm, target), -3600.0) < 3600.0
        left[vm, where[vm]] = now
        where[vm] = target
    assert not moves or ping_pongs(done(*moves)) == expected


def test_the_standard_deviation_is_that_of_all_nodes() -> None:
    assert figure("cpu_std", 0.1, 0.2, 0.6) == pytest.approx(sqrt(0.14 / 3))


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(-1, 1), min_size=n, max_size=n), min_size=1)
    )
)
def test_oscillations_of_all_nodes_are_those_of_each(history: list[list[int]]) -> None:
    each = (np.array([side for side in node if side]) for node in zip(*history, strict=True))
    turns = sum(int(np.count_nonzero(sides[1:] != sides[:-1])) for sides in each)
    assert oscillations(np.array(history, dtype=np.int8)) == turns
