"""Evictions and migrations on a real control plane, with the webhook in the API server's path."""

from collections.abc import Iterator
from urllib.request import urlopen

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from builders.labs.vmcluster import Cluster
from builders.waiting import LIMIT_S
from trimtab.kube.errors import NotFound, TooManyRequests
from trimtab.kube.resources import NODES, PODS
from trimtab.kube.virtual_machines import (
    CANCEL_EVACUATION,
    EVICTION_IN_PROGRESS,
    MIGRATION_LABEL,
    MIGRATIONS,
    VMS,
    VirtualMachineMigration,
)
from trimtab.lab.api import tls_context
from trimtab.vm.decide.eviction import TRIGGERED

pytestmark = pytest.mark.engines
SCALE = 15  # of the lab
SECONDS_OF_COPYING = f"{4 * SCALE}Gi"  # at 0.8 in use and 1 GiB/s, 3.2 s of real time


@pytest.fixture
def cordoned(cluster: Cluster) -> Iterator[list[str]]:
    """Nodes to cordon; open again afterwards."""
    nodes: list[str] = []
    yield nodes
    for node in nodes:
        cluster.patch_node(node, {"spec": {"unschedulable": None}})


def close(cluster: Cluster, cordoned: list[str], *numbers: int) -> None:
    for number in numbers:
        cordoned.append(f"kwok-node-{number}")
        cluster.patch_node(cordoned[-1], {"spec": {"unschedulable": True}})


def only(cluster: Cluster, home: str, phase: str) -> VirtualMachineMigration:
    """The one migration of the namespace, once it is in `phase`."""

    def there() -> bool:
        return [each.status.phase for each in cluster.migrations(home)] == [phase]

    cluster.wait(there, f"no migration {phase}: {cluster.migrations(home)}")
    return cluster.migrations(home)[0]


def evict(cluster: Cluster, home: str, vm: str) -> str:
    """Ask for the active pod's eviction; what the API server says."""
    with pytest.raises(TooManyRequests) as refusal:
        cluster.evict(home, cluster.vm(home, vm).status.pod_name)
    return refusal.value.message


def test_an_eviction_becomes_a_migration(cluster: Cluster, home: str) -> None:
    before = cluster.start_vm(home, "web", node="kwok-node-1", memory=SECONDS_OF_COPYING)
    source = before.status.pod_name

    said = evict(cluster, home, "web")
    assert said.endswith(f'{TRIGGERED} of VM "{home}/web"')

    cluster.wait(
        lambda: cluster.vm(home, "web").status.evacuation_node_name == "kwok-node-1", "no mark"
    )
    cluster.wait(
        lambda: cluster.pods(home)[0].metadata.annotations.get(EVICTION_IN_PROGRESS) == "true",
        "the pod does not say that it is being evicted",
    )
    cluster.await_phase(home, "web", "Migrating")
    again = evict(cluster, home, "web")
    assert f"Evacuation in progress: {TRIGGERED}" in again

    copying = only(cluster, home, "PreCopy")
    target = copying.status.target_pod
    pod = cluster.pod(home, target)
    assert pod is not None
    assert pod.metadata.labels[MIGRATION_LABEL] == copying.metadata.name
    with pytest.raises(TooManyRequests, match="target Pod"):
        cluster.evict(home, target)

    done = only(cluster, home, "Succeeded")
    cluster.wait(lambda: cluster.vm(home, "web").status.phase == "Running", "not running")
    after = cluster.vm(home, "web").status
    assert (after.pod_name, after.node_name) == (target, done.status.target_node)
    assert after.node_name != "kwok-node-1"
    assert (after.evacuation_node_name, after.migration_name) == ("", "")
    cluster.wait(lambda: cluster.pod(home, source) is None, "the source is still there")
    cluster.wait(
        lambda: MIGRATION_LABEL not in cluster.pods(home)[0].metadata.labels,
        "the active pod still says that it is a target",
    )
    assert EVICTION_IN_PROGRESS not in cluster.pods(home)[0].metadata.annotations
    cluster.await_events(home, "EvacuationStarted", "Migrating", "CutOver", "Migrated")
    about = {e["regarding"]["kind"] for e in cluster.events(home) if e["reason"] == "CutOver"}
    assert about == {"VirtualMachine", "Pod"}


