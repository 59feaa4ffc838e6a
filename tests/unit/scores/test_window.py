"""What a window refuses, and what the back end says about a score that is not a number."""

import numpy as np
import pytest

from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, Window, define, evaluate, evaluate_means, window
from trimtab.scores.inputs import cpu_usage, memory_usage
from trimtab.scores.language import sqrt


@pytest.mark.parametrize(
    ("shape", "times", "message"),
    [
        pytest.param((1, 1, 2, 5), [0], "4 or 6 columns", id="five columns"),
        pytest.param((1, 2, 2, 4), [0], "2 samples but 1 times", id="a time is missing"),
        pytest.param((1, 2, 2, 4), [15, 0], "do not increase", id="time runs backwards"),
        pytest.param((1, 2, 2, 4), [15, 15], "do not increase", id="time stands still"),
        pytest.param((1, 1, 0, 4), [0], "no nodes", id="nobody there"),
        pytest.param((1, 0, 2, 4), [], "0 samples", id="nothing seen"),
    ],
)
def test_impossible_windows_are_refused(
    shape: tuple[int, ...], times: list[float], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Window(np.zeros(shape), np.array(times, dtype=np.float64))


def test_a_missing_input_is_named() -> None:
    values = np.zeros((1, 1, 3, 4))
    values[0, 0, 2, 1] = np.nan
    with pytest.raises(ConfigError, match="cpu_pressure of node 2 at sample 0 is not a number"):
        window(values)


def test_negative_inputs_count_as_zero_as_the_base_rules_say() -> None:
    values = np.array([[[-0.5, 0.0, 0.4, 0.0], [0.5, 0.0, 0.4, 0.0]]])
    np.testing.assert_allclose(evaluate_means(CATALOG["cpu_focused"], values), [[0, 0.35]])


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(cpu_usage / memory_usage, id="division by zero"),
        pytest.param(sqrt(cpu_usage - 1), id="root of a negative number"),
    ],
)
def test_a_score_that_is_not_a_number_is_an_error_that_names_the_node(expression: object) -> None:
    score = define("mine", expression, formula="")  # type: ignore[arg-type]
    values = np.array([[[2.0, 0, 0.5, 0], [0.0, 0, 0.0, 0]]])
    with pytest.raises(ConfigError, match='score "mine": the result of node 1 is not a number'):
        evaluate_means(score, values)


def test_one_minute_of_means_is_not_enough_for_a_score_that_looks_further_back() -> None:
    with pytest.raises(ConfigError, match='"sustained": it looks back 360 s'):
        evaluate_means(CATALOG["sustained"], np.zeros((1, 2, 4)))


def test_missing_axes_are_added_in_front() -> None:
    assert window(np.zeros((3, 4))).values.shape == (1, 1, 3, 4)
    assert window(np.zeros((2, 3, 4)), [0, 15]).values.shape == (1, 2, 3, 4)


def test_a_number_alone_scores_every_node_alike() -> None:
    score = define("half", 0 * cpu_usage + 0.5, formula="0.5")
    assert evaluate(score, window(np.ones((3, 4)))).tolist() == [[0.5, 0.5, 0.5]]
