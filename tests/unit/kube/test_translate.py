"""KubeVirt's VMs in trimtab's words: what a person sees must be the same thing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from trimtab.kube.kubevirt import KubevirtVm, Vmi, Vmim
from trimtab.kube.translate import active_pod, kubevirt_vm, migration_view, migration_views, vm_view
from trimtab.kube.virtual_machines import LOAD, decode_load
from trimtab.model.load.curve import Constant

OWN = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "labels": {"a": "b"},
        "annotations": {"trimtab.dev/initial-node": "n1"},
    },
    "spec": {
        "resources": {"cpu": "2500m", "memory": "3Gi"},
        "utilization": {"cpu": 0.4, "memory": 0.5},
        "evictionStrategy": "LiveMigrateIfPossible",
        "liveMigratable": False,
    },
}


def a_vmi(phase: str = "Running", **status: Any) -> Vmi:
    made = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"domain": {"cpu": {"cores": 2, "sockets": 2}, "memory": {"guest": "3Gi"}}},
        "status": {"phase": phase, "nodeName": "n1", **status},
    }
    return convert(made, Vmi)


def a_vm(strategy: str = "Always") -> KubevirtVm:
    return convert({"metadata": {"name": "web"}, "spec": {"runStrategy": strategy}}, KubevirtVm)


def test_a_vm_of_ours_becomes_one_of_kubevirts() -> None:
    made = kubevirt_vm(OWN)
    assert made["spec"]["runStrategy"] == "Always"
    template = made["spec"]["template"]
    domain = template["spec"]["domain"]
    assert domain["cpu"] == {"cores": 3}, "KubeVirt knows whole cores only"
    assert domain["memory"] == {"guest": "3072Mi"}
    assert "resources" not in domain, "KubeVirt decides what the launcher asks for"
    assert template["spec"]["evictionStrategy"] == "LiveMigrateIfPossible"
    notes = template["metadata"]["annotations"]
    assert notes["trimtab.dev/initial-node"] == "n1"
    assert notes["trimtab.dev/not-live-migratable"] == "NotMigratable"
    load = decode_load(notes[LOAD])
    assert (load.cores, load.bytes) == (2.5, 3 * 1024**3), "what it uses stays exact"
    assert load.cpu == Constant(0.4)


def test_with_consumption_the_launcher_asks_for_what_the_guest_uses() -> None:
    domain = kubevirt_vm(OWN, requests="consumption")["spec"]["template"]["spec"]["domain"]
    assert domain["resources"]["requests"] == {"cpu": "1000m", "memory": "1536Mi"}


@given(
    cores=st.integers(1, 64_000),
    mib=st.integers(1, 10_000_000),
    cpu=st.floats(0, 2),
    memory=st.floats(0, 1),
    running=st.booleans(),
)
def test_what_is_written_for_kubevirt_is_shown_as_it_was(
    cores: int, mib: int, cpu: float, memory: float, running: bool
) -> None:
    spec = {
        "running": running,
        "resources": {"cpu": f"{cores}m", "memory": f"{mib}Mi"},
        "utilization": {"cpu": cpu, "memory": memory},
    }
    made = convert(kubevirt_vm({"metadata": {"name": "x"}, "spec": spec}), KubevirtVm)
    seen = vm_view(made, None)
    assert seen.spec.running is running
    assert int(seen.spec.resources.cpu) >= cores / 1000
    assert seen.spec.resources.memory == f"{mib}Mi"
    assert seen.status.phase == ("Pending" if running else "Stopped")


@pytest.mark.parametrize(
    ("vmi", "phase"),
    [
        pytest.param(None, "Pending", id="not made yet"),
        pytest.param(a_vmi("Scheduling"), "Scheduling", id="looking for a node"),
        pytest.param(a_vmi(), "Running", id="running"),
        pytest.param(a_vmi("Succeeded"), "Stopped", id="shut down"),
        pytest.param(a_vmi("Failed"), "Failed", id="failed"),
        pytest.param(a_vmi(migrationState={"migrationUid": "m"}), "Migrating", id="migrating"),
        pytest.param(
            a_vmi(migrationState={"migrationUid": "m", "completed": True}), "Running", id="migrated"
        ),
    ],
)
def test_the_phase_is_the_vmis(vmi: Vmi | None, phase: str) -> None:
    seen = vm_view(a_vm(), vmi, "pod")
    assert seen.status.phase == phase
    assert (seen.status.node_name == "n1") is (vmi is not None)


def test_sockets_and_cores_multiply() -> None:
    assert vm_view(a_vm(), a_vmi()).status.allocated.cpu == "4"


def test_a_vmi_that_said_nothing_yet_is_taken_for_movable() -> None:
    refusal = {"type": "LiveMigratable", "status": "False", "reason": "DisksNotLiveMigratable"}
    assert vm_view(a_vm(), a_vmi()).spec.live_migratable
    assert not vm_view(a_vm(), a_vmi(conditions=[refusal])).spec.live_migratable


def test_the_active_pod_is_the_one_on_the_vmis_node() -> None:
    vmi = a_vmi(activePods={"u1": "n1", "u2": "n2"})
    assert active_pod(vmi, {"u1": "source", "u2": "target"}) == "source"
    assert active_pod(vmi, {"u2": "target"}) == ""


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("", "Pending"),
        ("Pending", "Pending"),
        ("Scheduled", "Scheduling"),
        ("TargetReady", "Scheduling"),
        ("Running", "PreCopy"),
        ("Succeeded", "Succeeded"),
        ("Failed", "Failed"),
        ("WaitingForSync", "Pending"),
    ],
)
def test_every_phase_of_a_migration_has_one_of_ours(theirs: str, ours: str) -> None:
    made = convert({"spec": {"vmiName": "web"}, "status": {"phase": theirs}}, Vmim)
    assert migration_view(made).status.phase == ours


def test_a_failed_migration_says_why() -> None:
    state = {"migrationState": {"failed": True, "failureReason": "the cable"}}
    failed = convert({"status": {"phase": "Failed", **state}}, Vmim)
    assert migration_view(failed).status.reason == "the cable"
    rejected = {"phase": "Failed", "conditions": [{"type": "x", "message": "no room"}]}
    assert migration_view(convert({"status": rejected}, Vmim)).status.reason == "no room"


UNDER_WAY = {"migrationUid": "u1", "sourceNode": "n1", "targetNode": "n2"}
EARLIER = {"migrationUid": "u0", "sourceNode": "n0", "targetNode": "n1"}


@pytest.mark.parametrize(
    ("own", "on_vmi", "nodes"),
    [
        pytest.param(None, UNDER_WAY, ("n1", "n2"), id="the VMI tells of it while it runs"),
        pytest.param(None, EARLIER, ("", ""), id="the VMI still tells of an earlier one"),
        pytest.param(UNDER_WAY, None, ("n1", "n2"), id="the VMI is gone"),
        pytest.param(UNDER_WAY, EARLIER, ("n1", "n2"), id="the VMI tells of a later one"),
        pytest.param({"targetPersistentStatePVCName": "p"}, UNDER_WAY, ("n1", "n2"), id="volumes"),
        pytest.param(None, None, ("", ""), id="nobody tells"),
    ],
)
def test_a_migration_has_the_nodes_that_it_or_its_vmi_tells(
    own: dict[str, str] | None, on_vmi: dict[str, str] | None, nodes: tuple[str, str]
) -> None:
    meta = {"name": "m", "namespace": "d", "uid": "u1"}
    status = {"phase": "Succeeded"} | ({"migrationState": own} if own else {})
    made = convert({"metadata": meta, "spec": {"vmiName": "web"}, "status": status}, Vmim)
    latest = {"migrationState": on_vmi} if on_vmi else {}
    vmi = convert({"metadata": {"name": "web", "namespace": "d"}, "status": latest}, Vmi)
    (seen,) = migration_views([made], [vmi])
    assert (seen.status.source_node, seen.status.target_node) == nodes
