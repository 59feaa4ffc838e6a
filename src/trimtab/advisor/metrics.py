"""The operator's own metrics: where each configuration is, and what it takes to get there."""

from typing import get_args

from trimtab.advisor.api import ItemState, Phase, VirtPlatformConfig
from trimtab.advisor.decide.conditions import EDIT_WAR, INPUT_DRIFT, is_true
from trimtab.kube.resources import ObjectMeta
from trimtab.obs.metrics import counter, gauge, histogram

phases = gauge("trimtab_advisor_phase", "1 for the phase a configuration is in", "config", "phase")
drifted = gauge("trimtab_advisor_drifted", "1 while a configuration is Drifted", "config")
prerequisites = gauge(
    "trimtab_advisor_prerequisites_missing", "1 while prerequisites are missing", "config"
)
input_drift = gauge(
    "trimtab_advisor_input_drift", "1 while a changed input waits for review", "config"
)
edit_war = gauge(
    "trimtab_advisor_edit_war", "1 while re-applying is paused because others write too", "config"
)
items = gauge("trimtab_advisor_plan_items", "Items of the plan", "config", "state", "severity")
writes = counter("trimtab_advisor_status_writes_total", "Statuses written", "config")
reapplies = counter("trimtab_advisor_reapplies_total", "Re-applies after drift", "config")
apply_seconds = histogram(
    "trimtab_advisor_apply_seconds",
    "Time of one write to the cluster by its outcome: applied, refused, contested",
    "outcome",
    buckets=(0.01, 0.05, 0.2, 1.0, 5.0, 30.0),
)
_SEVERITIES = ("Low", "Medium", "High")


def tell(config: VirtPlatformConfig) -> None:
    """Set the gauges of one configuration."""
    name, status = config.metadata.name, config.status
    for phase in get_args(Phase):
        phases.labels(name, phase).set(phase == status.phase)
    drifted.labels(name).set(status.phase == "Drifted")
    prerequisites.labels(name).set(status.phase == "PrerequisiteFailed")
    input_drift.labels(name).set(is_true(status, INPUT_DRIFT))
    edit_war.labels(name).set(is_true(status, EDIT_WAR))
    counts: list[tuple[str, str]] = [(i.state, i.impact_severity) for i in status.items]
    for state in get_args(ItemState):
        for severity in _SEVERITIES:
            items.labels(name, state, severity).set(counts.count((state, severity)))


def forget(name: str) -> None:
    """A configuration that is gone is not counted."""
    tell(VirtPlatformConfig(metadata=ObjectMeta(name=name)))
