"""Conditions by phase: the whole table, and when their times move."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from trimtab.advisor.api import Phase, PlatformStatus
from trimtab.advisor.decide.conditions import (
    INPUT_DRIFT,
    PHASES,
    TEXTS,
    find,
    is_true,
    marked,
    phase_conditions,
)
from trimtab.kube.resources import Condition

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def status_in(
    phase: Phase, detail: str = "", before: PlatformStatus | None = None
) -> PlatformStatus:
    old = before or PlatformStatus()
    conditions = phase_conditions(old, phase, detail, 3, NOW if before is None else LATER)
    return structs.replace(old, phase=phase, conditions=conditions)


def told(status: PlatformStatus, name: str) -> Condition:
    found = find(status, name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("phase", "name", "status", "reason"),
    [
        ("Pending", "Pending", "True", "Pending"),
        ("Drafting", "Drafting", "True", "Drafting"),
        ("Drafting", "InProgress", "False", "NotInProgress"),
        ("ReviewRequired", "ReviewRequired", "True", "ReviewRequired"),
        ("ReviewRequired", "Drafting", "False", "NotDrafting"),
        ("ReviewRequired", "InProgress", "False", "NotInProgress"),
        ("ReviewRequired", "Completed", "False", "NotCompleted"),
        ("ReviewRequired", "Drifted", "False", "NoDrift"),
        ("ReviewRequired", "Pending", "False", "ReviewRequired"),
        ("InProgress", "InProgress", "True", "InProgress"),
        ("InProgress", "Drafting", "False", "InProgress"),
        ("Completed", "Completed", "True", "Completed"),
        ("Completed", "InProgress", "False", "NotInProgress"),
        ("Completed", "Drifted", "False", "NoDrift"),
        ("CompletedWithUpgrade", "Completed", "True", "Completed"),
        ("CompletedWithUpgrade", "CompletedWithUpgrade", "True", "CompletedWithUpgrade"),
        ("CompletedWithErrors", "Completed", "False", "CompletedWithErrors"),
        ("Drifted", "Drifted", "True", "DriftDetected"),
        ("Drifted", "Completed", "False", "ConfigurationDrifted"),
        ("Failed", "Failed", "True", "Failed"),
        ("Failed", "Completed", "False", "Failed"),
        ("Failed", "InProgress", "False", "Failed"),
        ("PrerequisiteFailed", "PrerequisiteFailed", "True", "PrerequisiteFailed"),
        ("PrerequisiteFailed", "Completed", "False", "PrerequisitesFailed"),
        ("Ignored", "Ignored", "True", "Ignored"),
        ("Ignored", "InProgress", "False", "Ignored"),
        ("RollingBack", "Completed", "False", "RollingBack"),
        ("RolledBack", "RolledBack", "True", "RolledBack"),
    ],
)
def test_the_table(phase: Phase, name: str, status: str, reason: str) -> None:
    found = told(status_in(phase), name)
    assert (found.status, found.reason) == (status, reason)


@pytest.mark.parametrize("phase", PHASES)
def test_conditions_are_complete_and_exclude_each_other(phase: Phase) -> None:
    status = status_in(phase)
    true = {c.type for c in status.conditions if c.status == "True" and c.type in PHASES}
    assert true - {"Completed"} == {phase} - {"Completed"}
    assert ("Completed" in true) == (phase in ("Completed", "CompletedWithUpgrade"))
    for condition in status.conditions:
        assert condition.status in ("True", "False")
        assert condition.type
        assert condition.reason
        assert condition.message
        assert condition.last_transition_time == NOW
        assert condition.observed_generation == 3


@pytest.mark.parametrize("phase", PHASES)
def test_nothing_of_a_phase_survives_it(phase: Phase) -> None:
    after = status_in("Pending", before=status_in(phase))
    assert [c.type for c in after.conditions if c.status == "True"] == ["Pending", "Progressing"]


def test_a_time_moves_with_the_status_and_not_with_the_text() -> None:
    first = status_in("Failed", "one reason")
    second = status_in("Failed", "another", before=first)
    assert told(second, "Failed").message == "another"
    assert told(second, "Failed").last_transition_time == NOW
    third = status_in("Pending", before=second)
    assert told(third, "Failed").last_transition_time == LATER


def test_details_are_kept_and_every_phase_has_a_text() -> None:
    assert (
        told(status_in("PrerequisiteFailed", "  - KubeDescheduler"), "PrerequisiteFailed").message
        == "  - KubeDescheduler"
    )
    assert set(TEXTS) == set(PHASES)


def test_markers_live_through_phases_and_are_not_invented() -> None:
    status = status_in("Completed")
    assert marked(status, INPUT_DRIFT, False, "R", "m", NOW) == status.conditions
    marker = marked(status, INPUT_DRIFT, True, "InputChanged", "m", NOW)
    status = status_in("Drafting", before=structs.replace(status, conditions=marker))
    assert is_true(status, INPUT_DRIFT)
