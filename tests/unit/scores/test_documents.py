"""The reference page is complete, and the guide's example does what the guide says."""

import re
from pathlib import Path

import numpy as np
import pytest

from trimtab.scores import (
    CATALOG,
    RuleSettings,
    evaluate_means,
    language,
    load_score_file,
    rule_groups,
)
from trimtab.scores import inputs as given
from trimtab.scores.picture import BANDS, COLOURS, picture
from trimtab.scores.reference import page
from trimtab.scores.score import Score

GUIDE = Path(__file__).parents[3] / "docs/guide/own-score.md"


@pytest.fixture
def example(tmp_path: Path) -> Score:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    path = tmp_path / "memory_twice.py"
    path.write_text(blocks[0])
    return load_score_file(path)


def test_the_guides_example_scores_nodes(example: Score) -> None:
    values = np.array([[[0.5, 0, 0.4, 0], [0.3, 0, 0.4, 0], [0.1, 0.2, 0.7, 0]]])
    np.testing.assert_allclose(evaluate_means(example, values), [[0.2, 0, 0.6]])


def test_the_guides_example_becomes_rules(example: Score) -> None:
    records = [
        getattr(rule, "record", "") for rule in rule_groups([example], RuleSettings())[0].rules
    ]
    assert "descheduler:node:memory_twice:avg1m" in records
    assert "descheduler:cluster:usual_cpu:now" in records


def test_the_guide_names_functions_that_exist() -> None:
    table = GUIDE.read_text().partition("## The language")[2].partition("## Rules")[0]
    words = re.findall(r"`([a-z_]+)\(", table)
    assert len(words) >= 15
    assert [
        word for word in words if not hasattr(language, word) and not hasattr(given, word)
    ] == []


def test_the_page_has_every_score_and_nothing_left_to_fill_in() -> None:
    text = page()
    for score in CATALOG.values():
        assert f"### {score.name}\n" in text
        assert score.weakness in text
    assert "{{" not in re.sub(r"`[^`]*`", "", text)


@pytest.mark.parametrize("name", ["weighted_average", "predictive", "in_flight_aware"])
def test_a_picture_covers_every_cell_once(name: str) -> None:
    svg = picture(CATALOG[name])
    runs = re.findall(r"M\d+ \d+h(\d+)v(\d+)h-\d+z", svg)
    assert sum(int(w) * int(h) for w, h in runs) == 216 * 144
    assert len(COLOURS) == BANDS
    assert svg.count("<path") > 3
