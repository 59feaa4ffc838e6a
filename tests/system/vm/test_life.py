"""The life of VMs on a real control plane: started, followed, replaced, stopped, removed."""

import pytest

from builders.labs.vmcluster import Cluster
from trimtab.kube.errors import Invalid
from trimtab.kube.resources import NAMESPACES, NODES, PODS
from trimtab.kube.virtual_machines import CPU_CONSUMPTION, MEMORY_CONSUMPTION, VM_NAME_LABEL, VMS
from trimtab.lab.components.kwok import NOT_READY_LABEL

pytestmark = pytest.mark.engines
SCALE = 15  # of the lab
COLLECTOR = "system:serviceaccount:kube-system:pod-garbage-collector"


def test_a_vm_is_started_stopped_started_again_and_deleted(cluster: Cluster, home: str) -> None:
    vm = cluster.start_vm(home, "web", cpu="4", memory="16Gi")
    pod = cluster.call(cluster.client.get(PODS, vm.status.pod_name, home))
    assert pod.spec.node_name == vm.status.node_name
    assert pod.metadata.annotations[CPU_CONSUMPTION] == "0.0625"  # 4 x 0.5 of 32
    assert pod.metadata.annotations[MEMORY_CONSUMPTION] == "0.1"  # 16 x 0.8 of 128
    assert pod.spec.containers[0].resources.requests == {"cpu": "2", "memory": "13743895348"}

    cluster.patch_vm(home, "web", {"spec": {"running": False}})
    stopped = cluster.await_phase(home, "web", "Stopped")
    assert (stopped.status.pod_name, stopped.status.node_name) == ("", "")
    cluster.wait(lambda: cluster.pods(home) == [], "the pod of a stopped VM is still there")

    cluster.patch_vm(home, "web", {"spec": {"running": True}})
    again = cluster.await_phase(home, "web", "Running")
    assert again.status.pod_name != vm.status.pod_name
    assert again.status.incarnation == 2

    cluster.call(cluster.client.delete(VMS, "web", home))
    cluster.wait(lambda: cluster.pods(home) == [], "the pod of a deleted VM is still there")
    assert len(vm.status.conditions) == len(again.status.conditions) == 2


def test_the_schedulers_choice_is_followed_and_the_first_node_can_be_wished(
    cluster: Cluster, home: str
) -> None:
    for number in (1, 2, 3):
        cluster.create_vm(home, f"vm-{number}", node=f"kwok-node-{number}")
    for number in (1, 2, 3):
        vm = cluster.await_phase(home, f"vm-{number}", "Running")
        assert vm.status.node_name == f"kwok-node-{number}"
    cluster.create_vm(home, "nowhere", node="no-such-node")
    cluster.await_phase(home, "nowhere", "Scheduling")
    cluster.wait(
        lambda: any(c.message for c in cluster.vm(home, "nowhere").status.conditions),
        "the VM does not say why it has no place",
    )


def test_a_change_of_the_vm_reaches_its_running_pod(cluster: Cluster, home: str) -> None:
    vm = cluster.start_vm(home, "web", cpu="4")
    cluster.patch_vm(home, "web", {"spec": {"utilization": {"cpu": 0.25}}})

    def annotated() -> bool:
        pod = cluster.active(home, "web")
        return pod is not None and pod.metadata.annotations[CPU_CONSUMPTION] == "0.03125"

    cluster.wait(annotated, "the annotation does not follow the VM")
    cluster.wait(lambda: cluster.vm(home, "web").status.cpu_percent == 25, "nor does the status")
    assert cluster.vm(home, "web").status.pod_name == vm.status.pod_name


@pytest.mark.parametrize("how", ["failed", "deleted by force"])
def test_a_pod_that_is_lost_is_replaced(cluster: Cluster, home: str, how: str) -> None:
    vm = cluster.start_vm(home, "web")
    pod = vm.status.pod_name
    if how == "failed":
        path = PODS.path(home, pod, "status")
        body = b'{"status":{"phase":"Failed","message":"qemu died"}}'
        content = "application/merge-patch+json"
        cluster.call(cluster.client.request("PATCH", path, {}, body, content))
    else:
        cluster.lab.kubectl("delete", "pod", pod, "-n", home, "--force", f"--as={COLLECTOR}")
    cluster.wait(
        lambda: cluster.vm(home, "web").status.pod_name not in ("", pod), "no other pod was named"
    )
    replaced = cluster.await_phase(home, "web", "Running")
    assert replaced.status.incarnation == 2
    cluster.wait(lambda: len(cluster.pods(home)) == 1, "the lost pod is still there")
    cluster.await_events(home, "PodLost")


def test_pods_that_are_not_the_active_one_are_removed(cluster: Cluster, home: str) -> None:
    vm = cluster.start_vm(home, "web")
    original = cluster.lab.get("pod", vm.status.pod_name, "-n", home)
    twin = {
        "metadata": {
            "name": "virt-launcher-web-twin",
            "namespace": home,
            "labels": original["metadata"]["labels"],
            "annotations": original["metadata"]["annotations"],
            "ownerReferences": original["metadata"]["ownerReferences"],
        },
        "spec": {
            "containers": [{"name": "compute", "image": "none"}],
            "terminationGracePeriodSeconds": 0,
        },
    }
    cluster.call(cluster.client.create(PODS, twin))
    cluster.wait(lambda: cluster.has_seen(home, "virt-launcher-web-twin"), "nobody saw the twin")
    cluster.wait(
        lambda: [pod.metadata.name for pod in cluster.pods(home)] == [vm.status.pod_name],
        "the twin is still there",
    )
    assert cluster.vm(home, "web").status.pod_name == vm.status.pod_name


