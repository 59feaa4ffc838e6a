"""The Grafana dashboard: who keeps its promise, who waits, and how the service does."""

import json
from typing import Any

Panel = dict[str, Any]
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_PANELS: tuple[tuple[str, str, str, list[tuple[str, str]]], ...] = (
    (
        "Promises kept",
        "Accounts of a class that have at least the promised availability.",
        "percentunit",
        [("qosaware_class_fulfilled_ratio", "{{class}}")],
    ),
    (
        "Mean shortfall",
        "By how much those below their promise are below it, averaged over the class.",
        "percentunit",
        [("qosaware_class_deficit_ratio", "{{class}}")],
    ),
    (
        "Inequality",
        "Gini coefficient of availability inside a class; 0 is equal.",
        "none",
        [("qosaware_class_gini_ratio", "{{class}}")],
    ),
    (
        "Closest to missing their promise",
        "Time to violation of the ten accounts with the least.",
        "s",
        [("bottomk(10, qosaware_ttv_seconds < +Inf)", "{{namespace}}/{{controller}}")],
    ),
    (
        "Availability of those below their promise",
        "Accounts in violation.",
        "percentunit",
        [
            (
                "qosaware_qos_ratio and qosaware_in_violation == 1",
                "{{namespace}}/{{controller}}",
            )
        ],
    ),
    (
        "Waiting and running",
        "Pods by class and state; a VM counts once.",
        "none",
        [("sum by (class, state) (qosaware_replicas)", "{{class}} {{state}}")],
    ),
    (
        "Longest wait now",
        "Age of the pod that waits longest.",
        "s",
        [("qosaware_pending_age_seconds", "{{class}}")],
    ),
    (
        "How long pods waited",
        "From creation to binding.",
        "s",
        [
            (
                f"histogram_quantile({q}, sum by (le) (rate(qosaware_pod_wait_seconds_bucket"
                '{outcome="bound"}[5m])))',
                f"p{round(q * 100)}",
            )
            for q in (0.5, 0.99)
        ],
    ),
    (
        "Cores asked for, and the limit",
        "A class above its limit is promised more than the cluster can hold.",
        "none",
        [
            ("qosaware_class_demand_cores", "{{class}} asks"),
            ("qosaware_class_limit_cores", "{{class}} limit"),
        ],
    ),
    (
        "Stamps",
        "Stamps a second: at creation, anew, and pods that came without one.",
        "ops",
        [
            ("rate(qosaware_stamps_total[5m])", "at creation"),
            ("rate(qosaware_restamps_total[5m])", "anew"),
            ("rate(qosaware_unstamped_pods_total[5m])", "without"),
        ],
    ),
    (
        "The service",
        "Age of the oldest checkpoint, and the clock's difference to the API server's.",
        "s",
        [
            ("qosaware_checkpoint_age_seconds", "checkpoint"),
            ("qosaware_clock_skew_seconds", "skew"),
        ],
    ),
)


def dashboard() -> str:
    panels = [_panel(n, *each) for n, each in enumerate(_PANELS)]
    source = {
        "name": "datasource",
        "type": "datasource",
        "query": "prometheus",
        "label": "Prometheus",
        "current": {},
    }
    whole = {
        "title": "trimtab: promised availability",
        "uid": "trimtab-qos",
        "tags": ["trimtab"],
        "timezone": "browser",
        "editable": True,
        "schemaVersion": 41,
        "version": 1,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source]},
        "annotations": {"list": []},
        "links": [],
        "panels": panels,
    }
    return json.dumps(whole, indent=2) + "\n"


def _panel(number: int, title: str, text: str, unit: str, queries: list[tuple[str, str]]) -> Panel:
    return {
        "id": number + 1,
        "title": title,
        "description": text,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {"x": number % 3 * 8, "y": number // 3 * 8, "w": 8, "h": 8},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [
            {"refId": chr(65 + n), "datasource": _SOURCE, "expr": expr, "legendFormat": legend}
            for n, (expr, legend) in enumerate(queries)
        ],
    }


# What somebody should look at: promises at risk and broken, and the service itself.
Rule = dict[str, Any]
GROUP = "trimtab-qos"


# name, expression, how long it holds before anybody is told, severity, summary
_ALERTS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "PromiseAtRisk",
        "qosaware_violation_deadline_timestamp_seconds - time() < 900 and "
        'qosaware_ttv_seconds >= 0 and ignoring (state) qosaware_replicas{state="waiting"} > 0',
        "2m",
        "warning",
        "{{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.controller }} will miss its "
        "promised availability within 15 minutes",
    ),
    (
        "PromiseBroken",
        "qosaware_in_violation == 1",
        "10m",
        "warning",
        "{{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.controller }} has less "
        "availability than promised",
    ),
    (
        "ClassOverbooked",
        "qosaware_class_demand_cores > qosaware_class_limit_cores",
        "30m",
        "info",
        "class {{ $labels.class }} asks for more cores than its promise leaves it",
    ),
    (
        "QosServiceMissing",
        "absent(qosaware_accounts)",
        "5m",
        "warning",
        "nobody keeps accounts of availability: new pods are scheduled by age",
    ),
    (
        "PodsUnstamped",
        "increase(qosaware_unstamped_pods_total[10m]) > 0",
        "10m",
        "warning",
        "pods come without a stamp: does the webhook answer?",
    ),
    (
        "CheckpointOld",
        "qosaware_checkpoint_age_seconds > 300",
        "1m",
        "warning",
        "accounts are not written down: a restart would lose what ended since",
    ),
    (
        "WatchGap",
        "increase(qosaware_watch_gap_total[1h]) > 0",
        "0s",
        "info",
        "after a restart the watch could not be continued: see column Gap of kubectl get qos",
    ),
    (
        "ClockSkew",
        "abs(qosaware_clock_skew_seconds) > 2",
        "5m",
        "warning",
        "this machine's clock and the API server's differ by {{ $value }} s",
    ),
)


def alert_group() -> Rule:
    return {"name": GROUP, "interval": "30s", "rules": alerts()}


def alerts() -> list[Rule]:
    return [_alert(*each) for each in _ALERTS]


def _alert(name: str, expr: str, after: str, severity: str, summary: str) -> Rule:
    return {
        "alert": f"Trimtab{name}",
        "expr": expr,
        "for": after,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }
