"""What somebody should look at: promises at risk and broken, and the service itself."""

from typing import Any

Rule = dict[str, Any]
GROUP = "trimtab-qos"


def alert_group() -> Rule:
    return {"name": GROUP, "interval": "30s", "rules": alerts()}


def alerts() -> list[Rule]:
    return [
        _alert(
            "PromiseAtRisk",
            "qosaware_violation_deadline_timestamp_seconds - time() < 900 and "
            'qosaware_ttv_seconds >= 0 and ignoring (state) qosaware_replicas{state="waiting"} > 0',
            "2m",
            "warning",
            "{{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.controller }} will miss its "
            "promised availability within 15 minutes",
        ),
        _alert(
            "PromiseBroken",
            "qosaware_in_violation == 1",
            "10m",
            "warning",
            "{{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.controller }} has less "
            "availability than promised",
        ),
        _alert(
            "ClassOverbooked",
            "qosaware_class_demand_cores > qosaware_class_limit_cores",
            "30m",
            "info",
            "class {{ $labels.class }} asks for more cores than its promise leaves it",
        ),
        _alert(
            "QosServiceMissing",
            "absent(qosaware_accounts)",
            "5m",
            "warning",
            "nobody keeps accounts of availability: new pods are scheduled by age",
        ),
        _alert(
            "PodsUnstamped",
            "increase(qosaware_unstamped_pods_total[10m]) > 0",
            "10m",
            "warning",
            "pods come without a stamp: does the webhook answer?",
        ),
        _alert(
            "CheckpointOld",
            "qosaware_checkpoint_age_seconds > 300",
            "1m",
            "warning",
            "accounts are not written down: a restart would lose what ended since",
        ),
        _alert(
            "WatchGap",
            "increase(qosaware_watch_gap_total[1h]) > 0",
            "0s",
            "info",
            "after a restart the watch could not be continued: see column Gap of kubectl get qos",
        ),
        _alert(
            "ClockSkew",
            "abs(qosaware_clock_skew_seconds) > 2",
            "5m",
            "warning",
            "this machine's clock and the API server's differ by {{ $value }} s",
        ),
    ]


def _alert(name: str, expr: str, after: str, severity: str, summary: str) -> Rule:
    return {
        "alert": f"Trimtab{name}",
        "expr": expr,
        "for": after,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }
