"""Nodes with unlike CPUs, and nodes that are lost, as the real KubeVirt treats them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from builders.labs.kubevirt import KubevirtLab, needs_kubevirt, running_kubevirt
from builders.waiting import wait_until
from trimtab.kube.kubevirt import MIGRATION_JOB_LABEL
from trimtab.kube.resources import Pod
from trimtab.lab.components.kwok import NOT_READY_LABEL
from trimtab.player.nodes import HEARTBEAT
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.virt.launcher import SCHEDULABLE

pytestmark = [pytest.mark.engines, needs_kubevirt]

OLD, NEW, OTHER = "Intel:Haswell", "Intel:Skylake-Server", "AMD:EPYC-Rome"
NODES = ("kwok-node-1", "kwok-node-2", "kwok-node-3", "kwok-node-4")
"""In turn of the models: old, new, other, old."""


@pytest.fixture(scope="module")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubevirtLab]:
    settings = KubevirtSettings(cpu_models=(OLD, NEW, OTHER))
    with running_kubevirt(tmp_path_factory, settings, nodes=len(NODES), scale=10) as kubevirt:
        yield kubevirt


@pytest.fixture
def lab(unlike: KubevirtLab) -> KubevirtLab:
    unlike.delete_all()
    return unlike


def create_on(kubevirt: KubevirtLab, node: str, name: str, memory: str = "1Gi") -> None:
    """A VM that starts there and is not bound to it: the other nodes are closed meanwhile."""
    others = [each for each in NODES if each != node]
    kubevirt.lab.kubectl("cordon", *others)
    try:
        kubevirt.create(name, resources={"cpu": "1", "memory": memory})
    finally:
        kubevirt.lab.kubectl("uncordon", *others)
    assert kubevirt.vmi(name).status.node_name == node


@contextmanager
def lost(kubevirt: KubevirtLab, node: str) -> Iterator[None]:
    kubevirt.lab.kubectl("label", "node", node, f"{NOT_READY_LABEL}=true")
    try:
        yield
    finally:
        kubevirt.lab.kubectl("label", "node", node, f"{NOT_READY_LABEL}-")


def targets(kubevirt: KubevirtLab, name: str) -> list[Pod]:
    return [p for p in kubevirt.launchers(name) if MIGRATION_JOB_LABEL in p.metadata.labels]


def is_unschedulable(pod: Pod) -> bool:
    placed = [c for c in pod.status.conditions if c.type == "PodScheduled"]
    return any((c.status, c.reason) == ("False", "Unschedulable") for c in placed)


def test_a_vm_migrates_to_its_own_cpu_or_a_newer_one_of_its_vendor(lab: KubevirtLab) -> None:
    create_on(lab, "kwok-node-1", "old")
    seen = set[str]()
    for _ in range(2):
        lab.request(lambda requests: requests.migrate("old"))
        lab.await_all_over()
        seen.add(lab.vmi("old").status.node_name)
        assert all(each.status.phase == "Succeeded" for each in lab.migrations())
    assert seen <= {"kwok-node-1", "kwok-node-2", "kwok-node-4"}


@pytest.mark.parametrize(
    "node",
    [
        pytest.param("kwok-node-2", id="the newest of its vendor"),
        pytest.param("kwok-node-3", id="the only one of its vendor"),
    ],
)
def test_a_vm_without_a_like_node_stays_where_it_is(lab: KubevirtLab, node: str) -> None:
    create_on(lab, node, "web")
    lab.request(lambda requests: requests.migrate("web"))
    wait_until(lambda: any(map(is_unschedulable, targets(lab, "web"))), "its target is placed")
    assert lab.vmi("web").status.node_name == node
    assert lab.request(lambda requests: requests.cancel("web"))
    lab.await_all_over()
    assert lab.vmi("web").status.phase == "Running"
    assert lab.vmi("web").status.node_name == node


def test_a_copy_to_a_node_that_is_lost_fails(lab: KubevirtLab) -> None:
    create_on(lab, "kwok-node-1", "web", "64Gi")
    lab.annotate("web", dirty_rate="900Mi")  # the copy takes most of a minute
    lab.request(lambda requests: requests.migrate("web"))

    def begun() -> bool:
        state = lab.vmi("web").status.migration_state
        return state is not None and state.start_timestamp is not None

    wait_until(begun, "the copy does not begin")
    state = lab.vmi("web").status.migration_state
    assert state is not None
    assert not state.ended, "the copy was over before the node was lost"
    with lost(lab, state.target_node):
        wait_until(lambda: not lab.vmi("web").is_migrating, "the copy goes on")
        after = lab.vmi("web").status
        assert after.migration_state is not None
        assert "does not answer" in after.migration_state.failure_reason
        assert (after.phase, after.node_name) == ("Running", "kwok-node-1")
    lab.await_all_over()
    # once the node answers again, the launcher that no guest came to ends
    wait_until(lambda: len(lab.running_launchers("web")) == 1, "its target goes on")


def heartbeat(kubevirt: KubevirtLab, node: str) -> str:
    notes: dict[str, str] = kubevirt.lab.get("node", node)["metadata"]["annotations"]
    return notes.get(HEARTBEAT, "")


def schedulable(kubevirt: KubevirtLab, node: str) -> str:
    labels: dict[str, str] = kubevirt.lab.get("node", node)["metadata"]["labels"]
    return labels[SCHEDULABLE]


@pytest.mark.full  # KubeVirt's five minutes without a heartbeat cannot be shortened
@pytest.mark.timeout(1800)
def test_a_lost_node_is_closed_after_five_minutes_and_its_vms_start_again_once_it_is_deleted(
    lab: KubevirtLab,
) -> None:
    create_on(lab, "kwok-node-4", "web")
    before = lab.vmi("web")
    wait_until(lambda: heartbeat(lab, "kwok-node-4"), "it has no heartbeat")
    lab.lab.kubectl("label", "node", "kwok-node-4", f"{NOT_READY_LABEL}=true")
    wait_until(lambda: schedulable(lab, "kwok-node-4") == "false", "it is not closed", 900.0)
    held = lab.vmi("web")
    # nobody knows whether the guest still runs, so KubeVirt must not start it twice
    assert (held.metadata.uid, held.status.node_name) == (before.metadata.uid, "kwok-node-4")
    lab.lab.kubectl("delete", "node", "kwok-node-4")

    def elsewhere() -> bool:
        found = [vmi for vmi in lab.vmis() if vmi.metadata.uid != before.metadata.uid]
        return any(v.status.phase == "Running" and v.status.node_name for v in found)

    wait_until(elsewhere, "it does not start on another node", 900.0)
    assert lab.vmi("web").status.node_name in NODES[:3]
