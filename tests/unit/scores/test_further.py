"""The further scores do what they promise about the complaint they answer."""

import numpy as np
import pytest

from trimtab.scores import CATALOG, evaluate, evaluate_means, window
from trimtab.scores.arrays.window import Floats

TIMES = np.arange(40) * 15.0
DEFAULT = CATALOG["linear_amplified_ippd_k3"]


def steady(samples: int = 40, nodes: int = 5, level: float = 0.4) -> Floats:
    """Inputs (samples, nodes, 6): CPU at `level`, everything else idle."""
    values = np.zeros((samples, nodes, 6))
    values[:, :, 0] = level
    return values


def last(name: str, values: Floats) -> Floats:
    return np.asarray(evaluate(CATALOG[name], window(values, TIMES[: len(values)]))[0])


@pytest.mark.parametrize("name", ["sustained", "stable_ippd_k3"])
def test_a_spike_of_a_minute_is_not_believed(name: str) -> None:
    values = steady()
    values[-4:, 0, 0] = 1.0
    assert evaluate(DEFAULT, window(values, TIMES))[0, 0] == 1.0
    assert last(name, values)[0] < 0.3


def test_a_load_that_stays_is_believed_in_the_end() -> None:
    values = steady()
    values[-24:, 0, 0] = 1.0
    assert last("sustained", values)[0] == 1.0


def test_a_dip_of_a_minute_makes_no_node_a_target() -> None:
    """One of five nodes is high all the time but for the last minute; it keeps the mean."""
    values = steady()
    values[:, 0, 0] = 0.6
    values[-3:, 0, 0] = 0.0
    assert evaluate(DEFAULT, window(values, TIMES))[0, 0] == 0.0
    scores = last("sustained", values)
    assert scores[0] > scores[1:].max()


def test_a_falling_node_is_left_alone_and_a_rising_one_is_not() -> None:
    values = steady()
    values[:, 0, 0] = np.linspace(0.9, 0.5, 40)
    values[:, 1, 0] = np.linspace(0.1, 0.5, 40)
    now, ahead = evaluate(DEFAULT, window(values, TIMES))[0], last("predictive", values)
    assert ahead[0] < now[0]
    assert ahead[1] > now[1]


def test_of_two_nodes_with_one_mean_the_restless_one_is_riskier() -> None:
    values = steady()
    values[:, 0, 0] += np.where(np.arange(40) % 8 < 4, 0.2, -0.2)  # a minute up, a minute down
    scores = last("risk", values)
    assert scores[0] > 0.2
    assert scores[1:].max() == 0.0


def test_an_outlier_does_not_change_what_is_normal() -> None:
    """The second node is 20 points above the rest; a huge one hides that from the mean."""
    values = np.zeros((1, 9, 4))
    values[0, :, 0] = [3.0, 0.5, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]
    assert evaluate_means(DEFAULT, values)[0, 1] == 0.0
    assert evaluate_means(CATALOG["robust"], values)[0, 1] > 0.5


def test_noise_in_a_level_cluster_is_not_magnified() -> None:
    values = np.zeros((1, 9, 4))
    values[0, :, 0] = 0.5 + np.linspace(-0.01, 0.01, 9)
    assert evaluate_means(CATALOG["robust"], values).max() < 0.01


def test_a_node_whose_vms_are_on_their_way_out_is_not_hot() -> None:
    values = np.zeros((1, 4, 6))
    values[0, :, 0], values[0, 0, :2] = 0.4, (0.9, 0.5)
    assert evaluate_means(CATALOG["in_flight_aware"], values)[0, 0] == 1.0
    values[0, 0, 4] = -0.6  # leaving node 0
    values[0, 3, 4] = 0.6  # arriving at node 3
    scores = evaluate_means(CATALOG["in_flight_aware"], values)[0]
    assert scores[0] < 0.4  # what is left is a third of the pressure
    assert scores[3] == 1.0


def test_without_migrations_in_flight_awareness_changes_nothing() -> None:
    values = np.random.default_rng(1).random((3, 8, 4))
    aware = evaluate_means(CATALOG["in_flight_aware"], values)
    np.testing.assert_array_equal(aware, evaluate_means(DEFAULT, values))


def test_one_exhausted_input_fills_the_volume() -> None:
    values = np.array([[[0.1, 0.0, 1.0, 0.0], [0.5, 0.0, 0.5, 0.0]]])
    np.testing.assert_allclose(evaluate_means(CATALOG["volume"], values), [[1.0, 0.75]])