def test_the_controller_counts_what_it_did(cluster: Cluster, home: str) -> None:
    cluster.start_vm(home, "web")
    cluster.migrate(home, "web")
    only(cluster, home, "Succeeded")
    with urlopen(f"{cluster.lab.urls['vm-controller']}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    ended = {s.labels.get("outcome"): s.value for s in families["trimtab_vm_migrations"].samples}
    assert ended["succeeded"] >= 1
    phases = {s.labels["phase"]: s.value for s in families["trimtab_vms"].samples}
    assert phases["Running"] >= 1
    assert "trimtab_vm_without_pod_seconds" in families
    assert "trimtab_vm_migration_seconds" in families


def test_a_dry_run_is_answered_and_changes_nothing(cluster: Cluster, home: str) -> None:
    vm = cluster.start_vm(home, "web")
    with pytest.raises(TooManyRequests, match=TRIGGERED):
        cluster.evict(home, vm.status.pod_name, dry_run=True)
    live = cluster.call(cluster.client.get(VMS, "web", home))
    assert live.metadata.resource_version == vm.metadata.resource_version


def test_an_eviction_of_a_pod_that_does_not_exist_is_not_found(cluster: Cluster, home: str) -> None:
    with pytest.raises(NotFound):
        cluster.evict(home, "virt-launcher-nobody-abcde")


def test_a_vm_that_cannot_move_stays_and_is_not_marked(cluster: Cluster, home: str) -> None:
    cluster.start_vm(home, "pinned", liveMigratable=False)
    said = evict(cluster, home, "pinned")
    assert "not live-migratable" in said
    assert TRIGGERED not in said
    assert cluster.vm(home, "pinned").status.evacuation_node_name == ""


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"evictionStrategy": "None"}, id="strategy None"),
        pytest.param(
            {"evictionStrategy": "LiveMigrateIfPossible", "liveMigratable": False},
            id="cannot move and does not insist",
        ),
    ],
)
def test_a_vm_without_protection_is_evicted_and_starts_again(
    cluster: Cluster, home: str, spec: dict[str, object]
) -> None:
    vm = cluster.start_vm(home, "web", **spec)
    cluster.evict(home, vm.status.pod_name)
    cluster.wait(
        lambda: cluster.vm(home, "web").status.pod_name != vm.status.pod_name,
        "the VM is lost",
    )
    cluster.await_phase(home, "web", "Running")
    assert cluster.migrations(home) == []


def test_never_more_migrations_than_the_limits_allow(cluster: Cluster, home: str) -> None:
    names = [f"vm-{number:02}" for number in range(12)]
    for number, name in enumerate(names):
        cluster.create_vm(home, name, node=f"kwok-node-{1 + number % 3}", memory="16Gi")
    for name in names:
        cluster.await_phase(home, name, "Running")
    for name in names:
        evict(cluster, home, name)
    cluster.wait(
        lambda: sum(each.finished for each in cluster.migrations(home)) == len(names),
        "not all have moved",
    )
    assert {each.status.phase for each in cluster.migrations(home)} == {"Succeeded"}

    most, most_leaving = 0, 0
    for _, _, state in cluster.chronicle.replay(home):
        leaving = [vm.status.node_name for vm in state.of(VMS) if vm.status.migration_name]
        most = max(most, len(leaving))
        most_leaving = max([most_leaving, *(leaving.count(node) for node in leaving)])
    assert (most, most_leaving) == (5, 2)


def test_a_wish_for_a_node_is_followed_if_nothing_speaks_against_it(
    cluster: Cluster, home: str
) -> None:
    cluster.start_vm(home, "web", node="kwok-node-1")
    cluster.migrate(home, "web", targetNode="kwok-node-3")
    assert only(cluster, home, "Succeeded").status.target_node == "kwok-node-3"