def test_a_pod_that_lost_its_owner_is_adopted_again(cluster: Cluster, home: str) -> None:
    vm = cluster.start_vm(home, "web")
    cluster.call(
        cluster.client.patch(
            PODS, vm.status.pod_name, {"metadata": {"ownerReferences": None}}, home
        )
    )

    def adopted() -> bool:
        pod = cluster.active(home, "web")
        owner = pod.metadata.controller if pod else None
        return owner is not None and owner.uid == vm.metadata.uid

    cluster.wait(adopted, "the pod was not adopted")
    assert cluster.vm(home, "web").status.incarnation == 1


def test_a_name_that_somebody_else_has_is_left_to_them(cluster: Cluster, home: str) -> None:
    cluster.create_vm(home, "web", running=False)
    cluster.await_phase(home, "web", "Stopped")
    from trimtab.vm.launcher import pod_name

    taken = pod_name(cluster.vm(home, "web"), 1)
    foreign = {
        "metadata": {"name": taken, "namespace": home},
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    }
    cluster.call(cluster.client.create(PODS, foreign))
    cluster.patch_vm(home, "web", {"spec": {"running": True}})
    vm = cluster.await_phase(home, "web", "Running")
    assert vm.status.pod_name != taken
    assert cluster.call(cluster.client.get(PODS, taken, home)).metadata.name == taken


@pytest.mark.full
def test_a_node_that_is_not_ready_loses_its_vms_after_the_scaled_time(
    cluster: Cluster, home: str
) -> None:
    vm = cluster.start_vm(home, "web", node="kwok-node-3")
    pod = cluster.active(home, "web")
    assert pod is not None
    seconds = {t.toleration_seconds for t in pod.spec.tolerations if t.effect == "NoExecute"}
    assert seconds == {300 // SCALE}
    cluster.patch_node("kwok-node-3", {"metadata": {"labels": {NOT_READY_LABEL: "true"}}})
    try:
        cluster.wait(
            lambda: cluster.vm(home, "web").status.pod_name != vm.status.pod_name,
            "the VM stays on a node that is lost",
        )
        moved = cluster.await_phase(home, "web", "Running")
        assert moved.status.node_name != "kwok-node-3"
    finally:
        cluster.patch_node("kwok-node-3", {"metadata": {"labels": {NOT_READY_LABEL: None}}})
        cluster.wait(
            lambda: cluster.call(cluster.client.get(NODES, "kwok-node-3")).ready, "node-3 is lost"
        )


def test_deleting_a_namespace_takes_everything_with_it(cluster: Cluster) -> None:
    home = cluster.new_namespace("doomed-with-all")
    for number in range(3):
        cluster.create_vm(home, f"vm-{number}")
    for number in range(3):
        cluster.await_phase(home, f"vm-{number}", "Running")
    cluster.migrate(home, "vm-0")
    cluster.call(cluster.client.delete(NAMESPACES, home))

    def gone() -> bool:
        names = [n.metadata.name for n in cluster.call(cluster.client.list(NAMESPACES))]
        return home not in names

    cluster.wait(gone, "the namespace is still there")
    assert cluster.pods(home) == []


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(
            {"resources": {"cpu": 0, "memory": "1Gi"}}, "cpu must be above 0", id="no cpu"
        ),
        pytest.param(
            {"resources": {"cpu": "2 cores", "memory": "1Gi"}}, "quantity", id="not a quantity"
        ),
        pytest.param(
            {"resources": {"cpu": 1, "memory": "1Gi"}, "utilization": {"memory": 1.5}},
            "utilization.memory",
            id="more memory than it has",
        ),
        pytest.param(
            {"resources": {"cpu": 1, "memory": "1Gi"}, "load": {"cpu": {"type": "diurnal"}}},
            "a diurnal curve needs low, high",
            id="half a curve",
        ),
        pytest.param(
            {
                "resources": {"cpu": 1, "memory": "1Gi"},
                "load": {"cpu": {"type": "constant", "value": 1, "low": 2}},
            },
            "a constant curve has no",
            id="a field of another curve",
        ),
    ],
)
def test_a_bad_vm_is_refused_with_what_is_wrong(
    cluster: Cluster, home: str, spec: dict[str, object], says: str
) -> None:
    body = {"metadata": {"name": "bad", "namespace": home}, "spec": spec}
    with pytest.raises(Invalid, match=says):
        cluster.call(cluster.client.create(VMS, body))


def test_pods_are_found_by_the_vms_name(cluster: Cluster, home: str) -> None:
    cluster.start_vm(home, "web")
    listed = cluster.lab.kubectl("get", "pods", "-n", home, "-l", f"{VM_NAME_LABEL}=web")
    assert "virt-launcher-web-" in listed
    assert "web" in cluster.lab.kubectl("get", "vm", "-n", home, "-o", "wide")
