"""k8s/qos is what the code says; alerts and the board read series that somebody makes."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import promql_parser
import pytest
from prometheus_client import Counter, Gauge, Histogram

from builders.labs.promtool import check_rules
from builders.values.manifests import REPOSITORY, documents
from builders.values.qos import World, a_life_pod
from trimtab.cli.main import app
from trimtab.engines import locate
from trimtab.install.qos.admission import policies, stamping_webhook
from trimtab.install.qos.crd import crds
from trimtab.install.qos.grafana import alert_group, alerts, dashboard
from trimtab.install.qos.manifests import PAGE_URL, generate, qos_rbac
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.service import metrics
from trimtab.qos.service.metrics import AccountMetrics

REFERENCE = REPOSITORY / "docs/reference/qos.md"
GUIDE = REPOSITORY / "docs/guide/qos.md"


def served() -> set[str]:
    """The names of all series of the service."""
    world = World()
    world.put(a_life_pod("p", created=0))
    cores = PromisedCores(world.tracker)
    collected = AccountMetrics(world.tracker, world.accounts, cores, lambda: None, 10).collect()
    kinds = (Counter, Gauge, Histogram)
    own = [value for value in vars(metrics).values() if isinstance(value, kinds)]
    families = [*collected, *(family for metric in own for family in metric.describe())]
    return {
        family.name + ("_total" if family.type == "counter" else "")
        for family in families
        if not family.name.endswith("_created")
    }


def test_the_files_are_what_their_generator_writes() -> None:
    for path, text in generate().items():
        assert (REPOSITORY / path).read_text() == text, f"{path}: run make generate"


def test_the_lab_and_the_cluster_get_the_same_objects() -> None:
    assert documents("qos/qosaccount-crd.yaml") == crds()
    assert documents("qos/admission.yaml") == policies()
    assert documents("qos/webhook.yaml") == [stamping_webhook({"url": PAGE_URL})]
    shipped = documents("qos/rbac.yaml")
    assert all(manifest in shipped for manifest in qos_rbac())


def test_the_webhook_may_fail_and_keeps_out_of_the_clusters_own_namespaces() -> None:
    (webhook,) = stamping_webhook({"url": PAGE_URL})["webhooks"]
    assert webhook["failurePolicy"] == "Ignore"
    (apart,) = webhook["namespaceSelector"]["matchExpressions"]
    assert (apart["operator"], apart["values"]) == ("NotIn", ["kube-system", "trimtab-system"])


def test_nobody_gets_a_wildcard() -> None:
    rules = [rule for manifest in qos_rbac() for rule in manifest.get("rules", [])]
    assert rules
    assert "*" not in {v for r in rules for v in (*r["verbs"], *r.get("resources", []))}
    deleting = {"delete", "deletecollection", "update"}
    assert not deleting & {verb for rule in rules for verb in rule["verbs"]}


def queries() -> list[str]:
    panels = json.loads(dashboard())["panels"]
    return [t["expr"] for panel in panels for t in panel["targets"]] + [a["expr"] for a in alerts()]


@pytest.mark.parametrize("query", queries())
def test_a_query_parses_and_names_series_that_exist(query: str) -> None:
    promql_parser.parse(query)
    names = {
        re.sub(r"_(bucket|sum|count)$", "", name)
        for name in re.findall(r"\bqosaware_[a-z_]+", query)
    }
    assert names
    assert names <= served()


@pytest.mark.engines
def test_prometheus_accepts_the_alerts() -> None:
    command = [str(locate("promtool")), "check", "rules", str(REPOSITORY / "k8s/qos/alerts.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.engines
def test_alerts_fire_for_those_whom_they_are_about(tmp_path: Path) -> None:
    labels = 'namespace="default",kind="Deployment",controller="web",class="0.9"'
    series = [
        {"series": f"qosaware_in_violation{{{labels}}}", "values": "1x30"},
        {"series": f"qosaware_ttv_seconds{{{labels}}}", "values": "60x30"},
        {
            "series": f"qosaware_violation_deadline_timestamp_seconds{{{labels}}}",
            "values": "2000x30",
        },
        {"series": f'qosaware_replicas{{{labels},state="waiting"}}', "values": "1x30"},
        {"series": "qosaware_clock_skew_seconds", "values": "-3x30"},
        {"series": "qosaware_accounts", "values": "1x30"},
    ]
    firing = {
        "TrimtabPromiseBroken": 1,
        "TrimtabPromiseAtRisk": 1,
        "TrimtabClockSkew": 1,
        "TrimtabCheckpointOld": 0,
        "TrimtabQosServiceMissing": 0,
    }
    tests = [
        {
            "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})',
            "eval_time": "25m",
            "exp_samples": [{"labels": "{}", "value": count}] if count else [],
        }
        for name, count in firing.items()
    ]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": tests}
    rules = {"groups": [alert_group()]}
    assert check_rules(rules, {"evaluation_interval": "1m", "tests": [test]}, tmp_path) == ""


def test_the_reference_names_every_series_and_annotation() -> None:
    text = REFERENCE.read_text()
    missing = [name for name in served() if f"`{name}`" not in text]
    assert missing == []
    assert "`qos.trimtab.dev/slo`" in text
    assert "`qos.trimtab.dev/key`" in text


def test_every_command_of_the_guide_exists() -> None:
    found = re.findall(r"^(trimtab [^\n#|]+)$", GUIDE.read_text(), re.MULTILINE)
    assert found
    for command in found:
        words = shlex.split(command)[1:]
        app.parse_args(words, exit_on_error=False, print_error=False)