def test_a_forced_node_is_binding(cluster: Cluster, home: str) -> None:
    cluster.start_vm(home, "web", node="kwok-node-1")
    cluster.migrate(home, "web", "there", targetNode="kwok-node-4", force=True)
    assert only(cluster, home, "Succeeded").status.target_node == "kwok-node-4"
    cluster.migrate(home, "web", "again", targetNode="kwok-node-4", force=True)
    cluster.wait(lambda: len(cluster.migrations(home)) == 2, "not created")
    cluster.wait(lambda: all(each.finished for each in cluster.migrations(home)), "not over")
    assert "is on node kwok-node-4 already" in cluster.migrations(home)[-1].status.reason


def test_a_user_may_cancel_by_deleting_the_migration(
    cluster: Cluster, home: str, cordoned: list[str]
) -> None:
    cluster.start_vm(home, "web", node="kwok-node-1")
    close(cluster, cordoned, 2, 3, 4)
    cluster.migrate(home, "web")
    only(cluster, home, "Scheduling")
    cluster.wait(lambda: len(cluster.pods(home)) == 2, "no target pod")
    cluster.call(cluster.client.delete(MIGRATIONS, "move", home))
    cluster.wait(lambda: len(cluster.pods(home)) == 1, "the target pod leaked")
    vm = cluster.await_phase(home, "web", "Running")
    assert (vm.status.node_name, vm.status.migration_name) == ("kwok-node-1", "")


def test_a_cancelled_evacuation_leaves_the_vm_where_it_is(
    cluster: Cluster, home: str, cordoned: list[str]
) -> None:
    cluster.start_vm(home, "web", node="kwok-node-1")
    close(cluster, cordoned, 2, 3, 4)
    evict(cluster, home, "web")
    only(cluster, home, "Scheduling")
    note = {"metadata": {"annotations": {CANCEL_EVACUATION: "kwok-node-1"}}}
    cluster.patch_vm(home, "web", note)
    only(cluster, home, "Cancelled")
    cluster.wait(
        lambda: (
            not cluster.vm(home, "web").status.evacuation_node_name
            and CANCEL_EVACUATION not in cluster.vm(home, "web").metadata.annotations
        ),
        "the mark or the request is still there",
    )
    cluster.wait(lambda: len(cluster.pods(home)) == 1, "the target pod leaked")
    assert cluster.await_phase(home, "web", "Running").status.node_name == "kwok-node-1"


@pytest.mark.full
def test_targets_without_a_node_fail_and_an_evacuation_is_tried_again_later(
    cluster: Cluster, home: str, cordoned: list[str]
) -> None:
    cluster.start_vm(home, "web", node="kwok-node-1")
    cluster.start_vm(home, "wishful", node="kwok-node-1")
    close(cluster, cordoned, 2, 3, 4)
    cluster.migrate(home, "wishful", "wish", targetNode="kwok-node-3", force=True)
    evict(cluster, home, "web")

    def failures() -> dict[str, VirtualMachineMigration]:
        over = [each for each in cluster.migrations(home) if each.status.phase == "Failed"]
        return {each.spec.vm_name: each for each in over}

    cluster.wait(lambda: len(failures()) == 2, "they do not fail")  # 300 s of the lab's time
    failed = failures()["web"]
    assert "no node for the target pod" in failed.status.reason
    assert failed.status.attempts == 1
    assert cluster.vm(home, "web").status.evacuation_node_name == "kwok-node-1"
    while cordoned:
        cluster.patch_node(cordoned.pop(), {"spec": {"unschedulable": None}})
    cluster.wait(
        lambda: cluster.vm(home, "web").status.node_name not in ("", "kwok-node-1"),
        "it is not tried again",
    )
    second = cluster.migrations(home)[-1]
    assert second.status.attempts == 2
    assert second.metadata.creation_timestamp is not None
    assert failed.status.completion_time is not None
    waited = second.metadata.creation_timestamp - failed.status.completion_time
    assert waited.total_seconds() > 20 / SCALE - 1.0  # creation times are whole seconds
    assert cluster.await_phase(home, "wishful", "Running").status.node_name == "kwok-node-1"
    cluster.wait(lambda: len(cluster.pods(home)) == 2, "a target pod leaked")


