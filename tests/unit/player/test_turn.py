"""What the handlers write next: a VMI's whole life, and every way that a migration can go.

The tests play the API server: a patch is merged into the VMI, which is then looked at again.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, structs, to_builtins

from trimtab.kube.kubevirt import MIGRATION_TARGET_LABEL, NODE_NAME_LABEL, Vmi
from trimtab.player.launchers import PlayedLauncher, endings
from trimtab.player.migration import MigrationFacts
from trimtab.player.turn import next_step
from trimtab.virt.copies import Progress

NOW = "2026-11-16T12:00:00Z"
HALF = Progress(4.0, in_time=True, stuck=False, total=8.0, left=4.0, sent=4.0, rate=1.0)
DONE = structs.replace(HALF, left_s=0.0, left=0.0)
STUCK = structs.replace(HALF, left_s=0.0, in_time=False, stuck=True, left=8.0)
SLOW = structs.replace(HALF, left_s=-1.0, in_time=False, total=2.0 * 1024**3)
AWAKE = MigrationFacts(now=NOW, source_answers=True, target_answers=True, target_address="n2")


def a_vmi(phase: str = "Running", **more: Any) -> dict[str, Any]:
    metadata = {"name": "vm", "namespace": "default", "uid": "u", "labels": {}, "annotations": {}}
    kinds = ("LiveMigratable", "StorageLiveMigratable") if phase == "Running" else ()
    conditions = [{"type": kind, "status": "True"} for kind in kinds]
    status = {"phase": phase, "nodeName": "n1", "conditions": conditions}
    return {"metadata": metadata, "spec": {"domain": {}}, "status": status} | more


def migrating(**state: Any) -> dict[str, Any]:
    """A VMI as virt-controller hands it over to the handlers."""
    vmi = a_vmi()
    vmi["metadata"]["labels"] = {NODE_NAME_LABEL: "n1", MIGRATION_TARGET_LABEL: "n2"}
    vmi["status"]["evacuationNodeName"] = "n1"
    vmi["status"]["migrationState"] = {
        "migrationUid": "m1",
        "sourceNode": "n1",
        "sourcePod": "pod-1",
        "targetNode": "n2",
        "targetPod": "pod-2",
        **state,
    }
    return vmi


def a_launcher(
    name: str, node: str, *, deleted: bool = False, job: str = "", phase: str = "Running"
) -> PlayedLauncher:
    labels = {"kubevirt.io/created-by": "u"} | ({"kubevirt.io/migrationJobUID": job} if job else {})
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": labels,
        "annotations": {"kubevirt.io/domain": "vm"},
    } | ({"deletionTimestamp": NOW} if deleted else {})
    made = {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}
    return convert(made, PlayedLauncher)


def merged(old: Any, patch: Any) -> Any:
    """A JSON merge patch, as the API server applies it."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = merged(kept.get(name), value)
    return kept


