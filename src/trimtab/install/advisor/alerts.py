"""Alerts on the operator's metrics; each says what to look at."""

from typing import Any

Rule = dict[str, Any]
GUIDE = "docs/guide/advisor.md"
_LOOK = "kubectl describe virtplatformconfig {{ $labels.config }}"


def alert_groups() -> Rule:
    """A rule file for Prometheus."""
    return {"groups": [{"name": "trimtab-advisor", "rules": [_rule(*each) for each in _ALERTS]}]}


_ALERTS = (
    (
        "VirtPlatformConfigDrifted",
        "trimtab_advisor_drifted == 1",
        "10m",
        "warning",
        "4-drift",
        "{{ $labels.config }}: the cluster is no longer configured as it was applied",
    ),
    (
        "VirtPlatformConfigFailed",
        'trimtab_advisor_phase{phase=~"Failed|CompletedWithErrors"} == 1',
        "5m",
        "warning",
        "when-something-goes-wrong",
        "{{ $labels.config }} is {{ $labels.phase }}",
    ),
    (
        "VirtPlatformConfigEditWar",
        "trimtab_advisor_edit_war == 1",
        "1m",
        "warning",
        "4-drift",
        "{{ $labels.config }}: somebody else writes the same fields; re-applying is paused",
    ),
    (
        "VirtPlatformConfigReviewWaiting",
        "trimtab_advisor_input_drift == 1",
        "1h",
        "info",
        "2-review-and-approve",
        "{{ $labels.config }}: an input changed, and the new plan waits for review",
    ),
    (
        "VirtPlatformConfigStuck",
        'trimtab_advisor_phase{phase=~"InProgress|RollingBack"} == 1',
        "2h",
        "warning",
        "when-something-goes-wrong",
        "{{ $labels.config }} has been {{ $labels.phase }} for two hours",
    ),
    (
        "VirtPlatformConfigPrerequisites",
        "trimtab_advisor_prerequisites_missing == 1",
        "30m",
        "info",
        "when-something-goes-wrong",
        "{{ $labels.config }}: something that the profile needs is missing",
    ),
)


def _rule(name: str, expression: str, held: str, severity: str, section: str, summary: str) -> Rule:
    return {
        "alert": name,
        "expr": expression,
        "for": held,
        "labels": {"severity": severity},
        "annotations": {
            "summary": summary,
            "description": f"See: {_LOOK}",
            "runbook": f"{GUIDE}#{section}",
        },
    }
