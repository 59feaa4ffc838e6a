"""Faster clocks: every time in a rule file shrinks, and nothing else changes."""

import promql_parser
import pytest
import yaml

from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, RuleSettings, rule_groups
from trimtab.scores.prometheus.files import render
from trimtab.scores.prometheus.focus import rescale, rescale_expression


@pytest.mark.parametrize("scale", [1, 5, 7, 15])
def test_our_rules_come_out_as_if_made_for_that_scale(scale: float) -> None:
    scores = list(CATALOG.values())
    made = render(rule_groups(scores, RuleSettings(scale=scale, nodes=3)))
    assert rescale(render(rule_groups(scores, RuleSettings(nodes=3))), scale) == made


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("rate(x[5m])", "rate(x[30s])", id="a range"),
        pytest.param("rate(x[1h30m])", "rate(x[9m])", id="a compound duration"),
        pytest.param("max_over_time(x[5m:1m])", "max_over_time(x[30s:6s])", id="a subquery"),
        pytest.param("max_over_time(x[5m:])", "max_over_time(x[30s:])", id="with the default step"),
        pytest.param("x offset 10m", "x offset 1m", id="an offset"),
        pytest.param("x offset -10m", "x offset -1m", id="into the future"),
        pytest.param(
            'predict_linear(x{a="b"}[1h], 600)', 'predict_linear(x{a="b"}[6m], 60)', id="ahead"
        ),
        pytest.param('x{range="[5m]"} > 600', 'x{range="[5m]"} > 600', id="quoted text stays"),
        pytest.param("a:b:avg1m + 60", "a:b:avg1m + 60", id="names and numbers stay"),
    ],
)
def test_expressions_shrink_by_ten(expression: str, expected: str) -> None:
    promql_parser.parse(expression)
    assert rescale_expression(expression, 10) == expected


def test_alerts_and_intervals_shrink_too() -> None:
    text = """
groups:
- name: mine
  interval: 1m
  rules:
  - {alert: A, expr: up == 0, for: 10m, keep_firing_for: 5m, labels: {for: 1m}}
"""
    group = yaml.load(rescale(text, 10), Loader=yaml.CSafeLoader)["groups"][0]
    assert group["interval"] == "6s"
    assert group["rules"][0] == {
        "alert": "A",
        "expr": "up == 0",
        "for": "1m",
        "keep_firing_for": "30s",
        "labels": {"for": "1m"},
    }


@pytest.mark.parametrize(
    ("text", "scale", "message"),
    [
        pytest.param("groups: []", 0, "scale is 0", id="no scale"),
        pytest.param("rules: []", 2, "there are no groups", id="not a rule file"),
    ],
)
def test_what_cannot_be_rescaled_is_refused(text: str, scale: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rescale(text, scale)
