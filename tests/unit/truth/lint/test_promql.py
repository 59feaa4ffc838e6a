"""The little PromQL that the linter reads."""

from pathlib import Path

import pytest

from trimtab.errors import ConfigError
from trimtab.scores.catalog import CATALOG
from trimtab.scores.prometheus.records import score_record
from trimtab.truth.lint import records_of
from trimtab.truth.lint.promql import Has, has_label, is_percent, metric_names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("a:b:c", ["a:b:c"], id="a record"),
        pytest.param('sum by (node) (rate(x{job="y"}[5m]))', ["x"], id="labels are no names"),
        pytest.param('{__name__="a:b"}', ["a:b"], id="by label"),
        pytest.param("a / on (instance) group_left (zone) b", ["a", "b"], id="matching"),
        pytest.param("avg_over_time(a[5m:1m] offset 3m) and b", ["a", "b"], id="a subquery"),
        pytest.param("sum(a) by (b) # c", ["a"], id="a comment, and by behind"),
    ],
)
def test_names(query: str, names: list[str]) -> None:
    assert metric_names(query) == names


@pytest.mark.parametrize(
    ("query", "has"),
    [
        pytest.param("x", Has.UNKNOWN, id="a series"),
        pytest.param("avg(x)", Has.NO, id="all in one"),
        pytest.param("avg by (node) (x)", Has.NO, id="by another"),
        pytest.param("avg by (instance) (x)", Has.UNKNOWN, id="by it"),
        pytest.param("avg(x) by (instance)", Has.UNKNOWN, id="by it, behind"),
        pytest.param("avg without (instance) (x)", Has.NO, id="without it"),
        pytest.param("avg without (cpu) (x)", Has.UNKNOWN, id="without another"),
        pytest.param("clamp(max by (node) (x), 0, 1)", Has.NO, id="inside a function"),
        pytest.param("(1 - (avg by (node) (x)))", Has.NO, id="with a number"),
        pytest.param("sum by (node) (a) / sum by (node) (b)", Has.NO, id="both sides"),
        pytest.param("a / on (node) sum by (node) (b)", Has.UNKNOWN, id="one side"),
        pytest.param(
            'label_replace(avg by (node) (x), "instance", "$1", "node", "(.+)")',
            Has.YES,
            id="made",
        ),
        pytest.param("r:r", Has.NO, id="a record that drops it"),
        pytest.param("vector(1)", Has.NO, id="a number as a vector"),
        pytest.param("topk(3, x)", Has.UNKNOWN, id="topk keeps labels"),
    ],
)
def test_labels(query: str, has: Has) -> None:
    assert has_label(query, "instance", {"r:r": "sum by (node) (x)"}) is has


@pytest.mark.parametrize(
    ("query", "percent"),
    [
        pytest.param("x * 100", True, id="percent"),
        pytest.param("100 * (1 - x)", True, id="from the left"),
        pytest.param("x", False, id="share"),
        pytest.param("3 * x", False, id="amplified"),
        pytest.param("x * 100 / 100", False, id="back again"),
        pytest.param("clamp(x * 100, 0, 1)", False, id="bounded"),
        pytest.param("r:r", True, id="a record"),
    ],
)
def test_percents(query: str, percent: bool) -> None:
    assert is_percent(query, {"r:r": "x * 100"}) is percent


def test_our_own_records_are_clean() -> None:
    file = Path(__file__).parents[4] / "k8s/prometheus-rules.yaml"
    records = records_of(file.read_text(), str(file))
    for name in (score_record(score, "avg1m") for score in CATALOG):
        assert name in records
        assert has_label(name, "instance", records) is not Has.NO, name
        assert not is_percent(name, records)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("groups: [", "rules.yaml: not YAML: line ", id="the file"),
        pytest.param(
            "kind: ConfigMap\ndata:\n  a.yaml: 'groups: ['\n",
            "rules.yaml: in the ConfigMap: not YAML: line ",
            id="a file in a ConfigMap",
        ),
    ],
)
def test_rules_that_are_not_yaml_are_told_in_one_line(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        records_of(text, "rules.yaml")
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)