def lived(vmi: dict[str, Any], facts: MigrationFacts) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every write until nothing is left to do."""
    for _ in range(20):
        step = next_step(convert(vmi, Vmi), (), facts)
        if step.patch is None:
            return
        vmi = merged(vmi, step.patch)
        yield step.event, vmi
    raise AssertionError("the handlers never come to an end")


def test_a_scheduled_guest_starts_and_says_that_it_can_migrate() -> None:
    ((event, vmi),) = lived(a_vmi("Scheduled"), AWAKE)
    assert event == "guest started"
    status = convert(vmi, Vmi).status
    assert status.phase == "Running"
    assert status.selinux_context == "none", "without it KubeVirt makes no target pod"
    assert convert(vmi, Vmi).migratable
    assert vmi["status"]["phaseTransitionTimestamps"] == [
        {"phase": "Running", "phaseTransitionTimestamp": NOW}
    ]


def test_conditions_of_others_stay_as_they_are() -> None:
    vmi = a_vmi("Scheduled")
    ready = {"type": "Ready", "status": "True", "lastProbeTime": None}
    vmi["status"]["conditions"] = [ready]
    ((_, after),) = lived(vmi, AWAKE)
    assert ready in after["status"]["conditions"]


def test_a_migration_goes_through_every_step_in_order() -> None:
    seen = list(lived(migrating(), structs.replace(AWAKE, copy=DONE)))
    assert [event for event, _ in seen] == [
        "target prepared",
        "copy begun",
        "guest handed over",
        "migration completed",
        "migration cleaned up",
    ]
    end = convert(seen[-1][1], Vmi)
    assert end.status.node_name == end.metadata.labels[NODE_NAME_LABEL] == "n2"
    assert MIGRATION_TARGET_LABEL not in end.metadata.labels
    assert end.status.evacuation_node_name == ""
    assert end.status.migration_state is not None
    assert end.status.migration_state.completed
    assert not end.status.migration_state.failed


def test_the_guest_stays_until_the_copy_is_over() -> None:
    vmi = convert(migrating(targetNodeAddress="n2", startTimestamp=NOW), Vmi)
    step = next_step(vmi, (), structs.replace(AWAKE, copy=HALF))
    assert step.patch is None
    assert step.again_s == 4.0


STARTED = {"targetNodeAddress": "n2", "startTimestamp": NOW}


@pytest.mark.parametrize(
    ("state", "annotations", "facts", "reason", "aborted"),
    [
        pytest.param(
            {**STARTED, "abortRequested": True},
            {},
            structs.replace(AWAKE, copy=HALF),
            "Live migration aborted ",
            True,
            id="aborted while it copies",
        ),
        pytest.param(
            {"targetNodeAddress": "n2", "abortRequested": True},
            {},
            AWAKE,
            "Live migration aborted ",
            True,
            id="aborted before it copies",
        ),
        pytest.param(
            STARTED,
            {"trimtab.dev/fail-migration": "the cable was pulled"},
            structs.replace(AWAKE, copy=HALF),
            "the cable was pulled",
            False,
            id="failure on request",
        ),
        pytest.param(
            STARTED,
            {},
            structs.replace(AWAKE, copy=STUCK),
            "Live migration stuck for 150 seconds and has been aborted",
            True,
            id="memory changes faster than it is copied",
        ),
        pytest.param(
            STARTED,
            {},
            structs.replace(AWAKE, copy=SLOW),
            "Live migration is not completed after 300 seconds and has been aborted",
            True,
            id="it takes too long",
        ),
        pytest.param(
            STARTED,
            {},
            structs.replace(AWAKE, copy=HALF, target_answers=False),
            "Live migration failed: node n2 does not answer",
            False,
            id="the target dies",
        ),
    ],
)
def test_a_failed_migration_leaves_the_guest_where_it_was(
    state: dict[str, Any],
    annotations: dict[str, str],
    facts: MigrationFacts,
    reason: str,
    aborted: bool,
) -> None:
    vmi = migrating(**state)
    vmi["metadata"]["annotations"] = annotations
    end = convert([after for _, after in lived(vmi, facts)][-1], Vmi)
    assert end.status.node_name == "n1"
    assert end.status.evacuation_node_name == "n1", "the mark is virt-controller's to clear"
    assert MIGRATION_TARGET_LABEL not in end.metadata.labels
    assert end.status.migration_state is not None
    assert end.status.migration_state.failed
    assert end.status.migration_state.failure_reason == reason
    assert end.status.migration_state.abort_status == ("Succeeded" if aborted else "")


@pytest.mark.parametrize(
    ("vmi", "facts"),
    [
        pytest.param(a_vmi("Scheduled"), structs.replace(AWAKE, source_answers=False), id="start"),
        pytest.param(
            migrating(**STARTED), structs.replace(AWAKE, source_answers=False, copy=DONE), id="copy"
        ),
        pytest.param(migrating(), structs.replace(AWAKE, target_answers=False), id="prepare"),
    ],
)
def test_nobody_acts_for_a_node_that_is_lost(vmi: dict[str, Any], facts: MigrationFacts) -> None:
    assert next_step(convert(vmi, Vmi), (), facts).patch is None


@pytest.mark.parametrize("phase", ["", "Pending", "Scheduling", "Succeeded", "Failed"])
def test_phases_that_are_others_business_are_left_alone(phase: str) -> None:
    assert next_step(convert(a_vmi(phase), Vmi), (), AWAKE).patch is None


@pytest.mark.parametrize("phase", ["Scheduled", "Running"])
def test_a_deleted_vmi_shuts_down(phase: str) -> None:
    vmi = a_vmi(phase)
    vmi["metadata"]["deletionTimestamp"] = NOW
    ((event, after),) = lived(vmi, AWAKE)
    assert event == "guest shut down"
    assert after["status"]["phase"] == "Succeeded"


def test_a_guest_whose_launcher_is_deleted_shuts_down() -> None:
    vmi = convert(a_vmi(), Vmi)
    mine = a_launcher("pod-1", "n1", deleted=True)
    assert next_step(vmi, [mine], AWAKE).event == "guest shut down"
    target = a_launcher("pod-2", "n2", deleted=True, job="m1")
    assert next_step(vmi, [target], AWAKE).patch is None


def test_a_running_guest_that_can_migrate_no_more_says_so() -> None:
    vmi = a_vmi()
    vmi["metadata"]["annotations"] = {"trimtab.dev/not-live-migratable": "SEVNotLiveMigratable"}
    ((event, after),) = lived(vmi, AWAKE)
    assert event == "conditions changed"
    assert not convert(after, Vmi).migratable


def names_of(vmi: dict[str, Any] | None, *launchers: PlayedLauncher) -> set[str]:
    made = None if vmi is None else convert(vmi, Vmi)
    return {ending.launcher.metadata.name for ending in endings(made, launchers)}


SOURCE, TARGET = a_launcher("pod-1", "n1"), a_launcher("pod-2", "n2", job="m1")


@pytest.mark.parametrize(
    ("vmi", "ended"),
    [
        pytest.param(a_vmi(), set(), id="nothing happens"),
        pytest.param(a_vmi("Succeeded"), {"pod-1", "pod-2"}, id="the guest has shut down"),
        pytest.param(migrating(**STARTED), set(), id="the copy is under way"),
        pytest.param(migrating(**STARTED, completed=True), {"pod-1"}, id="the guest has left"),
        pytest.param(
            migrating(**STARTED, completed=True, failed=True), {"pod-2"}, id="it could not leave"
        ),
        pytest.param(
            migrating(**STARTED, completed=True, failed=True, migrationUid="m0"),
            set(),
            id="an earlier migration failed",
        ),
        pytest.param(None, set(), id="the VMI is gone and the pods wait for the collector"),
    ],
)
def test_a_launcher_ends_with_what_it_was_for(vmi: dict[str, Any] | None, ended: set[str]) -> None:
    assert names_of(vmi, SOURCE, TARGET) == ended


def test_a_second_target_of_a_migration_that_is_over_gives_up() -> None:
    twin = a_launcher("pod-3", "n3", job="m1")
    assert names_of(migrating(**STARTED), twin) == set()
    assert names_of(migrating(**STARTED, completed=True), TARGET, twin) == {"pod-3"}


def test_a_deleted_launcher_of_nobody_is_removed() -> None:
    (ending,) = endings(None, [a_launcher("pod-1", "n1", deleted=True)])
    assert ending.finish
    assert ending.remove


def test_the_launcher_under_a_running_guest_is_never_removed() -> None:
    assert not names_of(a_vmi(), a_launcher("pod-1", "n1", deleted=True))


facts_of_any_kind = st.builds(
    MigrationFacts,
    now=st.just(NOW),
    source_answers=st.booleans(),
    target_answers=st.booleans(),
    target_address=st.just("n2"),
    copy=st.sampled_from([None, HALF, DONE, STUCK, SLOW]),
)


@given(
    st.lists(facts_of_any_kind, min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from(["", "Running", "Scheduled"]),
)
def test_whatever_happens_the_guest_is_on_one_node_and_an_end_stays(
    course: list[MigrationFacts], abort: bool, phase: str
) -> None:
    vmi = migrating(**({"abortRequested": True} if abort else {}))
    vmi["status"]["phase"] = phase or "Running"
    ended = ""
    for facts in course:
        step = next_step(convert(vmi, Vmi), (SOURCE, TARGET), facts)
        vmi = merged(vmi, step.patch or {})
        seen = convert(vmi, Vmi)
        assert seen.status.node_name in ("n1", "n2")
        state = seen.status.migration_state
        assert state is not None
        moved = state.end_timestamp is not None and not state.failed
        assert seen.status.node_name == ("n2" if moved else "n1")
        if ended:
            assert to_builtins(state) == ended, "what has ended does not change"
        if state.ended:
            ended = to_builtins(state)


def test_a_copy_to_a_launcher_that_has_ended_fails() -> None:
    vmi = convert(migrating(startTimestamp=NOW, targetNodeAddress="n2"), Vmi)
    facts = structs.replace(AWAKE, copy=HALF, target_lives=False)
    step = next_step(vmi, (a_launcher("pod-1", "n1"),), facts)
    assert step.patch is not None
    state = step.patch["status"]["migrationState"]
    assert state["failed"]
    assert state["failureReason"] == "Live migration failed: pod pod-2 has ended"


@pytest.mark.parametrize(
    ("launchers", "crashed"),
    [
        pytest.param((("pod-1", "n1", "Failed"),), True, id="its only one"),
        pytest.param((("pod-0", "n1", "Succeeded"), ("pod-1", "n1", "Running")), False, id="back"),
        pytest.param((("pod-1", "n1", "Running"), ("pod-2", "n2", "Failed")), False, id="target"),
        pytest.param((), False, id="not seen yet"),
    ],
)
def test_a_guest_whose_launcher_has_ended_has_crashed(
    launchers: tuple[tuple[str, str, str], ...], crashed: bool
) -> None:
    vmi = convert(a_vmi(), Vmi)
    seen = [a_launcher(name, node, phase=phase) for name, node, phase in launchers]
    step = next_step(vmi, seen, AWAKE)
    assert (step.event == "guest crashed") is crashed
