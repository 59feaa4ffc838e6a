"""Migrations of the recorded period: what their objects tell, and what nobody tells."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from builders.worlds.recordings import START, a_recording
from trimtab.kube.kubevirt import Vmi, Vmim
from trimtab.kube.virtual_machines import VirtualMachineMigration
from trimtab.model.recorded.recording import Finding, RecordedMigration
from trimtab.observe.record.migrations import (
    forgetful,
    kubevirt_migrations,
    of_period,
    own_migrations,
)
from trimtab.view.record import counts_of, finding_text, migrations_text

STATE = {
    "migrationUid": "u1",
    "sourceNode": "n1",
    "targetNode": "n2",
    "startTimestamp": "2026-11-01T10:00:05Z",
    "endTimestamp": "2026-11-01T10:00:25Z",
}


def at(second: int) -> float:
    return datetime(2026, 11, 1, 10, 0, second, tzinfo=UTC).timestamp()


def recorded(
    phase: str = "Succeeded",
    *,
    own: dict[str, Any] | None = None,
    on_vmi: dict[str, Any] | None = None,
    **more: Any,
) -> RecordedMigration:
    """A VMIM of shop/web, with its state on itself or on its VMI."""
    meta = {"name": "m", "namespace": "shop", "uid": "u1"}
    meta |= {"creationTimestamp": "2026-11-01T10:00:00Z", **more.pop("metadata", {})}
    status = {"phase": phase, **more} | ({"migrationState": own} if own else {})
    made = convert({"metadata": meta, "spec": {"vmiName": "web"}, "status": status}, Vmim)
    latest = {"migrationState": on_vmi} if on_vmi else {}
    vmi = convert({"metadata": {"name": "web", "namespace": "shop"}, "status": latest}, Vmi)
    (found,) = kubevirt_migrations([made], [vmi])
    return found


@pytest.mark.parametrize(
    ("own", "on_vmi"),
    [
        pytest.param(STATE, None, id="its own state"),
        pytest.param(None, STATE, id="only its VMI tells"),
    ],
)
def test_nodes_and_times_are_those_of_the_state(
    own: dict[str, Any] | None, on_vmi: dict[str, Any] | None
) -> None:
    assert recorded(own=own, on_vmi=on_vmi) == RecordedMigration(
        vm="shop/web",
        asked=at(0),
        begun=at(5),
        ended=at(25),
        source="n1",
        target="n2",
        phase="Succeeded",
    )


def test_a_migration_whose_vmi_tells_of_a_later_one_has_no_nodes() -> None:
    found = recorded(on_vmi={**STATE, "migrationUid": "u2"})
    assert (found.source, found.target, found.begun, found.ended) == ("", "", None, None)
    assert found.finished


def test_one_that_failed_before_it_copied_ended_when_it_came_into_that_phase() -> None:
    phases = [
        {"phase": "Pending", "phaseTransitionTimestamp": "2026-11-01T10:00:01Z"},
        {"phase": "Failed", "phaseTransitionTimestamp": "2026-11-01T10:00:09Z"},
    ]
    found = recorded("Failed", phaseTransitionTimestamps=phases)
    assert (found.begun, found.ended) == (None, at(9))


def test_one_that_runs_has_no_end() -> None:
    found = recorded("Running", on_vmi={**STATE, "endTimestamp": None})
    assert (found.phase, found.ended, found.finished) == ("Running", None, False)


@pytest.mark.parametrize(
    ("metadata", "by"),
    [
        ({"annotations": {"kubevirt.io/evacuationMigration": "n1"}}, "eviction"),
        ({"annotations": {"kubevirt.io/workloadUpdateMigration": ""}}, "update"),
        ({"labels": {"trimtab.dev/rebalance-plan": "plan-a"}}, "balancer"),
        ({"labels": {"team": "a"}}, ""),
    ],
)
def test_who_wanted_it_is_told_as_far_as_the_object_does(metadata: dict[str, Any], by: str) -> None:
    assert recorded(metadata=metadata).by == by


def test_our_own_migrations_are_told_in_the_same_words() -> None:
    meta = {"namespace": "shop", "labels": {"trimtab.dev/evacuation": "true"}}
    meta |= {"creationTimestamp": "2026-11-01T10:00:00Z"}
    status = {"phase": "Cancelled", "sourceNode": "n1", "completionTime": "2026-11-01T10:00:25Z"}
    made = {"metadata": meta, "spec": {"vmName": "web"}, "status": status}
    (found,) = own_migrations([convert(made, VirtualMachineMigration)])
    assert found == RecordedMigration(
        vm="shop/web", asked=at(0), ended=at(25), source="n1", phase="Cancelled", by="eviction"
    )


def test_the_period_has_what_ended_in_it_and_what_is_under_way() -> None:
    before = RecordedMigration(vm="a/a", asked=10.0, ended=90.0, phase="Succeeded")
    into = replace(before, ended=110.0)
    waiting = RecordedMigration(vm="a/b", asked=10.0, phase="Pending")
    unknown = RecordedMigration(vm="a/c", asked=120.0, phase="Succeeded")
    assert of_period([before, into, waiting, unknown], 100.0) == [into, waiting, unknown]


def test_a_vm_with_as_many_as_are_kept_may_have_had_more() -> None:
    one = RecordedMigration(vm="a/a", asked=1.0, phase="Failed")
    other = replace(one, vm="a/b")
    assert forgetful([one] * 4 + [other] * 5 + [replace(one, phase="Running")]) == 1


def test_a_recording_counts_its_migrations_by_day_by_fate_and_by_whom() -> None:
    day = 86_400.0
    moves = (
        RecordedMigration(vm="a/a", asked=START, phase="Succeeded", by="eviction"),
        RecordedMigration(vm="a/b", asked=START + day, phase="Failed", by="eviction"),
        RecordedMigration(vm="a/c", asked=START + day, phase="Running"),
    )
    manifest = replace(a_recording().manifest, migrations=moves)
    counts = counts_of(manifest)
    assert counts.per_day == {"2023-11-14": 1, "2023-11-15": 2}
    assert migrations_text(counts, 2 * day) == (
        "3 migrations (1.5 a day, most 2 on 2023-11-15), 1 failed, 1 under way: "
        "2 after evictions, 1 by others"
    )
    assert " a day" not in migrations_text(counts, day / 2), "half a day is no rate of days"


def test_a_note_is_shown_without_a_count() -> None:
    note = "2 migrations of KubeVirt are under way"
    assert finding_text(Finding(note, 1, "")) == note
    assert finding_text(Finding("moves of VMs", 1, "a replay makes them too")).startswith("1 moves")
