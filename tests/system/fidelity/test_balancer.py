"""The balancer in three labs of unlike nodes, beside 400 simulated runs of planned moves."""

import pytest

from builders.labs.loops import EXAMPLES, running_loop
from trimtab.fidelity.balancer import BalancerRun, judge_balancer
from trimtab.fidelity.balancer_lab import watch_balancer
from trimtab.fidelity.table import show_balancer_verdict
from trimtab.model.scenarios.io import load_scenario
from trimtab.sim.spec import VictimChoice
from trimtab.stacks.balancer.stack import BalancerStackSettings, balancer_stack
from trimtab.stacks.loop.connection import Loop

pytestmark = [pytest.mark.engines, pytest.mark.full]
RUNS, SPAN_S, SCALE = 3, 360.0, 5
WRONG: tuple[VictimChoice, ...] = ("stock", "best-fit", "steepest-pair")


def test_the_labs_do_what_planned_moves_predict_and_no_other_choice(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    scenario = load_scenario(EXAMPLES / "scenarios" / "heterogeneous-nodes.yaml")

    async def watched(asked: Loop) -> BalancerRun:
        return await watch_balancer(asked, scenario.name, SPAN_S, print)

    runs = []
    for _ in range(RUNS):
        stacks = (balancer_stack(BalancerStackSettings(mode="act")),)
        with running_loop(
            tmp_path_factory,
            scenario=scenario,
            scale=SCALE,
            beside=stacks,
            settings={"dry_run": True},
        ) as loop:
            runs.append(loop.ask(watched))
    verdict = judge_balancer(scenario, runs, SPAN_S)
    show_balancer_verdict(verdict)
    assert verdict.problems == ()
    for wrong in WRONG:
        assert not judge_balancer(scenario, runs, SPAN_S, victims=wrong).passed
