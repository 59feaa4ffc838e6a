"""Runs as a whole: intervals that hold what they promise, and figures from both sides."""

from math import inf

import numpy as np
import pytest
from msgspec.structs import replace

from builders.worlds.fidelity import CYCLES, SCORE, a_pod, a_run
from builders.worlds.sim import a_scenario, a_vm, nodes, one_hot_node
from trimtab.errors import ConfigError
from trimtab.fidelity.lab import LabRunOrder, playable, resting
from trimtab.fidelity.recording import PodVersion, moment
from trimtab.fidelity.runs import (
    SEEDS,
    Range,
    RunFigures,
    ScrapedLoads,
    chance_of,
    figures_of_lab,
    interval,
    ranges,
    reaction_of,
)
from trimtab.fidelity.session import simulated
from trimtab.fidelity.verdict import Subject, judge
from trimtab.model.load.curve import Steps
from trimtab.model.scenarios.scenario import ScenarioEvent
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.scores import find_score
from trimtab.sim import simulate_one
from trimtab.sim.spec import RunSpec, Timing


def test_99_of_100_further_values_lie_in_the_interval_of_400() -> None:
    chance = np.random.default_rng(7)
    inside = 0
    for _ in range(500):
        *known, new = chance.exponential(size=SEEDS + 1)
        low, high = interval(known)
        inside += low <= new <= high
    assert 0.98 < inside / 500 < 0.998


def test_the_interval_of_few_values_is_all_of_them() -> None:
    assert interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("outside", "runs", "likely"),
    [
        pytest.param(0, 5, True, id="all inside"),
        pytest.param(1, 5, True, id="one of five may be chance"),
        pytest.param(2, 5, False, id="two of five may not"),
        pytest.param(5, 5, False, id="all outside"),
        pytest.param(1, 1, True, id="one run alone says little"),
    ],
)
def test_how_many_outside_may_be_chance(outside: int, runs: int, likely: bool) -> None:
    lab = (9.0,) * outside + (1.5,) * (runs - outside)
    found = Range(name="evictions", low=1.0, median=1.5, high=2.0, lab=lab)
    assert (found.outside, found.likely) == (outside, likely)


def test_the_chance_of_none_outside_or_more_is_one() -> None:
    assert chance_of(0, 5) == 1.0
    assert chance_of(5, 5) == pytest.approx(0.01**5)


def test_figures_of_a_recorded_run() -> None:
    found = figures_of_lab(a_run(), CYCLES)
    assert found.evictions == 16
    assert found.converged_s == inf
    assert found.deviation == pytest.approx(np.std([0.8, 0.52, 0.2]))
    assert figures_of_lab(a_run(), 3).evictions == 6


def test_how_long_migrations_took_to_begin_is_measured() -> None:
    run = a_run()
    assert reaction_of(run) == 0.0  # no victim ever ran elsewhere
    first = next(iter(run.cycles[0].notes)).pod.partition("/")[2]
    number = int(first.removeprefix("vm-"))
    target = replace(a_pod(number, "n3"), uid="another")
    began = moment(run.cycles[0].began)
    moved = PodVersion(began + 0.4, target)
    assert reaction_of(replace(run, pods=(*run.pods, moved))) == pytest.approx(4.0)


def an_order(score: str = SCORE, **changes: object) -> LabRunOrder:
    scenario = replace(one_hot_node(), **changes)
    return LabRunOrder(scenario=scenario, score=find_score(score), policy=DEFAULT_POLICY, cycles=10)


def test_simulated_runs_predict_simulated_runs_and_neither_nothing_nor_another_score() -> None:
    order = an_order("linear_amplified_ippd_k3")
    runs = simulated(order, 60.0, 35)
    known, others = runs[:30], runs[30:]
    assert judge(Subject("x", SCORE), [], ranges(known, others)).passed
    nothing = simulated(order, 60.0, 30, score=None)
    assert not judge(Subject("x", SCORE), [], ranges(nothing, others)).passed
    wrong = simulated(order, 60.0, 30, score="memory_focused")
    assert not judge(Subject("x", SCORE), [], ranges(wrong, others)).passed


def test_a_simulated_run_is_looked_at_as_a_scrape_would() -> None:
    """One VM that spikes in its second minute, moved in its third."""
    spike = Steps(((0.0, 0.1), (60.0, 0.9), (120.0, 0.1)))
    vm = replace(a_vm("v", node="n0"), cpu_load=spike)
    scenario = a_scenario(
        nodes(2), [vm], duration_s=240.0, events=[ScenarioEvent(125.0, "drain", "n0")]
    )
    timing = Timing(random_phases=False)
    outcome = simulate_one(RunSpec(scenario, score=None, timing=timing), 1)
    cpu, _ = ScrapedLoads(scenario, 4, timing, 10.0).shares(outcome)
    use = float(vm.cpu.nano) / float(scenario.nodes[0].cpu.nano)
    wanted = [[0.1 * use, 0], [0.1 * use, 0], [0.9 * use, 0], [0, 0.1 * use]]
    assert np.allclose(cpu, wanted)  # scrapes at -5, 55, 115, 175


def test_a_run_that_never_converges_is_outside_of_those_that_do() -> None:
    known = [RunFigures(10, 120.0, 0.1)] * 50
    found = {each.name: each for each in ranges(known, [RunFigures(10, inf, 0.1)] * 5)}
    assert found["converged_s"].outside == 5
    assert not found["converged_s"].likely
    assert found["evictions"].outside == 0


def test_a_resting_policy_evicts_nothing_and_changes_nothing_else() -> None:
    at_rest, at_work = read_policy(resting(DEFAULT_POLICY)), read_policy(DEFAULT_POLICY)
    assert at_rest.max_total == 0
    assert at_rest.profiles == at_work.profiles


def test_what_cannot_be_predicted_is_refused() -> None:
    with pytest.raises(ConfigError, match="its events come at the lab's own time"):
        playable(an_order(events=(ScenarioEvent(60.0, "fail", "n1"),)))
    playable(an_order())
