"""Each cycle of the real descheduler is predicted from what was recorded just before it."""

import pytest

from builders.labs.loops import ONE_HOT_NODE, LoopLab
from trimtab.fidelity.lab import Order, play
from trimtab.fidelity.recording import LabRun
from trimtab.fidelity.steps import doing_nothing
from trimtab.fidelity.verdict import judge_steps
from trimtab.model.scenarios.io import load_scenario
from trimtab.policy import DEFAULT_POLICY
from trimtab.scores import find_score

pytestmark = pytest.mark.engines


def check(run: LabRun) -> None:
    """Everything is predicted; neither nothing nor another score would have been."""
    verdict = judge_steps(run, find_score(run.score))
    print(
        f"\n{run.scenario}: {len(verdict.steps)} cycles, {verdict.evictions} evictions, "
        f"{verdict.scores} scores, largest error {verdict.largest_error:.1e}, "
        f"{verdict.late_scrapes} late scrapes, {verdict.unsure} unsure"
    )
    assert verdict.problems == ()
    assert not judge_steps(run, find_score(run.score), doing_nothing).passed
    wrong = judge_steps(run, find_score("pressure_focused"))
    assert not wrong.passed
    assert any(step.wrong_usage for step in wrong.steps)


def test_every_cycle_of_a_hot_node_is_predicted(loop: LoopLab) -> None:
    order = Order(
        scenario=load_scenario(ONE_HOT_NODE),
        score=find_score("linear_amplified_ippd_k3"),
        policy=DEFAULT_POLICY,
        cycles=12,
    )
    check(loop.ask(lambda asked: play(asked, order, print)))
