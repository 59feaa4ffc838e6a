"""The balancer's labs beside simulated runs: who is believed, who is not, what is not compared."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from builders.worlds.sim import one_hot_node
from trimtab.errors import ConfigError
from trimtab.fidelity import balancer
from trimtab.fidelity.balancer import (
    BalancerMove,
    BalancerPlan,
    BalancerRun,
    Pace,
    comparable,
    judge_balancer,
    paces_of,
    reaction_of,
    simulated,
)
from trimtab.fidelity.runs import ScrapedLoads
from trimtab.model.examples import example_path
from trimtab.model.load.curve import Steps
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario, ScenarioEvent
from trimtab.sim import simulate, simulate_one
from trimtab.sim.outcome import Outcome
from trimtab.sim.spec import RunSpec, Timing, VictimChoice

SPAN_S, PLAN_S, REACTION_S = 360.0, 21.0, 5.0
SEEDS = 6


@cache
def unlike_nodes() -> Scenario:
    return load_scenario(example_path(Path("heterogeneous-nodes"), "scenarios"))


@cache
def a_lab() -> BalancerRun:
    """What a lab would record that does what the simulator says."""
    scenario = replace(unlike_nodes(), duration_s=SPAN_S)
    timing = Timing(descheduling_s=PLAN_S, reaction_s=REACTION_S, random_phases=False)
    spec = RunSpec(scenario, victims="planned", thresholds=(0.0, 5.0), limits=(3, 1), timing=timing)
    outcome = simulate_one(spec, 0)
    made = sorted({move.requested_s for move in outcome.moves})
    loads = ScrapedLoads(scenario, 24, replace(timing, descheduling_s=15.0), 0.0)
    cpu, memory = loads.shares(outcome)
    names = [node.name for node in scenario.nodes]
    return BalancerRun(
        scenario=scenario.name,
        plans=tuple(BalancerPlan(at, 2, 0) for at in made),
        moves=tuple(
            BalancerMove(move.vm, move.target or "", move.requested_s + 5.0, move.ended_s or 0.0)
            for move in outcome.moves
        ),
        failed=0,
        vms=len(scenario.vms),
        times=tuple(loads.times),
        cpu=dict(zip(names, map(tuple, cpu.T.tolist()), strict=True)),
        memory=dict(zip(names, map(tuple, memory.T.tolist()), strict=True)),
    )


@pytest.fixture(autouse=True, scope="module")
def simulated_once() -> Iterator[None]:
    """Most labs are judged beside the same simulated runs."""
    runs: dict[str, list[Outcome]] = {}

    def remembered(spec: RunSpec, seeds: Sequence[int]) -> list[Outcome]:
        key = repr((spec, seeds))
        if key not in runs:
            runs[key] = simulate(spec, seeds)
        return runs[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(balancer, "simulate", remembered)
        yield


def test_a_lab_that_does_what_was_simulated_is_believed() -> None:
    verdict = judge_balancer(unlike_nodes(), [a_lab()] * 3, SPAN_S, seeds=SEEDS)
    assert verdict.problems == ()
    assert (verdict.plan_s, verdict.reaction_s) == (PLAN_S, REACTION_S)
    assert [each.lab for each in verdict.ranges if each.name == "migrations"] == [(16.0,) * 3]


@pytest.mark.parametrize("wrong", ["stock", "best-fit", "steepest-pair"])
def test_another_choice_of_vms_is_told_apart(wrong: VictimChoice) -> None:
    verdict = judge_balancer(unlike_nodes(), [a_lab()] * 3, SPAN_S, victims=wrong, seeds=SEEDS)
    assert any(text.startswith("migrations: 3 of 3 runs") for text in verdict.problems)


def test_a_lab_that_goes_on_moving_is_not_believed() -> None:
    lab = a_lab()
    more = replace(lab, moves=(*lab.moves, replace(lab.moves[-1], ended=SPAN_S - 1.0)))
    verdict = judge_balancer(unlike_nodes(), [more] * 3, SPAN_S, seeds=SEEDS)
    outside = {each.name for each in verdict.ranges if not each.likely}
    assert outside == {"migrations", "settled_s"}


def test_a_lab_that_is_less_level_is_not_believed() -> None:
    lab = a_lab()
    worse = {node: tuple(np.array(values) * 1.2) for node, values in lab.cpu.items()}
    verdict = judge_balancer(unlike_nodes(), [replace(lab, cpu=worse)] * 3, SPAN_S, seeds=SEEDS)
    assert {each.name for each in verdict.ranges if not each.likely} == {"cpu_mean", "cpu_last"}


def test_a_lab_that_planned_too_early_or_failed_is_said_to_be_no_evidence() -> None:
    lab = replace(a_lab(), vms=70, failed=1)
    verdict = judge_balancer(unlike_nodes(), [lab], SPAN_S, seeds=SEEDS)
    assert verdict.problems == (
        "run 1: the first plan was made when 70 VMs of 72 ran",
        "run 1: 1 migrations failed",
    )


def test_the_pace_is_that_of_the_labs_plans() -> None:
    plans = (BalancerPlan(0.0, 2, 0), BalancerPlan(20.0, 1, 2), BalancerPlan(50.0, 1, 0))
    moves = (BalancerMove("a", "n", 4.0, 9.0), BalancerMove("b", "n", 26.0, 31.0))
    run = replace(a_lab(), plans=plans, moves=moves)
    assert paces_of([run]) == [Pace(20.0), Pace(30.0, at_once=1)]
    assert reaction_of([run]) == 5.0


def test_a_plan_that_begins_less_than_it_might_takes_longer() -> None:
    def settled(pace: Pace) -> float:
        return simulated(unlike_nodes(), 600.0, [pace], seeds=1)[0].settled_s

    assert settled(Pace(PLAN_S, at_once=1)) > 1.5 * settled(Pace(PLAN_S))


def test_one_plan_has_no_pace() -> None:
    with pytest.raises(ConfigError, match="one plan was enough, or none"):
        simulated(unlike_nodes(), SPAN_S, [], seeds=SEEDS)


def test_what_happens_at_the_labs_own_time_is_refused() -> None:
    scenario = one_hot_node()
    comparable(scenario)
    with pytest.raises(ConfigError, match="its events come at the lab's own time"):
        comparable(replace(scenario, events=(ScenarioEvent(60.0, "fail", "n1"),)))
    restless = replace(scenario.vms[0], cpu_load=Steps(((0.0, 0.1), (60.0, 0.9))))
    with pytest.raises(ConfigError, match="its loads change with the lab's own time"):
        comparable(replace(scenario, vms=(restless, *scenario.vms[1:])))