@pytest.mark.parametrize(
    ("vm", "reason"),
    [
        pytest.param("nobody", "there is no VM", id="a VM that does not exist"),
        pytest.param("resting", "is stopped", id="a VM that is stopped"),
        pytest.param("pinned", "not live-migratable", id="a VM that cannot move"),
    ],
)
def test_a_migration_that_can_never_begin_fails_with_a_reason(
    cluster: Cluster, home: str, vm: str, reason: str
) -> None:
    if vm == "resting":
        cluster.create_vm(home, vm, running=False)
        cluster.await_phase(home, vm, "Stopped")
    elif vm == "pinned":
        cluster.start_vm(home, vm, liveMigratable=False)
    cluster.migrate(home, vm)
    assert reason in only(cluster, home, "Failed").status.reason


def test_a_vm_deleted_during_its_migration_leaves_nothing_behind(
    cluster: Cluster, home: str
) -> None:
    cluster.start_vm(home, "web", memory="64Gi")
    evict(cluster, home, "web")
    only(cluster, home, "PreCopy")
    cluster.call(cluster.client.delete(VMS, "web", home))
    cluster.wait(lambda: cluster.pods(home) == [], "a pod is still there")
    cluster.wait(lambda: cluster.migrations(home) == [], "a migration is still there")
    for kind in ("vm", "pods", "virtualmachinemigrations"):
        assert cluster.lab.get(kind, "-n", home)["items"] == [], kind


def collector(cluster: Cluster) -> httpx2.Client:
    """The collector of lost pods; a copy lasts seconds, which a busy machine needs for kubectl."""
    lab = cluster.lab.lab
    return httpx2.Client(
        base_url=cluster.client.server,
        verify=tls_context(lab.pki, "admin"),
        headers={"Impersonate-User": "system:serviceaccount:kube-system:pod-garbage-collector"},
        timeout=LIMIT_S,
        trust_env=False,
    )


def test_a_vm_whose_source_is_lost_during_the_migration_starts_again(
    cluster: Cluster, home: str
) -> None:
    vm = cluster.start_vm(home, "web", memory="100Gi")
    with collector(cluster) as http:
        evict(cluster, home, "web")
        only(cluster, home, "PreCopy")
        source = f"{PODS.path(home)}/{vm.status.pod_name}"
        http.delete(f"{source}?gracePeriodSeconds=0").raise_for_status()
    assert "was lost" in only(cluster, home, "Failed").status.reason
    again = cluster.await_phase(home, "web", "Running")
    assert again.status.incarnation == 3
    assert again.status.evacuation_node_name == ""
    cluster.wait(lambda: len(cluster.pods(home)) == 1, "the target pod leaked")


def test_only_the_newest_finished_migrations_are_kept(cluster: Cluster, home: str) -> None:
    cluster.start_vm(home, "web", memory="128Mi")
    for number in range(7):
        cluster.migrate(home, "web", f"move-{number}")
        cluster.wait(
            lambda name=f"move-{number}": any(  # type: ignore[misc]
                each.metadata.name == name and each.finished for each in cluster.migrations(home)
            ),
            f"migration {number} is not over",
        )
    cluster.wait(lambda: len(cluster.migrations(home)) == 5, "old migrations are kept")
    names = {each.metadata.name for each in cluster.migrations(home)}
    assert names == {f"move-{number}" for number in range(2, 7)}


def test_a_drained_node_is_left_by_its_vms(cluster: Cluster, home: str) -> None:
    for number in range(3):
        cluster.create_vm(home, f"vm-{number}", node="kwok-node-2", memory="1Gi")
    for number in range(3):
        cluster.await_phase(home, f"vm-{number}", "Running")
    try:
        cluster.lab.kubectl("drain", "kwok-node-2", "--timeout=300s", "--pod-selector", "app")
        assert all(
            pod.spec.node_name != "kwok-node-2"
            for pod in cluster.call(cluster.client.list(PODS, home))
        )
    finally:
        cluster.lab.kubectl("uncordon", "kwok-node-2")
        cluster.wait(
            lambda: not cluster.call(cluster.client.get(NODES, "kwok-node-2")).spec.unschedulable,
            "still cordoned",
        )
    cluster.wait(lambda: all(each.finished for each in cluster.migrations(home)), "not over")
    assert {each.status.phase for each in cluster.migrations(home)} == {"Succeeded"}
