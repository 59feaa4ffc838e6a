"""What is shipped, as Prometheus reads it: files, alerts, and OpenShift's rules on counters."""

import subprocess
from math import sqrt
from pathlib import Path

import pytest

from builders.labs.promtool import check_rules
from trimtab.engines import locate
from trimtab.scores import CATALOG, RuleSettings, rule_groups
from trimtab.scores.inputs import DIMENSIONS
from trimtab.scores.prometheus.files import Flavor, render
from trimtab.scores.prometheus.rules import EXPORTED

pytestmark = pytest.mark.engines


@pytest.mark.parametrize("scale", [1, 7, 15])
@pytest.mark.parametrize("flavor", ["trimtab", "openshift"])
def test_prometheus_accepts_the_file(flavor: Flavor, scale: float, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(render(rule_groups(list(CATALOG.values()), RuleSettings(scale=scale), flavor)))
    command = [str(locate("promtool")), "check", "rules", "--lint=all", "--lint-fatal", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


Inputs = dict[str, float | None]
HEALTHY: Inputs = dict(zip(DIMENSIONS, (0.4, 0.0, 0.5, 0.0), strict=True))


def seen(nodes: dict[str, Inputs], *further: str) -> list[dict[str, str]]:
    """Series of the exporter: constant inputs, and `further` ones that are always 0."""
    inputs = (
        {"series": f'{name}{{node="{node}"}}', "values": f"{values[column]}x70"}
        for node, values in nodes.items()
        for column, name in EXPORTED.items()
        if values[column] is not None
    )
    return [*inputs, *({"series": name, "values": "0x70"} for name in further)]


@pytest.mark.parametrize(
    ("alert", "inputs", "minutes", "label"),
    [
        pytest.param("CpuPressureHigh", {"cpu_pressure": 0.6}, 7, "instance", id="CPU pressure"),
        pytest.param("MemoryPressureHigh", {"memory_pressure": 0.6}, 7, "instance", id="stalls"),
        pytest.param("NodeOverloaded", {"cpu_usage": 1.2}, 7, "instance", id="overload"),
        pytest.param("MemoryNearlyExhausted", {"memory_usage": 0.96}, 4, "instance", id="memory"),
        pytest.param("NodeWithoutSamples", {"cpu_pressure": None}, 4, "instance", id="no sample"),
        pytest.param("ClusterImbalanced", {"memory_usage": 0.99}, 32, "resource", id="imbalance"),
        pytest.param("ScoreStuckAtOne", {"cpu_usage": 1.5}, 62, "score", id="a score stuck at 1"),
    ],
)
def test_an_alert_fires_for_its_trouble_and_only_after_a_while(
    alert: str, inputs: Inputs, minutes: int, label: str, tmp_path: Path
) -> None:
    series = seen({"n1": {**HEALTHY, **inputs}, "n2": HEALTHY, "n3": HEALTHY})
    fires = f'count by ({label}) (ALERTS{{alertname="Trimtab{alert}", alertstate="firing"}})'
    expected = {"instance": "n1", "resource": "memory", "score": "linear_amplified_ippd_k3"}[label]
    found = [{"labels": f'{{{label}="{expected}"}}', "value": 1}]
    queries = [
        {"expr": fires, "eval_time": "1m", "exp_samples": []},
        {"expr": fires, "eval_time": f"{minutes}m", "exp_samples": found},
    ]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": queries}
    groups = rule_groups([CATALOG["linear_amplified_ippd_k3"]], RuleSettings())
    tests = {"evaluation_interval": "1m", "tests": [test]}
    assert check_rules({"groups": groups}, tests, tmp_path) == ""


def test_a_healthy_cluster_is_silent(tmp_path: Path) -> None:
    pair = 'trimtab_node_pair{node="n0",other="n1"}'
    series = seen({"n0": HEALTHY, "n1": HEALTHY, "n2": HEALTHY}, pair)
    silence = [{"expr": "ALERTS", "eval_time": "65m", "exp_samples": []}]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": silence}
    groups = rule_groups([CATALOG["pareto_front"], CATALOG["robust"]], RuleSettings(nodes=3))
    tests = {"evaluation_interval": "1m", "tests": [test]}
    assert check_rules({"groups": groups}, tests, tmp_path) == ""


def test_missing_pairs_and_slow_rules_are_noticed(tmp_path: Path) -> None:
    group = 'rule_group="/etc/rules.yaml;trimtab"'
    slow = [
        {"series": f"prometheus_rule_group_last_duration_seconds{{{group}}}", "values": "20x70"},
        {"series": f"prometheus_rule_group_interval_seconds{{{group}}}", "values": "15x70"},
    ]
    firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
    found = [
        {"labels": '{alertname="TrimtabParetoFrontsMissing"}', "value": 1},
        {"labels": '{alertname="TrimtabRulesSlow"}', "value": 1},
    ]
    query = {"expr": firing, "eval_time": "7m", "exp_samples": found}
    series = [*seen({"n0": HEALTHY, "n1": HEALTHY}), *slow]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [query]}
    groups = rule_groups([CATALOG["pareto_front"]], RuleSettings(nodes=3))
    tests = {"evaluation_interval": "1m", "tests": [test]}
    assert check_rules({"groups": groups}, tests, tmp_path) == ""


def test_more_fronts_than_rules_for_them_are_noticed(tmp_path: Path) -> None:
    """Three nodes in a chain have three fronts; rules for two nodes unroll one level."""
    names = ["n0", "n1", "n2"]
    chain = {n: {**HEALTHY, "cpu_usage": 0.1 * k} for k, n in enumerate(names)}
    pairs = [f'trimtab_node_pair{{node="{a}",other="{b}"}}' for a in names for b in names if a != b]
    truncated = 'count(ALERTS{alertname="TrimtabParetoFrontsTruncated", alertstate="firing"})'
    query = {"expr": truncated, "eval_time": "7m", "exp_samples": [{"labels": "{}", "value": 1}]}
    series = seen(chain, *pairs)
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [query]}
    groups = rule_groups([CATALOG["pareto_front"]], RuleSettings(nodes=2))
    tests = {"evaluation_interval": "1m", "tests": [test]}
    assert check_rules({"groups": groups}, tests, tmp_path) == ""


