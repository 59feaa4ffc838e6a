"""The rule group: what is in it, in which order, under which names."""

import re

import pytest

from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, CLASSIC, define
from trimtab.scores.inputs import cpu_usage, memory_usage
from trimtab.scores.language import record
from trimtab.scores.prometheus.records import RecordingRule
from trimtab.scores.prometheus.rules import RuleSettings, recording_rules

ALL = list(CATALOG.values())


def names(rules: list[RecordingRule]) -> list[str]:
    return [rule.record for rule in rules]


def test_every_record_is_written_before_it_is_read() -> None:
    written: set[str] = set()
    for rule in recording_rules(ALL, RuleSettings(nodes=8)):
        read = set(re.findall(r"descheduler:[a-z0-9_:]+", rule.expr))
        assert read <= written, f"{rule.record} reads {read - written} too early"
        written.add(rule.record)


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("place", ["node:{}:score", "node:{}:avg1m", "cluster:{}:avg1m"])
def test_the_long_names_of_the_amplified_scores_are_copies(k: int, place: str) -> None:
    short = f"linear_amplified_ippd_k{k}"
    long = f"linear_amplified_ideal_point_positive_distance:k{k}"
    rules = {r.record: r.expr for r in recording_rules([CATALOG[short]], RuleSettings())}
    assert rules["descheduler:" + place.format(long)] == "descheduler:" + place.format(short)


def test_one_score_brings_only_the_helpers_it_needs() -> None:
    rules = names(recording_rules([CATALOG["max_metric"]], RuleSettings()))
    assert "descheduler:node:cpu_usage_excess:now" not in rules
    assert "descheduler:cluster:cpu_usage:avg" in rules  # users query the base means
    assert "descheduler:cluster:max_metric:avg1m" in rules
    assert len(rules) == 4 + 4 + 1 + 4 + 4 + 1 + 1


def test_a_score_about_another_score_brings_it_along() -> None:
    rules = names(recording_rules([CATALOG["sustained"]], RuleSettings()))
    assert "descheduler:node:linear_amplified_ippd_k3:score" in rules
    assert "descheduler:cluster:linear_amplified_ippd_k3:avg1m" not in rules


def test_load_in_flight_is_read_only_for_scores_that_use_it() -> None:
    in_flight = "descheduler:node:cpu_in_flight:ratio"
    assert in_flight not in names(recording_rules(list(CLASSIC), RuleSettings()))
    assert in_flight in names(recording_rules(ALL, RuleSettings()))


@pytest.mark.parametrize(
    ("nodes", "levels"),
    [
        pytest.param(1, 1, id="at least one level"),
        pytest.param(20, 19, id="a chain of all nodes"),
        pytest.param(50, 49, id="the largest that rules compute"),
        pytest.param(51, 49, id="above, as many: the cluster may shrink"),
    ],
)
def test_the_number_of_nodes_chooses_the_form_of_the_front(nodes: int, levels: int) -> None:
    rules = recording_rules([CATALOG["pareto_front"]], RuleSettings(nodes=nodes))
    assert names(rules).count("descheduler:node:pareto_level:now") == levels


def test_two_parts_of_one_name_are_refused() -> None:
    first = define("first", record("part", cpu_usage), formula="c")
    second = define("second", record("part", memory_usage), formula="m")
    with pytest.raises(ConfigError, match=r"descheduler:node:part:now.*twice"):
        recording_rules([first, second], RuleSettings())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scale": 0}, "scale is 0"),
        ({"interval_s": -1}, "interval is -1"),
        ({"nodes": 0}, "nodes is 0"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RuleSettings(**settings)


def test_scale_divides_the_interval_and_the_minute_but_not_the_names() -> None:
    settings = RuleSettings(scale=15)
    rules = {r.record: r.expr for r in recording_rules([CATALOG["risk"]], settings)}
    assert settings.interval == "1s"
    assert "[4s]" in rules["descheduler:node:cpu_usage:avg1m"]
    assert "[20s]" in rules["descheduler:node:cpu_usage_at_risk:avg1m"]
