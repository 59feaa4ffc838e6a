"""Conditions: one per phase of which exactly one is True, a triple for machines, and markers.

The time of a condition moves only when its status does; reason and text may change without.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import get_args

from trimtab.advisor.api import Phase, PlatformStatus
from trimtab.kube.resources import Condition

UPGRADE, INPUT_DRIFT = "UpgradeAvailable", "InputDependencyDrift"
REVIEW_AGAIN, EDIT_WAR = "ReviewAgain", "EditWar"
MARKERS = (UPGRADE, INPUT_DRIFT, REVIEW_AGAIN, EDIT_WAR)
PHASES: tuple[Phase, ...] = get_args(Phase)

_REASONS: Mapping[tuple[str, str], str] = {
    ("Drafting", "InProgress"): "NotInProgress",
    ("ReviewRequired", "Drafting"): "NotDrafting",
    ("ReviewRequired", "InProgress"): "NotInProgress",
    ("ReviewRequired", "Completed"): "NotCompleted",
    ("ReviewRequired", "Drifted"): "NoDrift",
    ("Completed", "InProgress"): "NotInProgress",
    ("Completed", "Drifted"): "NoDrift",
    ("CompletedWithUpgrade", "InProgress"): "NotInProgress",
    ("CompletedWithUpgrade", "Drifted"): "NoDrift",
    ("CompletedWithErrors", "Completed"): "CompletedWithErrors",
    ("Drifted", "Completed"): "ConfigurationDrifted",
    ("Failed", "Completed"): "Failed",
    ("PrerequisiteFailed", "Completed"): "PrerequisitesFailed",
}
_TRUE_REASONS: Mapping[str, str] = {"Drifted": "DriftDetected"}
TEXTS: Mapping[str, str] = {
    "Pending": "Waiting to be planned",
    "Drafting": "The plan is being drafted",
    "PrerequisiteFailed": "Something that the profile needs is missing",
    "ReviewRequired": "The plan is ready for review; nothing was changed yet",
    "InProgress": "The plan is being applied",
    "Completed": "The cluster is configured as planned",
    "CompletedWithErrors": "Some items of the plan failed",
    "CompletedWithUpgrade": "Configured; this version of the operator would plan it differently",
    "Failed": "The plan was not carried out",
    "Drifted": "The configuration is no longer what was applied",
    "Ignored": "Not managed: resources in the cluster stay as they are",
    "RollingBack": "What was applied is being taken back",
    "RolledBack": "What was applied was taken back",
}
_DONE = ("Completed", "CompletedWithUpgrade")
_BUSY = ("Pending", "Drafting", "InProgress", "RollingBack")
_BAD = ("Failed", "PrerequisiteFailed", "CompletedWithErrors", "Drifted")


def phase_conditions(
    before: PlatformStatus, phase: Phase, detail: str, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Every condition of a status in `phase`; markers stay as they are."""
    text = detail or TEXTS[phase]
    told = [
        set_condition(
            before, each, _is_true(phase, each), *_why(phase, each, text), generation, now
        )
        for each in PHASES
    ]
    triple = {"Ready": phase in _DONE, "Progressing": phase in _BUSY, "Degraded": phase in _BAD}
    told += [
        set_condition(before, name, true, phase, text, generation, now)
        for name, true in triple.items()
    ]
    return (*told, *(each for each in before.conditions if each.type in MARKERS))


def _is_true(phase: Phase, each: Phase) -> bool:
    return each == phase or (each == "Completed" and phase == "CompletedWithUpgrade")


def _why(phase: Phase, each: Phase, text: str) -> tuple[str, str]:
    if _is_true(phase, each):
        return _TRUE_REASONS.get(each, each), text
    return _REASONS.get((phase, each), phase), f"The phase is {phase}"


def set_condition(
    before: PlatformStatus,
    name: str,
    true: bool,
    reason: str,
    message: str,
    generation: int,
    now: datetime,
) -> Condition:
    old = find(before, name)
    status = "True" if true else "False"
    same = old is not None and old.status == status
    return Condition(
        type=name,
        status=status,
        reason=reason,
        message=message[:4096],
        last_transition_time=old.last_transition_time if old and same else now,
        observed_generation=generation,
    )


def marked(
    status: PlatformStatus, name: str, true: bool, reason: str, message: str, now: datetime
) -> tuple[Condition, ...]:
    """The conditions with one marker set; a marker that never was True is not invented."""
    if not true and find(status, name) is None:
        return status.conditions
    marker = set_condition(status, name, true, reason, message, status.observed_generation, now)
    return (*(each for each in status.conditions if each.type != name), marker)


def find(status: PlatformStatus, name: str) -> Condition | None:
    return next((each for each in status.conditions if each.type == name), None)


def is_true(status: PlatformStatus, name: str) -> bool:
    found = find(status, name)
    return found is not None and found.status == "True"