# Node: CPU busy, CPU waiting, memory available of 100, memory waiting; n3 is not a worker.
COUNTED = {"n1": (0.9, 0.4, 20, 0.2), "n2": (0.5, 0.3, 50, 0.1), "n3": (1.0, 0.9, 10, 0.9)}


def counters(node: str) -> list[dict[str, str]]:
    busy, waiting, available, stalled = COUNTED[node]
    rising = {
        f'node_cpu_seconds_total{{instance="{node}",cpu="0",mode="idle"}}': 1 - busy,
        f'node_cpu_seconds_total{{instance="{node}",cpu="0",mode="user"}}': busy,
        f'node_pressure_cpu_waiting_seconds_total{{instance="{node}"}}': waiting,
        f'node_pressure_memory_waiting_seconds_total{{instance="{node}"}}': stalled,
    }
    role = "master" if node == "n3" else "worker"
    constant = {
        f'node_memory_MemAvailable_bytes{{instance="{node}"}}': available,
        f'kube_node_status_allocatable{{node="{node}",resource="memory"}}': 100,
        f'kube_node_role{{node="{node}",role="{role}"}}': 1,
    }
    return [
        *({"series": s, "values": f"0+{30 * rate}x60"} for s, rate in rising.items()),
        *({"series": s, "values": f"{value}x60"} for s, value in constant.items()),
    ]


def test_openshifts_rules_compute_what_they_say(tmp_path: Path) -> None:
    """Worker means: CPU 0.7, memory 0.65; pressure counts only where usage exceeds 0.7."""
    evicted = (
        'descheduler_pods_evicted_total{node="n1",strategy="LowNodeUtilization",result="success"}'
    )
    # n1: 0.2 above in CPU, 0.15 in memory, 0.4 / 2 and 0.2 / 2 in pressure.
    distance = {"n1": sqrt(0.2**2 + 0.2**2 + 0.15**2 + 0.1**2), "n2": 0.0}
    distance["n3"] = sqrt(0.3**2 + 0.7**2 + 0.25**2 + 0.8**2)
    k3 = {node: min(1, 3 * d) for node, d in distance.items()}
    expected: dict[str, dict[str, float]] = {
        "descheduler:nodeutilization:cpu:avg1m": {"n1": 0.9, "n2": 0.5, "n3": 1.0},
        "descheduler:nodeutilization:memory:avg1m": {"n1": 0.8, "n2": 0.5, "n3": 0.9},
        "descheduler:nodepressure:cpu:avg1m": {"n1": 0.4, "n2": 0.0, "n3": 0.9},
        "descheduler:nodepressure:memory:avg1m": {"n1": 0.2, "n2": 0.0, "n3": 0.9},
        "descheduler:averageworkersutilization:cpu:avg1m": {"": 0.7},
        "descheduler:averageworkerspressure:memory:avg1m": {"": 0.1},
        "descheduler:combined_utilization_and_pressure:avg1m": {"n1": 0.9, "n2": 0.5, "n3": 1.0},
        "descheduler:node:ideal_point_positive_distance:avg1m": distance,
        "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m": k3,
        "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:p66_5m": k3,
        "round(descheduler:node:eviction_count:10m)": {"n1": 4, "n2": 0, "n3": 0},
        "round(descheduler:node:actuation_priority:p66_5m, 1e-6)": {
            "n1": round(k3["n1"] * 0.6, 6),
            "n2": 0,
            "n3": 1,
        },
    }
    queries = [
        {
            "expr": expr,
            "eval_time": "25m",
            "exp_samples": [_sample(expr, n, v) for n, v in by.items()],
        }
        for expr, by in expected.items()
    ]
    series = [s for node in COUNTED for s in counters(node)]
    series.append({"series": evicted, "values": "0x39 0 1 2 3 4 4x20"})
    test = {"interval": "30s", "input_series": series, "promql_expr_test": queries}
    groups = rule_groups([], RuleSettings(interval_s=30), "openshift")
    tests = {"evaluation_interval": "30s", "fuzzy_compare": True, "tests": [test]}
    assert check_rules({"groups": groups}, tests, tmp_path) == ""


def _sample(expr: str, node: str, value: float) -> dict[str, object]:
    name = "" if expr.startswith("round") else expr
    return {"labels": f'{name}{{instance="{node}"}}' if node else name, "value": value}


def test_a_score_of_ours_on_openshifts_inputs_has_both_labels(tmp_path: Path) -> None:
    series = [s for node in COUNTED for s in counters(node)]
    name = "descheduler:node:cpu_focused:avg1m"
    expected = [
        {"labels": f'{name}{{instance="{n}",node="{n}"}}', "value": v}
        for n, v in {"n1": 0.7 * 0.9 + 0.3 * 0.4, "n2": 0.35}.items()  # n3 is no worker
    ]
    query = {"expr": name, "eval_time": "25m", "exp_samples": expected}
    test = {"interval": "30s", "input_series": series, "promql_expr_test": [query]}
    groups = rule_groups([CATALOG["cpu_focused"]], RuleSettings(interval_s=30), "openshift")
    tests = {"evaluation_interval": "30s", "fuzzy_compare": True, "tests": [test]}
    assert check_rules({"groups": groups}, tests, tmp_path) == ""
