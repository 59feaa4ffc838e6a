"""`--victims planned`: the balancer's planner inside the simulator."""

from pathlib import Path

import pytest

from trimtab.model.examples import example_path
from trimtab.model.scenarios.io import load_scenario
from trimtab.sim import simulate
from trimtab.sim.spec import Restraint, RunSpec, VictimChoice


def migrations(victims: VictimChoice, **changes: object) -> list[int]:
    scenario = load_scenario(example_path(Path("one-hot-node"), "scenarios"))
    spec = RunSpec(scenario=scenario, victims=victims, **changes)  # type: ignore[arg-type]
    return [outcome.card.migrations for outcome in simulate(spec, range(3))]


def test_planned_moves_level_a_hot_node_with_no_more_moves_than_the_bound() -> None:
    scenario = load_scenario(example_path(Path("one-hot-node"), "scenarios"))
    for outcome in simulate(RunSpec(scenario=scenario, victims="planned"), range(3)):
        assert outcome.card.migrations == outcome.card.minimum_migrations
        assert outcome.card.first_converged_s < 900


def test_planned_moves_need_fewer_migrations_than_the_descheduler() -> None:
    assert max(migrations("planned")) < min(migrations("stock"))


@pytest.mark.parametrize("limits", [(1, 1), (5, 2)])
def test_planned_moves_keep_the_limits_of_the_policy(limits: tuple[int, int]) -> None:
    scenario = load_scenario(example_path(Path("one-hot-node"), "scenarios"))
    spec = RunSpec(scenario=scenario, victims="planned", limits=limits)
    for outcome in simulate(spec, range(2)):
        assert outcome.card.peak_concurrent <= limits[0]


def test_a_node_must_be_over_utilised_several_times_in_a_row_if_asked() -> None:
    patient = migrations("planned", restraint=Restraint(consecutive=10_000))
    assert patient == [0, 0, 0]
