"""Rule files: forms, flavors, alerts."""

import promql_parser
import pytest
import yaml

from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, RuleSettings, rule_groups
from trimtab.scores.prometheus.alerts import Alert
from trimtab.scores.prometheus.files import Flavor, RuleFileGroup, generated_files, render
from trimtab.scores.prometheus.records import RecordingRule

ROBUST = [CATALOG["robust"]]


def records(group: RuleFileGroup) -> list[str]:
    return [rule.record for rule in group.rules if isinstance(rule, RecordingRule)]


@pytest.mark.parametrize("flavor", ["trimtab", "openshift"])
def test_a_parser_accepts_every_rule_and_alert(flavor: Flavor) -> None:
    for group in rule_groups(list(CATALOG.values()), RuleSettings(nodes=3), flavor):
        for rule in group.rules:
            promql_parser.parse(rule.expr)


def test_one_group_of_records_and_one_of_alerts() -> None:
    groups = rule_groups(ROBUST, RuleSettings(scale=5))
    assert [(g.name, g.interval) for g in groups] == [("trimtab", "3s"), ("trimtab-alerts", "3s")]
    assert all(isinstance(rule, Alert) for rule in groups[1].rules)


def test_every_kind_of_trouble_has_its_alert() -> None:
    alerts = rule_groups([CATALOG["pareto_front"]], RuleSettings())[1].rules
    assert [a.alert for a in alerts if isinstance(a, Alert)] == [
        "TrimtabCpuPressureHigh",
        "TrimtabMemoryPressureHigh",
        "TrimtabNodeOverloaded",
        "TrimtabMemoryNearlyExhausted",
        "TrimtabNodeWithoutSamples",
        "TrimtabClusterImbalanced",
        "TrimtabScoreStuckAtOne",
        "TrimtabParetoFrontsMissing",
        "TrimtabParetoFrontsTruncated",
        "TrimtabRulesSlow",
    ]


def test_scale_divides_the_patience_of_alerts() -> None:
    stuck = rule_groups(ROBUST, RuleSettings(scale=10))[1].rules[6]
    assert isinstance(stuck, Alert)
    assert stuck.after == "6m"


def test_a_plain_file_has_groups_and_no_empty_labels() -> None:
    text = render(
        rule_groups([CATALOG["critical_dimension_focus"]], RuleSettings()), heading="# mine\n"
    )
    assert text.startswith("# mine\ngroups:\n")
    rules = yaml.load(text, Loader=yaml.CSafeLoader)["groups"][0]["rules"]
    labels = [rule["labels"] for rule in rules if "labels" in rule]
    assert labels[0] == {"dimension": "cpu_usage"}
    assert {} not in labels


def test_the_operators_form_wraps_the_same_groups() -> None:
    groups = rule_groups(ROBUST, RuleSettings())
    plain = yaml.load(render(groups), Loader=yaml.CSafeLoader)
    wrapped = yaml.load(render(groups, "operator"), Loader=yaml.CSafeLoader)
    assert wrapped["kind"] == "PrometheusRule"
    assert wrapped["spec"] == plain


def test_the_configmap_holds_the_plain_file_as_a_lab_expects_it() -> None:
    groups = rule_groups(ROBUST, RuleSettings())
    config = yaml.load(render(groups, "configmap"), Loader=yaml.CSafeLoader)
    assert (config["metadata"]["namespace"], config["metadata"]["name"]) == (
        "monitoring",
        "trimtab-rules",
    )
    assert config["data"] == {"trimtab.rules.yaml": render(groups)}


def test_openshifts_rules_come_alone_unless_scores_are_chosen() -> None:
    assert [g.name for g in rule_groups([], RuleSettings(), "openshift")] == [
        "trimtab-openshift",
        "trimtab-alerts",
    ]


def test_openshifts_names_belong_to_openshift() -> None:
    """Its distance is not clamped and ours is: one name must not mean both."""
    scores = [CATALOG["ideal_point_positive_distance"], CATALOG["linear_amplified_ippd_k3"]]
    production, ours, _ = rule_groups(scores, RuleSettings(), "openshift")
    assert "descheduler:node:ideal_point_positive_distance:avg1m" in records(production)
    assert not set(records(production)) & set(records(ours))
    assert "descheduler:node:linear_amplified_ippd_k3:avg1m" in records(ours)


def test_openshifts_records_are_written_once_each() -> None:
    names = records(rule_groups([], RuleSettings(), "openshift")[0])
    assert len(names) == len(set(names)) == 24


def test_a_score_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match='"robust": it is given twice'):
        rule_groups(ROBUST * 2, RuleSettings())


def test_generated_files_say_so() -> None:
    files = generated_files()
    assert set(files) == {
        "k8s/prometheus-rules.yaml",
        "k8s/overlays/prometheus-operator/prometheusrule.yaml",
    }
    assert all(text.startswith("# Written by `make generate`") for text in files.values())
