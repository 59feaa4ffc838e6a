"""NumPy and Prometheus say the same: every score, both modes, clusters made to be difficult.

promtool holds at most 10,000 samples in a query, so the Pareto rules meet clusters of up to 28
nodes here, and larger ones in a running Prometheus (test_live_prometheus.py).
"""

from pathlib import Path

import numpy as np
import pytest

from builders.labs.promtool import Timeline
from builders.worlds.clusters import Cluster, clusters, node_names
from trimtab.scores import CATALOG, evaluate_many, window
from trimtab.scores.arrays.window import Floats
from trimtab.scores.prometheus.pareto_promql import COMPUTED
from trimtab.scores.prometheus.records import RecordingRule
from trimtab.scores.prometheus.rules import EXPORTED, MODES, RuleSettings, recording_rules

pytestmark = pytest.mark.engines

LARGEST_WITH_PAIRS = 28
CLOSED = [score for score in CATALOG.values() if score.reach_s == 0]
LOOKING_BACK = [score for score in CATALOG.values() if score.reach_s > 0]
AVERAGED = [CATALOG["weighted_average"], CATALOG["robust"], CATALOG["in_flight_aware"]]
MOVING = [*AVERAGED, *LOOKING_BACK]


def one_cluster_a_minute(chosen: list[Cluster], largest_with_pairs: int) -> Timeline:
    """The minute before an instant holds one sample, so both modes see the same inputs."""
    time = Timeline(step_s=60)
    for cluster in chosen:
        nodes = node_names(len(cluster.values))
        pairs = len(nodes) <= largest_with_pairs
        at = time.step(nodes, cluster.columns, pairs=pairs)
        for mode in MODES:
            results = evaluate_many(CLOSED, window(cluster.columns), mode=mode)
            for name, result in results.items():
                time.want(name, mode, nodes, at, result[0])
            if not pairs:  # then the exporter computes it and the rules pass it on
                time.give(COMPUTED[mode], nodes, at, results["pareto_front"][0])
    return time


@pytest.mark.parametrize(
    ("rounds", "largest", "with_pairs"),
    [
        pytest.param(2, 14, 14, id="32 clusters of up to 14 nodes, fronts by rules"),
        pytest.param(7, 14, 14, id="112 of up to 14, fronts by rules", marks=pytest.mark.full),
        pytest.param(1, 28, 28, id="16 clusters of up to 28 nodes, fronts by rules"),
        pytest.param(1, 60, 1, id="16 clusters of up to 60 nodes, fronts passed on"),
        pytest.param(5, 60, 1, id="80 of up to 60, fronts passed on", marks=pytest.mark.full),
    ],
)
def test_every_score_agrees(rounds: int, largest: int, with_pairs: int, tmp_path: Path) -> None:
    time = one_cluster_a_minute(clusters(rounds, largest, seed=largest), with_pairs)
    rules = recording_rules(CLOSED, RuleSettings(nodes=with_pairs))
    assert time.check(rules, tmp_path) == ""


# Samples so far at which scores are compared: one alone, a minute not yet full, exactly full,
# one more, five minutes not yet full, full, and the ten minutes of the prediction.
MOMENTS = (1, 2, 3, 4, 5, 11, 20, 21, 40, 47)


@pytest.mark.parametrize("made_for", [3, 50, 60, 1000])
def test_rules_for_any_number_of_nodes_serve_a_small_cluster(made_for: int, tmp_path: Path) -> None:
    """A cluster that shrank sends pairs again, whatever its rules were made for."""
    time = Timeline(60)
    rising = np.outer([0.1, 0.2, 0.3], np.ones(6)) * [1, 1, 1, 1, 0, 0]
    at = time.step(["a", "b", "c"], rising)
    time.want("pareto_front", "score", ["a", "b", "c"], at, np.array([0, 0.5, 1]))
    rules = recording_rules([CATALOG["pareto_front"]], RuleSettings(nodes=made_for))
    assert time.check(rules, tmp_path) == ""


