"""The Pareto score of large clusters: now, and over the last minute of samples."""

import numpy as np
import pytest

from trimtab.exporter.nodes.pareto_sampler import (
    ParetoInputs,
    ParetoSampler,
    Scores,
    compute,
    mean_inputs,
)
from trimtab.exporter.nodes.reading import NodeFigures
from trimtab.scores import evaluate, find_score, window


def a_reading(count: int, level: float = 0.0) -> NodeFigures:
    nodes = tuple(f"n{number:03}" for number in range(count))
    table = np.linspace(0.1, 0.9, 2 * count).reshape(count, 2) + level
    return NodeFigures(nodes, table, table / 2, [0] * count, {}, {})


def a_sample(at: float, **inputs: float) -> ParetoInputs:
    return ParetoInputs(at, tuple(inputs), np.array([[value] * 4 for value in inputs.values()]))


def test_scores_are_those_of_the_catalogue() -> None:
    readings = [a_reading(60, level) for level in (0.0, 0.05)]
    samples = [ParetoInputs(k, each.nodes, each.inputs) for k, each in enumerate(readings)]
    scores = compute(samples)
    values = window(np.stack([each.inputs for each in readings]), [0.0, 1.0])
    score = find_score("pareto_front")
    assert scores.now.tolist() == evaluate(score, values, mode="score")[0].tolist()
    assert scores.mean.tolist() == evaluate(score, values, mode="avg1m")[0].tolist()


def test_the_mean_is_over_the_samples_that_have_the_node() -> None:
    samples = [a_sample(0, a=0.0, gone=9.0), a_sample(1, a=1.0), a_sample(2, a=2.0, b=0.5)]
    assert mean_inputs(samples)[:, 0].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(("scale", "kept"), [(1.0, 12), (15.0, 1)])
def test_a_minute_is_shorter_where_time_goes_faster(scale: float, kept: int) -> None:
    now = 0.0
    fronts = ParetoSampler(lambda: a_reading(60), lambda: scale, lambda: now)
    for _ in range(30):
        now += 5.0
        fronts.sample()
    assert len(fronts._samples) == kept


def test_up_to_fifty_nodes_prometheus_computes_it() -> None:
    count = 51
    fronts = ParetoSampler(lambda: a_reading(count), lambda: 1.0, lambda: 0.0)
    assert fronts.sample() is True
    fronts.latest = compute(list(fronts._samples))
    count = 50
    assert fronts.sample() is False
    assert fronts.latest.nodes == ()


def test_nodes_that_left_since_are_left_out() -> None:
    scores = Scores(("a", "b", "c"), np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.2, 0.3]))
    left = scores.of(("a", "c", "new"))
    assert (left.nodes, left.now.tolist(), left.mean.tolist()) == (
        ("a", "c"),
        [0.0, 1.0],
        [0.1, 0.3],
    )
