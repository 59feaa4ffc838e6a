"""Controllers that die, freeze, or are told to work differently."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256

import pytest

from builders.labs.lab import running_lab
from builders.labs.vm import vm_stack
from builders.labs.vmcluster import Cluster, ControllerProcess, cluster_of, controller
from builders.proxies.kills import KillProxy
from builders.waiting import LIMIT_S, until
from builders.witnesses.chronicle import absences, unwanted
from trimtab.kube.errors import NotFound, TooManyRequests
from trimtab.kube.resources import CRDS, LEASES, NODES, Pod
from trimtab.kube.virtual_machines import GUARD_LABEL

pytestmark = pytest.mark.engines
SCALE = 15


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A lab whose controllers the tests start themselves."""
    with (
        running_lab(
            tmp_path_factory, stacks=(vm_stack(controllers=0),), nodes=3, scale=SCALE
        ) as lab,
        cluster_of(lab) as cluster,
    ):
        yield cluster


@pytest.fixture
def home(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """Each test judges by itself: they have different things to promise."""
    return cluster.new_namespace(f"t{sha256(request.node.nodeid.encode()).hexdigest()[:10]}")


def free_the_lease(cluster: Cluster) -> None:
    """A killed leader's lease would last for another 15 s, each time."""
    with suppress(NotFound):
        cluster.call(cluster.client.delete(LEASES, "vm-controller", "trimtab-system"))


def evict(cluster: Cluster, home: str, vm: str) -> None:
    with pytest.raises(TooManyRequests):
        cluster.evict(home, cluster.vm(home, vm).status.pod_name)


async def live_for_one_write(
    cluster: Cluster, proxy: KillProxy, *flags: str, settled: Callable[[], bool]
) -> None:
    """A controller that is killed at its first write, or when there is nothing to write."""
    free_the_lease(cluster)
    process = ControllerProcess(cluster.lab, *flags, kubeconfig=proxy.kubeconfig)
    proxy.after(1, process.process.kill)
    try:
        await until(lambda: not process.alive or settled(), f"it never writes: {process.log}")
    finally:
        process.kill()


async def until_done(cluster: Cluster, home: str, *flags: str, done: str) -> list[str]:
    """Controllers of one write each, one after the other, until the VM is as it should be."""
    settled = partial(is_settled, cluster, home, done)
    async with KillProxy(cluster.lab, "vm-controller") as proxy:
        for _ in range(40):
            await asyncio.sleep(0.3)  # scheduler and kubelet do their part
            if settled():
                return proxy.writes
            await live_for_one_write(cluster, proxy, *flags, settled=settled)
    raise AssertionError(f"not {done} after {proxy.writes}")


def is_settled(cluster: Cluster, home: str, done: str) -> bool:
    vm, pods = cluster.vm(home, "web"), cluster.pods(home)
    moved = all(each.finished for each in cluster.migrations(home))
    if done == "gone":
        return not pods
    if done == "Stopped":
        return vm.status.phase == "Stopped" and not unwanted(cluster.chronicle.now, home)
    clean = len(pods) == 1 and "trimtab.dev/migration" not in pods[0].metadata.labels
    marked = vm.status.evacuation_node_name
    return vm.status.phase == done and moved and clean and not marked


async def test_a_controller_killed_after_each_write_in_turn_finishes_all_the_same(
    cluster: Cluster, home: str
) -> None:
    cluster.create_vm(home, "web", memory="1Gi")
    started = await until_done(cluster, home, done="Running")
    assert cluster.vm(home, "web").status.incarnation == 1

    source = cluster.vm(home, "web").status.node_name
    evict(cluster, home, "web")
    moved = await until_done(cluster, home, done="Running")
    vm = cluster.vm(home, "web")
    assert vm.status.node_name != source
    assert vm.status.incarnation == 2, "a pod was made for nothing"
    assert [each.status.phase for each in cluster.migrations(home)] == ["Succeeded"]

    cluster.patch_vm(home, "web", {"spec": {"running": False}})
    stopped = await until_done(cluster, home, done="Stopped")
    assert cluster.complaints(home) == []
    assert absences(cluster.chronicle, home) == []
    print(f"\nlives: {len(started)} to start, {len(moved)} to move, {len(stopped)} to stop")


@pytest.mark.full
async def test_the_same_when_vms_are_recreated(cluster: Cluster, home: str) -> None:
    cluster.create_vm(home, "web", memory="1Gi")
    await until_done(cluster, home, "--migration=recreate", done="Running")
    evict(cluster, home, "web")
    await until_done(cluster, home, "--migration=recreate", done="Running")
    assert cluster.vm(home, "web").status.incarnation == 2
    assert [each.status.phase for each in cluster.migrations(home)] == ["Succeeded"]
    assert cluster.complaints(home, recreate=True) == []


def test_recreate_removes_first_and_may_come_back_to_the_same_node(
    cluster: Cluster, home: str
) -> None:
    free_the_lease(cluster)
    with controller(cluster.lab, "--migration=recreate"):
        cluster.start_vm(home, "web", node="kwok-node-1")
        for number in (2, 3):
            cluster.patch_node(f"kwok-node-{number}", {"spec": {"unschedulable": True}})
        try:
            before = cluster.vm(home, "web").status
            evict(cluster, home, "web")
            cluster.wait(
                lambda: [each.status.phase for each in cluster.migrations(home)] == ["Succeeded"],
                "it was not recreated",
            )
        finally:
            for number in (2, 3):
                cluster.patch_node(f"kwok-node-{number}", {"spec": {"unschedulable": None}})
        after = cluster.await_phase(home, "web", "Running").status
        assert after.pod_name != before.pod_name
        (migration,) = cluster.migrations(home)
        assert migration.status.source_node == migration.status.target_node == "kwok-node-1"
        assert after.evacuation_node_name == ""
        assert not overlap(cluster, home, before.pod_name, after.pod_name)
    assert cluster.complaints(home, recreate=True) == []
    assert len(absences(cluster.chronicle, home)) == 1


def overlap(cluster: Cluster, home: str, first: str, second: str) -> bool:
    """Whether both pods ever existed at the same time."""
    return any(
        state.pod(home, first) and state.pod(home, second)
        for _, _, state in cluster.chronicle.replay(home)
    )


@pytest.mark.full
def test_when_the_leader_freezes_another_takes_over_and_the_first_stays_out(
    cluster: Cluster, home: str
) -> None:
    free_the_lease(cluster)
    with controller(cluster.lab) as first:
        cluster.wait(lambda: first.said("leadership gained"), "nobody leads")
        with controller(cluster.lab) as second:
            cluster.start_vm(home, "web", memory="64Gi")
            evict(cluster, home, "web")
            cluster.wait(
                lambda: [each.status.phase for each in cluster.migrations(home)] == ["PreCopy"],
                "no migration",
            )
            first.signal(signal.SIGSTOP)
            cluster.wait(lambda: second.said("leadership gained"), "nobody took over")
            cluster.wait(
                lambda: [each.status.phase for each in cluster.migrations(home)] == ["Succeeded"],
                "the migration was not finished",
            )
            first.signal(signal.SIGCONT)
            cluster.wait(lambda: first.said("leadership ended"), "it still believes to lead")
            cluster.start_vm(home, "other")
            assert first.alive
            assert not first.said("reconcile crashed")
    assert cluster.complaints(home) == []


def test_what_happened_while_nobody_looked_is_made_good(cluster: Cluster, home: str) -> None:
    free_the_lease(cluster)
    with controller(cluster.lab):
        for name in ("lost", "deleted", "stopped"):
            cluster.start_vm(home, name)
    lost = cluster.vm(home, "lost").status.pod_name
    deleted = cluster.vm(home, "deleted").status.pod_name
    collector = "--as=system:serviceaccount:kube-system:pod-garbage-collector"
    cluster.lab.kubectl("delete", "pod", lost, "-n", home, "--force", collector)
    cluster.lab.kubectl("delete", "vm", "deleted", "-n", home, "--cascade=orphan")
    cluster.patch_vm(home, "stopped", {"spec": {"running": False}})
    with controller(cluster.lab):
        cluster.wait(lambda: cluster.vm(home, "lost").status.pod_name != lost, "still lost")
        cluster.await_phase(home, "lost", "Running")
        cluster.await_phase(home, "stopped", "Stopped")
        # the pod was orphaned on purpose: it stays, and whoever wants may delete it
        cluster.wait(lambda: not is_guarded(cluster.pod(home, deleted)), "it is still guarded")
        assert cluster.pod(home, deleted) is not None


def is_guarded(pod: Pod | None) -> bool:
    return pod is None or GUARD_LABEL in pod.metadata.labels


def test_it_refuses_to_run_beside_kubevirt(cluster: Cluster) -> None:
    theirs = {
        "metadata": {"name": "virtualmachines.kubevirt.io"},
        "spec": {
            "group": "kubevirt.io",
            "scope": "Namespaced",
            "names": {"plural": "virtualmachines", "kind": "VirtualMachine"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    cluster.call(cluster.client.create(CRDS, theirs))
    try:
        cluster.wait(lambda: _served(cluster), "the definition is not served")
        process = ControllerProcess(cluster.lab)
        assert process.process.wait(LIMIT_S) == 2
        assert process.said("virtualmachines.kubevirt.io exists here")
    finally:
        cluster.call(cluster.client.delete(CRDS, "virtualmachines.kubevirt.io"))
        cluster.wait(lambda: not _served(cluster), "the definition is still served")


def _served(cluster: Cluster) -> bool:
    try:
        cluster.call(cluster.client.request("GET", "/apis/kubevirt.io/v1"))
    except NotFound:
        return False
    return True


@pytest.mark.full
def test_the_vms_of_a_deleted_node_start_elsewhere(cluster: Cluster, home: str) -> None:
    free_the_lease(cluster)
    with controller(cluster.lab):
        cluster.start_vm(home, "web", node="kwok-node-3")
        cluster.call(cluster.client.delete(NODES, "kwok-node-3"))
        cluster.wait(
            lambda: cluster.vm(home, "web").status.node_name not in ("", "kwok-node-3"),
            "the VM is lost with its node",
        )
        again = cluster.await_phase(home, "web", "Running")
        assert again.status.node_name in ("kwok-node-1", "kwok-node-2")
        assert cluster.migrations(home) == [], "it was lost, not moved"
