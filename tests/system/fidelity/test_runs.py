"""Three scenarios in the lab, five times each, beside 400 simulated runs of each."""

import msgspec
import pytest

from builders.labs.fidelity import a_bench
from builders.worlds.fidelity import doing_nothing
from trimtab.fidelity.recording import LabRun
from trimtab.fidelity.runs import SEEDS, figures_of_lab, ranges
from trimtab.fidelity.session import Examination, examine, simulated
from trimtab.fidelity.table import show_verdict
from trimtab.fidelity.verdict import ScenarioVerdict, judge, judge_steps
from trimtab.scores import find_score
from trimtab.stacks.loop.connection import Loop

pytestmark = [pytest.mark.engines, pytest.mark.full]
RUNS = 5
CYCLES = 12
WRONG = "pressure_focused"


@pytest.mark.parametrize("scenario", ["one-hot-node", "heterogeneous-nodes", "spiky"])
def test_the_lab_is_predicted_and_nothing_else_would_have_been(
    tmp_path_factory: pytest.TempPathFactory, scenario: str
) -> None:
    kept: list[LabRun] = []
    folder = tmp_path_factory.mktemp("recordings")

    def keep(number: int, run: LabRun) -> None:
        kept.append(run)
        (folder / f"run-{number}.json").write_bytes(msgspec.json.encode(run))

    async def examined(asked: Loop) -> ScenarioVerdict:
        wanted = Examination(order=order, runs=RUNS)
        return await examine(asked, wanted, print, keep)

    with a_bench(tmp_path_factory, scenario, cycles=CYCLES, scale=15) as (loop, order):
        verdict = loop.ask(examined)
    show_verdict(verdict)
    assert verdict.problems == (), folder
    for run in kept:
        assert not judge_steps(run, order.score, doing_nothing).passed
        assert not judge_steps(run, find_score(WRONG)).passed
    figures = [figures_of_lab(run, CYCLES) for run in kept]
    for wrong in (None, WRONG):
        imagined = simulated(order, 60.0, SEEDS, score=wrong, reaction_s=verdict.subject.reaction_s)
        assert not judge(verdict.subject, [], ranges(imagined, figures)).passed
