"""The catalogue against values worked out by hand, and against what every score must keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders.examples import examples
from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, CLASSIC, Mode, evaluate, evaluate_means, find_score, window
from trimtab.scores.arrays.window import Floats

NAMES = [
    "weighted_average",
    "max_metric",
    "euclidean_distance",
    "pressure_focused",
    "weighted_rms_positive_deviation",
    "weighted_mean_square_positive_deviation",
    "linear_weighted_positive_deviation",
    "pareto_front",
    "centroid_distance",
    "directional_centroid_distance",
    "variance_minimization",
    "directional_variance_minimization",
    "critical_dimension_focus",
    "ideal_point_positive_distance",
    "linear_amplified_ippd_k1",
    "linear_amplified_ippd_k3",
    "linear_amplified_ippd_k5",
    "cpu_focused",
    "memory_focused",
]

# hot (CPU above 1), medium, idle. Means: 0.8, 0.2, 0.5, 0.1;
# excesses of hot: 0.7, 0.4, 0, 0.2; of medium: 0, 0, 0.1, 0; of idle: none.
HOT = (1.5, 0.6, 0.5, 0.3)
MEDIUM = (0.8, 0.0, 0.6, 0.0)
IDLE = (0.1, 0.0, 0.4, 0.0)
D_HOT = np.array([0.7, 0.4, 0.0, 0.2])
D_IDLE = np.array([-0.7, -0.2, -0.1, -0.1])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("weighted_average", [2.9 / 4, 1.4 / 4, 0.5 / 4]),
        ("max_metric", [1, 0.8, 0.4]),
        ("euclidean_distance", [np.sqrt(2.95) / 2, 0.5, np.sqrt(0.17) / 2]),
        ("pressure_focused", [1.9 / 3, 0.7 / 3, 0.25 / 3]),
        ("weighted_rms_positive_deviation", [np.sqrt(0.1435), np.sqrt(0.0015), 0]),
        ("weighted_mean_square_positive_deviation", [0.1435, 0.0015, 0]),
        ("linear_weighted_positive_deviation", [0.315, 0.015, 0]),
        ("centroid_distance", [1, np.sqrt(0.06 / 0.69), np.sqrt(0.55 / 0.69)]),
        ("directional_centroid_distance", [1, 0.1 / np.sqrt(0.69), 0]),
        ("variance_minimization", [1, np.sqrt(0.11 / 0.89), np.sqrt(0.6 / 0.89)]),
        ("directional_variance_minimization", [1, 0.1 / 1.9, 0]),
        ("critical_dimension_focus", [1, 0, 0]),
        ("ideal_point_positive_distance", [np.sqrt(0.69), 0.1, 0]),
        ("linear_amplified_ippd_k1", [np.sqrt(0.69), 0.1, 0]),
        ("linear_amplified_ippd_k3", [1, 0.3, 0]),
        ("linear_amplified_ippd_k5", [1, 0.5, 0]),
        ("cpu_focused", [1, 0.56, 0.07]),
        ("memory_focused", [0.44, 0.42, 0.28]),
        ("volume", [1, 0.92, 0.46]),
    ],
)
def test_three_nodes_worked_out_by_hand(name: str, expected: list[float]) -> None:
    values = np.array([[HOT, MEDIUM, IDLE]])
    np.testing.assert_allclose(evaluate_means(CATALOG[name], values)[0], expected, atol=1e-12)


def test_the_catalogue_has_the_nineteen_names_users_know() -> None:
    assert sorted(s.name for s in CLASSIC) == sorted(NAMES)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_long_name_of_an_amplified_score_finds_it(k: int) -> None:
    alias = f"linear_amplified_ideal_point_positive_distance:k{k}"
    assert find_score(alias) is CATALOG[f"linear_amplified_ippd_k{k}"]


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match='did you mean "max_metric"'):
        find_score("max_metrik")


def test_every_score_says_when_to_choose_it_and_when_not() -> None:
    assert [s.name for s in CATALOG.values() if not (s.formula and s.choose and s.weakness)] == []
    assert [s.name for s in CATALOG.values() if s not in CLASSIC and not s.answers] == []


clusters = st.integers(1, 6).flatmap(
    lambda n: arrays(
        np.float64,
        (2, 5, n, 6),
        elements=st.floats(0, 2, width=32) | st.sampled_from([0.0, 0.5, 1.0]),
    )
)


@pytest.mark.parametrize("mode", ["score", "avg1m"])
@settings(max_examples=examples(20), deadline=None)
@given(values=clusters)
def test_every_score_of_every_cluster_is_between_zero_and_one(mode: Mode, values: Floats) -> None:
    samples = window(values, np.arange(5) * 15.0)
    for score in CATALOG.values():
        result = evaluate(score, samples, mode=mode)
        assert result.shape == (2, values.shape[2])
        assert ((result >= 0) & (result <= 1)).all(), score.name


@settings(max_examples=examples(20), deadline=None)
@given(values=arrays(np.float64, 4, elements=st.floats(0, 1)), nodes=st.integers(1, 40))
def test_identical_nodes_get_identical_scores_and_no_deviation(values: Floats, nodes: int) -> None:
    alike = np.broadcast_to(values, (1, nodes, 4)).copy()
    for score in CLASSIC:
        result = evaluate_means(score, alike)[0]
        if score.name == "pareto_front":  # first and last by name are infinite, the rest halfway
            assert set(result) <= {0.0, 0.05}
        else:
            assert np.ptp(result) <= 1e-9, score.name


@settings(max_examples=examples(20), deadline=None)
@given(values=clusters)
def test_replicas_do_not_know_of_each_other_to_the_last_bit(values: Floats) -> None:
    times = np.arange(5) * 15.0
    for score in CATALOG.values():
        together = evaluate(score, window(values, times))
        alone = [evaluate(score, window(values[r], times))[0] for r in range(2)]
        assert together.tolist() == np.array(alone).tolist(), score.name
