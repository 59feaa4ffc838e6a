"""Scores of one's own, from a Python file."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from trimtab.errors import ConfigError
from trimtab.scores import (
    CATALOG,
    RuleSettings,
    choose_score,
    evaluate_means,
    load_score_file,
    rule_groups,
)

MEMORY_FIRST = """
from trimtab.scores import define
from trimtab.scores.language import clamp, mean, record
from trimtab.scores.inputs import cpu_usage, memory_usage

SPARE = record("spare_memory", clamp(1 - memory_usage, low=0))
SCORE = define("memory_first", 0.2 * cpu_usage + (1 - SPARE) * mean(memory_usage), formula="mine")
"""


def written(directory: Path, text: str) -> Path:
    path = directory / "mine.py"
    path.write_text(text)
    return path


def test_a_file_gives_a_score_that_works_like_any_other(tmp_path: Path) -> None:
    score = load_score_file(written(tmp_path, MEMORY_FIRST))
    values = np.array([[[0.5, 0, 0.2, 0], [0.5, 0, 0.6, 0]]])
    np.testing.assert_allclose(evaluate_means(score, values), [[0.18, 0.34]])
    records = [getattr(r, "record", "") for r in rule_groups([score], RuleSettings())[0].rules]
    assert "descheduler:node:memory_first:avg1m" in records
    assert "descheduler:node:spare_memory:now" in records


def test_a_name_that_ends_in_py_is_a_file(tmp_path: Path) -> None:
    assert choose_score(str(written(tmp_path, MEMORY_FIRST))).name == "memory_first"
    assert choose_score("robust") is CATALOG["robust"]


def test_a_score_of_ones_own_may_build_on_one_of_ours(tmp_path: Path) -> None:
    text = """
from trimtab.scores import CATALOG, define
from trimtab.scores.language import quantile_over

MEDIAN = define("calm_volume", quantile_over(0.5, CATALOG["volume"].value, 300), formula="q50")
"""
    score = load_score_file(written(tmp_path, text))
    assert score.lookback_s == 360
    groups = rule_groups([CATALOG["volume"], score], RuleSettings())
    records = [getattr(r, "record", "") for r in groups[0].rules]
    assert records.count("descheduler:node:volume:score") == 1


def test_scores_travel_between_processes(tmp_path: Path) -> None:
    score = load_score_file(written(tmp_path, MEMORY_FIRST))
    copy = pickle.loads(pickle.dumps(score))
    values = np.random.default_rng(1).random((1, 4, 4))
    assert evaluate_means(copy, values).tolist() == evaluate_means(score, values).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("x = 1", "defines 0 scores", id="no score"),
        pytest.param(
            MEMORY_FIRST + "OTHER = define('other', cpu_usage, formula='')",
            "defines 2 scores",
            id="two scores",
        ),
        pytest.param("1 / 0", "ZeroDivisionError: division by zero", id="a mistake in the file"),
        pytest.param("x =", "SyntaxError", id="not Python"),
        pytest.param(
            MEMORY_FIRST.replace("memory_first", "robust"), '"robust" is taken', id="a name of ours"
        ),
        pytest.param(
            MEMORY_FIRST.replace("spare_memory", "excess_norm"),
            '"excess_norm" is taken',
            id="a helper of ours",
        ),
        pytest.param(
            MEMORY_FIRST.replace("memory_first", "Memory First"), "lower-case", id="a bad name"
        ),
    ],
)
def test_a_file_that_cannot_serve_says_why(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_score_file(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "mine.py"))


def test_a_missing_file_is_an_error_not_a_traceback() -> None:
    with pytest.raises(ConfigError, match=r"no_such\.py: there is no such file"):
        choose_score("no_such.py")