def changing(rng: np.random.Generator, samples: int, nodes: int) -> Floats:
    """Inputs (samples, nodes, 6) that wander, jump, stay and touch zero."""
    drift = np.cumsum(rng.normal(0, 0.05, (samples, nodes, 4)), axis=0)
    jumps = (rng.random((samples, nodes, 4)) < 0.05) * rng.random((samples, nodes, 4))
    loads = np.clip(rng.random((nodes, 4)) + drift + jumps, 0, [3, 1, 1, 1])
    loads[:, 0] = loads[0, 0]  # one node that never changes
    in_flight = rng.uniform(-0.3, 0.3, (samples, nodes, 2)) * (
        rng.random((samples, nodes, 2)) < 0.3
    )
    return np.concatenate([loads, in_flight], axis=2)


def cluster_after_cluster(lengths: list[int], step_s: int) -> Timeline:
    """Each cluster has nodes of its own, so windows never reach into the one before."""
    time = Timeline(step_s)
    for turn, samples in enumerate(lengths):
        rng = np.random.default_rng([20, turn])
        nodes = node_names(int(rng.integers(1, 9)), prefix=f"c{turn:02d}")
        values = changing(rng, samples, len(nodes))
        for k in range(samples):
            at = time.step(nodes, values[k], pairs=False)
            if k + 1 not in MOMENTS:
                continue
            samples_so_far = window(values[: k + 1], np.arange(k + 1) * float(step_s))
            for mode in MODES:
                for name, result in evaluate_many(MOVING, samples_so_far, mode=mode).items():
                    time.want(name, mode, nodes, at, result[0])
    return time


@pytest.mark.parametrize(
    ("lengths", "step_s"),
    [
        pytest.param([20] * 6, 15, id="twenty samples"),
        pytest.param([20] * 16, 15, id="twenty samples, more clusters", marks=pytest.mark.full),
        pytest.param([47] * 4, 15, id="more than any window holds"),
        pytest.param([21] * 4, 45, id="one sample or two in a minute"),
    ],
)
def test_windows_of_many_samples_agree(lengths: list[int], step_s: int, tmp_path: Path) -> None:
    time = cluster_after_cluster(lengths, step_s)
    assert time.check(recording_rules(MOVING, RuleSettings()), tmp_path) == ""


@pytest.mark.parametrize(
    ("series", "value"),
    [
        pytest.param('node_cpu_usage_ratio{node="odd"}', 0.9, id="three inputs are missing"),
        pytest.param('node_memory_usage_ratio{node="node-001",job="old"}', -1.0, id="a replica"),
        pytest.param('trimtab_node_leaving_cpu_ratio{node="gone"}', 0.5, id="a node that left"),
        pytest.param('trimtab_node_leaving_cpu_ratio{node="node-001"}', np.nan, id="no number"),
        pytest.param('trimtab_node_pair{node="node-001",other="gone"}', 0.0, id="an old pair"),
    ],
)
def test_odd_series_change_nobodys_score(series: str, value: float, tmp_path: Path) -> None:
    cluster = Cluster("three", np.random.default_rng(3).random((3, 4)), np.zeros((3, 2)))
    time = one_cluster_a_minute([cluster] * 3, 3)
    for at in range(3):
        time.put(series, at, value)
    assert time.check(recording_rules(CLOSED, RuleSettings(nodes=3)), tmp_path) == ""


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["NaN", "+Inf"])
def test_a_node_with_an_impossible_input_leaves_the_others_alone(
    value: float, tmp_path: Path
) -> None:
    """It has no score, and the means of the others are as if it were not there."""
    cluster = Cluster("three", np.random.default_rng(4).random((3, 4)), np.zeros((3, 2)))
    time = one_cluster_a_minute([cluster] * 3, 3)
    for at in range(3):
        for series, given in zip(EXPORTED.values(), (0.9, value, 0.9, 0.9), strict=True):
            time.put(f'{series}{{node="odd"}}', at, given)
    assert time.check(recording_rules(CLOSED, RuleSettings(nodes=3)), tmp_path) == ""


def test_a_factor_wrong_in_the_eighth_digit_is_noticed(tmp_path: Path) -> None:
    time = one_cluster_a_minute(clusters(1, 4), 4)
    rules = recording_rules(CLOSED, RuleSettings(nodes=4))
    wrong = [
        RecordingRule(r.record, r.expr.replace("(3 * ", "(3.0000001 * "), r.labels) for r in rules
    ]
    assert time.check(rules, tmp_path) == ""
    complaint = time.check(wrong, tmp_path)
    assert "wrong:linear_amplified_ippd_k3:score" in complaint
    assert "wrong:linear_amplified_ippd_k5:score" not in complaint
