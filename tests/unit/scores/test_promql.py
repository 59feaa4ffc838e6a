"""What the printer writes: parentheses, levels, names; a PromQL parser accepts all of it."""

import promql_parser
import pytest

from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, Mode, define
from trimtab.scores.expr import Expr, wrap
from trimtab.scores.inputs import cpu_pressure, cpu_usage, excesses, memory_usage
from trimtab.scores.language import (
    average_over,
    clamp,
    cluster_record,
    larger,
    mean,
    median,
    pick,
    predict,
    quantile_over,
    record,
    smaller,
    sqrt,
    stddev_over,
)
from trimtab.scores.prometheus.promql import Printer
from trimtab.scores.prometheus.records import duration, number
from trimtab.scores.prometheus.rules import RuleSettings, recording_rules

SHORT = {
    "descheduler:node:cpu_usage:ratio": "c",
    "descheduler:node:cpu_pressure:psi": "p",
    "descheduler:node:memory_usage:ratio": "m",
}
c, p, m = cpu_usage, cpu_pressure, memory_usage


def printed(expr: Expr, scale: float = 1.0) -> str:
    text = Printer("score", scale).show(expr)
    promql_parser.parse(text)
    for name, letter in SHORT.items():
        text = text.replace(name, letter)
    return text


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        pytest.param(c + p + m, "c + p + m", id="sums group to the left"),
        pytest.param(c + (p + m), "c + (p + m)", id="and keep the order in which they are rounded"),
        pytest.param(c - (p - m), "c - (p - m)", id="subtraction does not associate"),
        pytest.param((c + p) * m / 2, "(c + p) * m / 2", id="products bind tighter"),
        pytest.param(c / (p * m), "c / (p * m)", id="division does not associate"),
        pytest.param(-1 * c**2, "(-1) * c ^ 2", id="negative numbers stand in parentheses"),
        pytest.param((c + 1) ** 2, "(c + 1) ^ 2", id="powers bind tightest"),
        pytest.param((c**2) ** 2, "(c ^ 2) ^ 2", id="powers group to the right"),
        pytest.param(c - mean(c), "c - scalar(avg(c))", id="a mean beside a node is a scalar"),
        pytest.param(mean(c) - c, "scalar(avg(c)) - c", id="on either side"),
        pytest.param(
            c / (mean(c) + 1), "c / scalar(avg(c) + 1)", id="cluster arithmetic stays a vector"
        ),
        pytest.param(sqrt(mean(c)) * p, "scalar(sqrt(avg(c))) * p", id="functions of the cluster"),
        pytest.param(clamp(c, 0, 1), "clamp(c, 0, 1)", id="clamp"),
        pytest.param(clamp(c, low=0), "clamp_min(c, 0)", id="clamp below"),
        pytest.param(clamp(c, high=1), "clamp_max(c, 1)", id="clamp above"),
        pytest.param(clamp(c), "c", id="clamp to nothing"),
        pytest.param(larger(c, p), "c >= p or p", id="the larger of two nodes"),
        pytest.param(smaller(c, p) + 1, "(c <= p or p) + 1", id="the smaller, in a sum"),
        pytest.param(larger(c, p, m), "(c >= p or p) >= m or m", id="the largest of three"),
        pytest.param(larger(c, mean(p)), "clamp_min(c, scalar(avg(p)))", id="or of the cluster"),
        pytest.param(larger(mean(p), c), "clamp_min(c, scalar(avg(p)))", id="in any order"),
        pytest.param(smaller(c, 1), "clamp_max(c, 1)", id="or a number"),
        pytest.param(median(c) * p, "scalar(quantile(0.5, c)) * p", id="median"),
        pytest.param(
            pick(c, p, then=m, otherwise=c), "m and (c > p) or c", id="a choice between nodes"
        ),
        pytest.param(
            pick(c, 0.5, then=mean(c), otherwise=0),
            "0 * (c > 0.5) + scalar(avg(c)) or 0 * c + 0",
            id="a choice between what is not per node",
        ),
        pytest.param(
            pick(c, p, then=m, otherwise=pick(p, m, then=c, otherwise=p)) * 2,
            "(m and (c > p) or (c and (p > m) or p)) * 2",
            id="choices inside choices",
        ),
        pytest.param(average_over(c, 300), "avg_over_time(c[5m]) and c", id="average over time"),
        pytest.param(
            2 * stddev_over(c, 90), "2 * (stddev_over_time(c[90s]) and c)", id="deviation over time"
        ),
        pytest.param(
            quantile_over(0.25, c, 3600),
            "quantile_over_time(0.25, c[1h]) and c",
            id="quantile over time",
        ),
        pytest.param(
            predict(c, 600, 120),
            "predict_linear(c[10m], 120) and c or c",
            id="a node with one sample predicts itself",
        ),
    ],
)
def test_expressions_are_printed_as_a_person_would(expr: Expr, expected: str) -> None:
    assert printed(expr) == expected


def test_scale_divides_windows_and_the_time_ahead() -> None:
    assert printed(predict(c, 600, 120), scale=10) == "predict_linear(c[1m], 12) and c or c"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("score", ["descheduler:node:part:now", "descheduler:cluster:level:now"]),
        ("avg1m", ["descheduler:node:part:avg1m", "descheduler:cluster:level:avg1m"]),
    ],
)
def test_helpers_are_named_by_place_and_mode(mode: Mode, expected: list[str]) -> None:
    printer = Printer(mode)
    named = [record("part", c), cluster_record("level", median(c))]
    assert [printer.name(part) for part in named] == expected


def test_the_instant_cluster_mean_keeps_the_name_users_know() -> None:
    assert "scalar(descheduler:cluster:cpu_usage:avg)" in Printer("score").definition(excesses[0])


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(60, "1m"), (90, "90s"), (3600, "1h"), (60 / 7, "8571ms"), (1e-9, "1ms")],
)
def test_durations_are_exact_to_the_millisecond(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e-5, 1e-9, 1.4826, 5e20, 1 / 3])
def test_numbers_read_back_as_they_were(value: float) -> None:
    assert float(number(value)) == value


def test_a_parser_accepts_every_rule_of_the_catalogue() -> None:
    for rule in recording_rules(list(CATALOG.values()), RuleSettings(nodes=6)):
        promql_parser.parse(rule.expr)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: average_over(c + p, 60), "name its argument first", id="unnamed"),
        pytest.param(
            lambda: average_over(cluster_record("x", mean(c)), 60), "each node", id="of the cluster"
        ),
        pytest.param(lambda: sqrt(wrap(2)), "plain numbers in Python", id="root of a number"),
        pytest.param(lambda: mean(mean(c)), "one value per node", id="mean of a mean"),
        pytest.param(
            lambda: pick(mean(c), 1, then=c, otherwise=p), "compares nodes", id="choice by cluster"
        ),
        pytest.param(
            lambda: define("flat", mean(c), formula=""), "no value per node", id="score of a mean"
        ),
        pytest.param(lambda: define("Bad-Name", c, formula=""), "lower-case", id="bad name"),
    ],
)
def test_what_prometheus_could_not_evaluate_is_refused_at_once(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigError, match=message):
        make()
