"""The queries that people type or see in Grafana: they parse, and somebody makes each series."""

import re
from functools import cache
from pathlib import Path

import msgspec
import promql_parser
import pytest
import yaml
from prometheus_client import Counter, Gauge

from builders.values.manifests import K8S, one
from trimtab.exporter.nodes import exposition
from trimtab.scores.prometheus.files import KEY as RULES_KEY
from trimtab.vm import metrics, webhook

SCORE = "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m"
MEAN = SCORE.replace(":node:", ":cluster:")
TYPED = [
    SCORE,
    MEAN,
    f"{SCORE} > on() group_left() ({MEAN} + 0.10)",
    "node_cpu_usage_ratio",
    "node_memory_usage_ratio",
    "node_cpu_pressure_psi",
    "node_memory_pressure_psi",
    "descheduler:node:cpu_usage:ratio",
    "descheduler:node:cpu_pressure:psi > 0.5 or descheduler:node:memory_pressure:psi > 0.5",
    "descheduler:cluster:cpu_usage:avg",
    "descheduler:node:ideal_point_positive_distance:score",
    "descheduler:node:linear_amplified_ippd_k3:score",
]
SERVED = {
    "node_vm_count",
    "descheduler_pods_evicted_total",
    "trimtab_webhook_decisions_total",
    "trimtab_vm_migrations_total",
    "trimtab_vm_migrations_running",
    "trimtab_vms",
}


@cache
def recorded() -> set[str]:
    text = one("ConfigMap", "trimtab-rules")["data"][RULES_KEY]
    groups = yaml.load(text, Loader=yaml.CSafeLoader)["groups"]
    return {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}


def exported() -> set[str]:
    """What the exporter's source names as series of a node."""
    source = Path(exposition.__file__).read_text()
    return set(re.findall(r'"(node_[a-z_]+)"', source))


def filled(query: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        query = query.replace(f"${{{name}}}", value).replace(f"${name}", value)
    return query


def board_queries() -> list[str]:
    board = msgspec.json.decode((K8S / "grafana/trimtab.json").read_bytes())
    values = {v["name"]: v["current"].get("value", "") for v in board["templating"]["list"]}
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [filled(query, values) for query in queries]


@pytest.mark.parametrize("query", [*TYPED, *board_queries()])
def test_a_query_parses_and_names_series_that_exist(query: str) -> None:
    promql_parser.parse(query)
    names = set(re.findall(r"\b(?:descheduler|node|trimtab)[_:][a-zA-Z0-9_:]+", query))
    assert names
    assert names <= recorded() | exported() | SERVED


def test_the_series_of_our_services_are_defined_in_them() -> None:
    values = [value for module in (metrics, webhook) for value in vars(module).values()]
    known = [value for value in values if isinstance(value, Counter | Gauge)]
    defined = {family.name for metric in known for family in metric.describe()}
    ours = {name.removesuffix("_total") for name in SERVED if name.startswith("trimtab_")}
    assert ours <= defined


def test_the_board_shows_use_scores_classes_evictions_and_migrations() -> None:
    queries = "\n".join(board_queries())
    for series in ("node_cpu_usage_ratio", SCORE, MEAN, *sorted(SERVED)):
        assert series in queries
