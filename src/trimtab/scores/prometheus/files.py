"""Rule groups, and the files they are shipped in.

Three forms of the same groups: a plain rule file, a `PrometheusRule` for the Prometheus
operator, and the ConfigMap `monitoring/trimtab-rules`, which a lab watches.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.files.yaml import as_yaml
from trimtab.scores.catalog import CATALOG
from trimtab.scores.inputs import DIMENSIONS
from trimtab.scores.prometheus import openshift
from trimtab.scores.prometheus.alerts import Alert, AlertSources, all_alerts
from trimtab.scores.prometheus.records import RecordingRule, base_record, score_record
from trimtab.scores.prometheus.rules import EXPORTED, RuleSettings, recording_rules
from trimtab.scores.score import Score

Flavor: TypeAlias = Literal["trimtab", "openshift"]
Format: TypeAlias = Literal["prometheus", "operator", "configmap"]

NAMESPACE = "monitoring"
NAME = "trimtab-rules"
KEY = "trimtab.rules.yaml"
GENERATED = "# Written by `make generate` from src/trimtab/scores; change it there.\n"


class RuleFileGroup(Struct, frozen=True):
    """A rule group as Prometheus reads it."""

    name: str
    interval: str
    rules: Sequence[RecordingRule | Alert]


def rule_groups(
    scores: Sequence[Score], settings: RuleSettings, flavor: Flavor = "trimtab"
) -> list[RuleFileGroup]:
    """The groups of a rule file: records of the chosen scores, then alerts."""
    names = [score.name for score in scores]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f'score "{min(twice)}": it is given twice; leave one out, or rename it')
    make = _production if flavor == "openshift" else _ours
    return make(scores, settings)


def _ours(scores: Sequence[Score], settings: RuleSettings) -> list[RuleFileGroup]:
    means = {column: base_record(column, "avg1m") for column in DIMENSIONS}
    series = ("node_vm_count", *EXPORTED.values())
    known = " or ".join(f"group by (node) ({name})" for name in series)
    expected = f'label_replace({known}, "instance", "$1", "node", "(.+)")'
    alerts = all_alerts(AlertSources(means, expected, _by_name(scores)), settings.scale)
    return [
        RuleFileGroup("trimtab", settings.interval, recording_rules(scores, settings)),
        RuleFileGroup("trimtab-alerts", settings.interval, alerts),
    ]


def _production(scores: Sequence[Score], settings: RuleSettings) -> list[RuleFileGroup]:
    means = {column: openshift.node_record(column) for column in DIMENSIONS}
    records = {openshift.DEFAULT: score_record(openshift.DEFAULT, "avg1m"), **_by_name(scores)}
    alerts = all_alerts(AlertSources(means, openshift.WORKERS, records), settings.scale)
    production = openshift.production_rules(settings)
    groups = [RuleFileGroup("trimtab-openshift", settings.interval, production)]
    if scores:
        ours = recording_rules(scores, settings, openshift.base_rules())
        kept = openshift.without_production_names(ours, production)
        groups.append(RuleFileGroup("trimtab", settings.interval, kept))
    return [*groups, RuleFileGroup("trimtab-alerts", settings.interval, alerts)]


def _by_name(scores: Sequence[Score]) -> dict[str, str]:
    return {score.name: score_record(score.name, "avg1m") for score in scores}


def render(groups: Sequence[RuleFileGroup], form: Format = "prometheus", heading: str = "") -> str:
    """The file, with `heading` as its first comment lines."""
    plain = {"groups": [_plain(group) for group in groups]}
    match form:
        case "prometheus":
            return heading + as_yaml(plain)
        case "operator":
            labels = {"app.kubernetes.io/name": "trimtab", "role": "alert-rules"}
            metadata = {"name": NAME, "namespace": NAMESPACE, "labels": labels}
            kind = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule"}
            return heading + as_yaml({**kind, "metadata": metadata, "spec": plain})
        case "configmap":
            metadata = {"name": NAME, "namespace": NAMESPACE}
            kind = {"apiVersion": "v1", "kind": "ConfigMap"}
            return heading + as_yaml({**kind, "metadata": metadata, "data": {KEY: as_yaml(plain)}})


def generated_files() -> dict[str, str]:
    """The rule files of this repository: all scores at their default settings."""
    groups = rule_groups(list(CATALOG.values()), RuleSettings())
    return {
        "k8s/prometheus-rules.yaml": render(groups, "configmap", GENERATED),
        "k8s/overlays/prometheus-operator/prometheusrule.yaml": render(
            groups, "operator", GENERATED
        ),
    }


def _plain(group: RuleFileGroup) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(group)
    for rule in data["rules"]:
        if not rule.get("labels", True):
            del rule["labels"]
    return data
