"""From objects of the API to what a decision is made from."""

from typing import Any

import msgspec
import pytest

from trimtab.balancer.observation import draining, problem_of_objects
from trimtab.balancer.restraint import in_flight
from trimtab.balancer.situation import MigrationSeen
from trimtab.balancer.vms_and_migrations import Machines, kubevirt_migration
from trimtab.kube.clock import Clock
from trimtab.kube.kubevirt import Vmim
from trimtab.kube.resources import Node
from trimtab.kube.virtual_machines import VirtualMachine
from trimtab.observe import wire
from trimtab.observe.vm_loads import own_fates


def a_node(name: str, *, cordoned: bool = False) -> Node:
    given = {
        "metadata": {"name": name},
        "spec": {"unschedulable": cordoned},
        "status": {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    return msgspec.convert(given, Node)


def a_vm(name: str, pod: str, **status: Any) -> VirtualMachine:
    given = {
        "metadata": {"name": name, "namespace": "default"},
        "status": {"podName": pod, "phase": "Running", **status},
    }
    return msgspec.convert(given, VirtualMachine)


def a_launcher(name: str, vm: str, node: str, cpu: float = 0.25) -> wire.Pod:
    given = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"app": "virt-launcher"},
            "annotations": {
                "kubevirt.io/domain": vm,
                "kubevirt.io/vm-cpu-consumption": str(cpu),
                "kubevirt.io/vm-memory-consumption": "0.1",
            },
        },
        "spec": {
            "nodeName": node,
            "containers": [{"resources": {"requests": {"cpu": "8", "memory": "8Gi"}}}],
        },
        "status": {"phase": "Running"},
    }
    return msgspec.convert(given, wire.Pod)


def test_a_vm_that_moves_counts_once_and_at_its_target() -> None:
    nodes, vms = [a_node("n1"), a_node("n2")], [a_vm("web", "old")]
    pods = [a_launcher("old", "web", "n1"), a_launcher("new", "web", "n2")]
    seen = problem_of_objects(pods, nodes, own_fates(vms), Clock(), 0.0)
    assert seen is not None
    assert seen.shares()[0].tolist() == [0.25, 0.0]
    move = MigrationSeen(name="m", vm="default/web", source="n1", target="n2", begun=0.0)
    then = in_flight(seen, [move])
    assert then.shares()[0].tolist() == [0.0, 0.25]
    assert (then.leaving.tolist(), then.arriving.tolist()) == ([1, 0], [0, 1])
    assert then.taken[0].tolist() == [0.0, 0.0]


def test_without_vms_there_is_nothing_to_decide() -> None:
    assert problem_of_objects([], [a_node("n1")], {}, Clock(), 0.0) is None


leaving = MigrationSeen(name="m", vm="default/web", source="n1", target="n2", begun=0.0)
ours = MigrationSeen(name="m", vm="default/web", source="n1", target="n2", begun=0.0, plan="p")
ended = MigrationSeen(name="m", vm="default/web", source="n1", target="n2", begun=0.0, ended=1.0)


@pytest.mark.parametrize(
    ("cordoned", "mark", "migrations", "found"),
    [
        pytest.param(True, "n1", (), ("n1",), id="marked VMs on a cordoned node"),
        pytest.param(True, "", (leaving,), ("n1",), id="a migration away from a cordoned node"),
        pytest.param(True, "", (ended,), (), id="a cordoned node that nobody leaves"),
        pytest.param(True, "", (ours,), (), id="a cordoned node that the balancer itself levels"),
        pytest.param(
            False, "n1", (leaving,), (), id="an eviction from a node that is not cordoned"
        ),
    ],
)
def test_a_drain_is_a_cordoned_node_that_vms_are_leaving(
    cordoned: bool, mark: str, migrations: tuple[MigrationSeen, ...], found: tuple[str, ...]
) -> None:
    nodes = [a_node("n1", cordoned=cordoned), a_node("n2")]
    machines = Machines({}, migrations, frozenset({mark} - {""}))
    assert draining(nodes, machines) == found


def test_a_migration_of_kubevirt_is_read_by_the_clock_of_the_lab() -> None:
    given = {
        "metadata": {"name": "m", "namespace": "d", "creationTimestamp": "1970-01-01T00:00:10Z"},
        "spec": {"vmiName": "web"},
        "status": {
            "phase": "Succeeded",
            "migrationState": {
                "startTimestamp": "1970-01-01T00:00:20Z",
                "endTimestamp": "1970-01-01T00:00:30Z",
                "sourceNode": "n1",
                "targetNode": "n2",
            },
        },
    }
    read = kubevirt_migration(msgspec.convert(given, Vmim), None, Clock(scale=2.0))
    assert (read.vm, read.source, read.target) == ("d/web", "n1", "n2")
    assert (read.begun, read.ended, read.succeeded) == (40.0, 60.0, True)
    assert read.is_timed


def test_a_copy_of_kubevirt_that_took_a_moment_teaches_nothing() -> None:
    times = {"startTimestamp": "1970-01-01T00:00:20Z", "endTimestamp": "1970-01-01T00:00:21Z"}
    given = {
        "metadata": {"name": "m", "namespace": "d"},
        "spec": {"vmiName": "web"},
        "status": {"phase": "Succeeded", "migrationState": times},
    }
    assert not kubevirt_migration(msgspec.convert(given, Vmim), None, Clock()).is_timed


def test_a_migration_of_kubevirt_that_waits_has_begun_when_it_was_created() -> None:
    given = {
        "metadata": {"name": "m", "namespace": "d", "creationTimestamp": "1970-01-01T00:00:10Z"},
        "spec": {"vmiName": "web"},
        "status": {"phase": "Pending"},
    }
    read = kubevirt_migration(msgspec.convert(given, Vmim), None, Clock())
    assert (read.begun, read.ended, read.source) == (10.0, None, "")
