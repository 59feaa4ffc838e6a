"""`--victims planned`: the balancer's planner inside the simulator."""

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from builders.worlds.sim import a_scenario, a_vm, nodes
from trimtab.model.examples import example_path
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.sim import simulate, simulate_one
from trimtab.sim.descheduling.planned import tolerance
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import Restraint, RunSpec, VictimChoice

UNRESTRAINED = Restraint()


@cache
def one_hot_node() -> Scenario:
    return load_scenario(example_path(Path("one-hot-node"), "scenarios"))


@cache
def outcomes(victims: VictimChoice, restraint: Restraint = UNRESTRAINED) -> list[Outcome]:
    return simulate(RunSpec(one_hot_node(), victims=victims, restraint=restraint), range(3))


def migrations(victims: VictimChoice, restraint: Restraint = UNRESTRAINED) -> list[int]:
    return [outcome.card.migrations for outcome in outcomes(victims, restraint)]


def test_planned_moves_level_a_hot_node_with_no_more_moves_than_the_bound() -> None:
    for outcome in outcomes("planned"):
        assert outcome.card.migrations == outcome.card.minimum_migrations
        assert outcome.card.first_converged_s < 900


def test_planned_moves_need_fewer_migrations_than_the_descheduler() -> None:
    assert max(migrations("planned")) < min(migrations("stock"))


@pytest.mark.parametrize("limits", [(1, 1), (5, 2)])
def test_planned_moves_keep_the_limits_of_the_policy(limits: tuple[int, int]) -> None:
    spec = RunSpec(one_hot_node(), victims="planned", limits=limits)
    for outcome in simulate(spec, range(2)):
        assert outcome.card.peak_concurrent <= limits[0]


def test_the_limit_per_node_is_on_what_comes_to_a_node_too_and_costs_no_move() -> None:
    """Two big nodes help most; each takes one VM at a time, as the balancer does it."""
    scenario = load_scenario(example_path(Path("heterogeneous-nodes"), "scenarios"))
    spec = RunSpec(scenario, victims="planned", thresholds=(0.0, 5.0), limits=(3, 1))
    moves = simulate_one(spec, 0).moves
    assert len(moves) == 16  # the fewest that any balancer needs
    at_a_time = Counter((move.requested_s, move.target) for move in moves)
    assert set(at_a_time.values()) == {1}


def test_a_node_must_be_over_utilised_several_times_in_a_row_if_asked() -> None:
    patient = migrations("planned", Restraint(consecutive=10_000))
    assert patient == [0, 0, 0]


def test_simpler_planners_need_fewer_migrations_than_the_stock_choice() -> None:
    sizes = {"n0": [0.5] * 20 + [4.0, 4.0, 4.0], "n1": [2.0, 2.0], "n2": [2.0], "n3": [1.0]}
    vms = [
        a_vm(f"{node}-{i}", node=node, cpu=cores, memory=4, load=1.0)
        for node, each in sizes.items()
        for i, cores in enumerate(each)
    ]
    scenario = a_scenario(nodes(4), vms, requests="overcommit")

    def migrated(victims: VictimChoice) -> int:
        spec = RunSpec(scenario, score="cpu_focused", victims=victims)
        return simulate_one(spec, 1).card.migrations

    assert 0 < migrated("steepest-pair") <= migrated("best-fit") < migrated("stock")


def test_the_tolerance_is_where_a_straight_score_meets_its_threshold() -> None:
    # Score = load: mean 50 points, threshold 10 above, so a deviation of 0.1 is tolerated.
    seen = np.array([[0.9, 0.1], [0, 0], [0.2, 0.2], [0, 0]])
    scores = np.array([0.9, 0.1])
    assert tolerance(seen, scores, 60.0)[0] == pytest.approx(0.1)
    # Three times as steep: a third of it.
    steep = np.array([0.8, 0.0])
    seen = np.array([[0.6, 0.2], [0, 0], [0, 0], [0, 0]])
    assert tolerance(seen, steep, 50.0)[0] == pytest.approx(0.2 * 10 / 40)


def test_a_node_at_the_mean_score_tolerates_what_it_has() -> None:
    seen = np.array([[0.5, 0.5], [0, 0], [0, 0], [0, 0]])
    assert tolerance(seen, np.array([0.5, 0.5]), 60.0).tolist() == [0.0, 0.0]
