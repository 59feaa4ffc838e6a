"""The shortcut for idle cycles never decides anything else than the full decision."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.worlds.policy import default_policy
from trimtab.policy.cycle import Class
from trimtab.policy.decision import decide
from trimtab.policy.file.reader import load_policy
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.view import PlainNode, Vector, View
from trimtab.sim.descheduling.idle_cycles import find_idle, span_of

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
LABELS = {"kubevirt.io/schedulable": "true"}


class Scored(View):
    def __init__(self, scores: list[float], cordoned: list[bool]) -> None:
        nodes = [
            PlainNode(name=f"n{i}", labels=LABELS, unschedulable=closed)
            for i, closed in enumerate(cordoned)
        ]
        super().__init__(nodes)
        self._scores = scores

    def samples(self) -> Vector:
        return Vector([node.name for node in self.nodes], np.array(self._scores))


# Whole percents make equal means and nodes on a threshold likely.
percents = st.integers(0, 100).map(lambda percent: percent / 100)
nodes = st.lists(st.tuples(st.one_of(percents, st.floats(0, 1)), st.booleans()), min_size=2)


@given(nodes, st.sampled_from([(0.0, 10.0), (10.0, 10.0), (0.0, 0.0)]))
def test_an_idle_replica_has_the_classes_and_thresholds_of_the_full_decision(
    found: list[tuple[float, bool]], span: tuple[float, float]
) -> None:
    scores, cordoned = [score for score, _ in found], [closed for _, closed in found]
    seen = find_idle(np.array([scores]), span, ~np.array(cordoned))
    run = decide(Scored(scores, cordoned), default_policy().with_thresholds(*span)).runs[0]
    assert run.figures is not None
    if seen.idle[0]:
        assert run.exit is not None
        assert seen.classes[0].tolist() == run.figures.classes.tolist()
        assert seen.low[0] == run.figures.low[METRIC_RESOURCE]
        assert seen.high[0] == run.figures.high[METRIC_RESOURCE]
        assert not run.figures.doubtful
    else:
        near = np.abs(run.figures.percent[METRIC_RESOURCE] - seen.low[0]) < 1e-8
        at_the_top = run.figures.percent[METRIC_RESOURCE] > seen.high[0] - 1e-8
        over = run.figures.classes == Class.OVER
        assert (near | at_the_top | over).any()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("default", (0.0, 10.0)),
        ("deviation-10-10", (10.0, 10.0)),
        ("static-thresholds", None),
        ("requests", None),
        ("high-node-utilization", None),
        ("metrics-server", None),
    ],
)
def test_only_deviation_thresholds_on_a_query_allow_the_shortcut(
    name: str, expected: tuple[float, float] | None
) -> None:
    assert span_of(load_policy(POLICIES / f"{name}.yaml")) == expected
