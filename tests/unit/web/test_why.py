"""A click answers what the commands answer."""

import pytest

from builders.worlds.snapshots import a_snapshot, with_vms
from trimtab.balance.document import alternative_of
from trimtab.balance.explain import explain_vm
from trimtab.balance.from_snapshot import problem_from
from trimtab.balance.planner import make_plan
from trimtab.errors import ConfigError
from trimtab.model.snapshot import Snapshot
from trimtab.prom.client import Sample
from trimtab.scores import CATALOG
from trimtab.scores.prometheus.records import score_record
from trimtab.truth.explain.explanation import explain
from trimtab.web.why import Answers

HOT = {"hot": 80.0, "warm": 40.0, "cold": 10.0}


@pytest.fixture
def snapshot() -> Snapshot:
    return with_vms(a_snapshot(HOT))


def test_a_node_is_explained_as_trimtab_explain_does(snapshot: Snapshot) -> None:
    explained = explain(snapshot, search=False).explanation
    for node in explained.runs[0].nodes:
        answer = Answers(snapshot).node(node.name)
        (run,) = answer.runs
        assert run.node == node
        assert run.pods == tuple(p for p in explained.runs[0].pods if p.node == node.name)
        assert answer.verdict == explained.verdict


def test_a_vm_is_explained_as_trimtab_balance_does(snapshot: Snapshot) -> None:
    problem = problem_from(snapshot)
    plan = make_plan(problem)
    for number, name in enumerate(problem.vms):
        told = explain_vm(problem, plan, number)
        answer = Answers(snapshot).vm(name)
        assert answer.why == told.text
        assert answer.targets == tuple(alternative_of(problem, each) for each in told.targets)
        assert len(answer.pods) == 1


def test_each_recorded_score_is_tried_on_this_cycle(snapshot: Snapshot) -> None:
    name = next(iter(CATALOG))
    record = score_record(name, "avg1m")
    samples = [
        Sample({"__name__": record, "instance": node}, 0.0, value)
        for node, value in {"hot": 0.1, "warm": 0.1, "cold": 0.9}.items()
    ]
    answers = {each.name: each for each in Answers(snapshot).scores(samples)}
    assert set(answers) == set(CATALOG)
    assert answers[name].over == ("cold",)
    assert answers[name].evictions > 0
    assert answers[name].values == {"hot": 0.1, "warm": 0.1, "cold": 0.9}
    assert all(each.problem for other, each in answers.items() if other != name)


@pytest.mark.parametrize("ask", ["node", "vm"])
def test_what_is_not_there_is_an_error_that_says_so(snapshot: Snapshot, ask: str) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        getattr(Answers(snapshot), ask)("nobody")
