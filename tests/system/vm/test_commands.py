"""`trimtab vm` and the operations of the pod-based simulation, against a real control plane."""

import subprocess
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from builders.labs.vm import trimtab
from builders.labs.vmcluster import Cluster
from builders.waiting import LIMIT_S
from trimtab.cli.services.vm.commands import app
from trimtab.errors import ConfigError
from trimtab.kube.virtual_machines import CPU_CONSUMPTION, MEMORY_CONSUMPTION
from trimtab.vm.operations import SimpleVm, Synced, VmOperations

pytestmark = pytest.mark.engines
Capture: TypeAlias = pytest.CaptureFixture[str]


class Command:
    """`trimtab vm` in one namespace of a lab, in this process."""

    def __init__(self, cluster: Cluster, namespace: str, capsys: Capture) -> None:
        self._where = [f"--kubeconfig={cluster.lab.kubeconfig}", f"--namespace={namespace}"]
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Everything that it says."""
        result = app([*arguments, *self._where], result_action="return_value", exit_on_error=False)
        assert (result or 0) == code
        said = self._capsys.readouterr()
        return said.out + said.err

    def json(self, *arguments: str) -> Any:
        """Its result, which is all that is on stdout."""
        app([*arguments, "--json", *self._where], result_action="return_value")
        return msgspec.json.decode(self._capsys.readouterr().out)


@pytest.fixture
def vm(cluster: Cluster, home: str, capsys: Capture) -> Command:
    return Command(cluster, home, capsys)


def test_a_vm_from_its_creation_to_its_end(cluster: Cluster, home: str, vm: Command) -> None:
    vm("create", "web", "--cpu=4", "--memory=8Gi", "--node=kwok-node-1", "--wait")
    assert "kwok-node-1" in vm("list")

    moved = vm.json("migrate", "web", "--to=kwok-node-3", "--force", "--wait")
    assert moved["status"]["targetNode"] == "kwok-node-3"
    assert [owner["name"] for owner in moved["metadata"]["ownerReferences"]] == ["web"]

    vm("set", "web", "--cpu-use=0.25", "--strategy=None")
    shown = vm.json("show", "web")
    assert shown["vm"]["spec"]["evictionStrategy"] == "None"
    assert shown["pod"]["spec"]["nodeName"] == "kwok-node-3"
    assert [each["status"]["phase"] for each in shown["migrations"]] == ["Succeeded"]
    cluster.await_events(home, "CutOver")
    text = vm("show", "web")
    for word in ("Running", "kwok-node-3", "Succeeded", "CutOver"):
        assert word in text

    vm("stop", "web", "--wait")
    assert "Stopped" in vm("list")
    vm("start", "web", "--wait")
    vm("delete", "web", "--wait")
    cluster.wait(lambda: cluster.pods(home) == [], "its pod is still there")


def test_files_are_applied(
    cluster: Cluster, home: str, vm: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
apiVersion: trimtab.dev/v1alpha1
kind: VirtualMachine
metadata: {name: web}
spec: {resources: {cpu: 2, memory: 4Gi}}
---
apiVersion: trimtab.dev/v1alpha1
kind: VirtualMachine
metadata: {name: db}
spec: {running: false, resources: {cpu: 2, memory: 4Gi}}
"""
    monkeypatch.setattr("sys.stdin", StringIO(text))
    vm("apply", "-f", "-", "--wait")
    monkeypatch.setattr("sys.stdin", StringIO(text.replace("cpu: 2", "cpu: 3")))
    vm("apply", "-f", "-")
    cluster.wait(lambda: cluster.vm(home, "web").status.allocated.cpu == "3", "not changed")
    assert cluster.await_phase(home, "db", "Stopped").status.pod_name == ""


def test_a_migration_is_cancelled(cluster: Cluster, home: str, vm: Command) -> None:
    vm("create", "web", "--memory=128Gi", "--node=kwok-node-1", "--wait")
    assert "nothing to cancel" in vm("cancel", "web", code=1)
    vm("migrate", "web")
    cluster.await_phase(home, "web", "Migrating")
    assert "cancelled: migration move-web-" in vm("cancel", "web", "--wait")
    assert cluster.await_phase(home, "web", "Running").status.node_name == "kwok-node-1"
    cluster.wait(lambda: len(cluster.pods(home)) == 1, "the target pod leaked")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["show", "nobody"], "there is no VM", id="no such VM"),
        pytest.param(["migrate", "web", "--force"], "--force needs --to", id="force alone"),
        pytest.param(["set", "web"], "nothing to change", id="no change"),
        pytest.param(["create", "bad", "--cpu=lots"], "cpu must be above 0", id="no quantity"),
        pytest.param(["apply", "-f", "/no/such/file"], "No such file", id="no file"),
    ],
)
def test_a_mistake_is_told_as_one(vm: Command, arguments: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as mistake:
        vm(*arguments)
    assert "\n" not in str(mistake.value)


def test_the_command_line_says_it_in_one_line_and_exits_with_2(
    cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("{apiVersion: v1, kind: Pod, metadata: {name: x}}")
    config = f"--kubeconfig={cluster.lab.kubeconfig}"
    done = subprocess.run(
        trimtab("vm", "apply", f"--file={file}", config),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    cluster_line, error, *others = done.stderr.splitlines()
    assert cluster_line.startswith("cluster: ")
    assert error.startswith("trimtab: cannot apply v1 Pod; expected trimtab.dev/v1alpha1")
    assert not others


def test_the_operations_of_the_pod_based_simulation(cluster: Cluster, home: str) -> None:
    operations = VmOperations(cluster.client, home)
    small = SimpleVm("vm-1", cpu_consumption=0.05, memory_consumption=0.08)
    pod_name = cluster.call(operations.create_pod(small, "kwok-node-2"))
    cluster.wait(lambda: cluster.pod(home, pod_name) is not None, "not seen")
    pod = cluster.pod(home, pod_name)
    assert pod is not None
    assert pod.metadata.annotations[CPU_CONSUMPTION] == "0.05"
    assert pod.metadata.annotations[MEMORY_CONSUMPTION] == "0.08"

    assert cluster.call(operations.get_pod_node_assignment("vm-1")) == "kwok-node-2"
    there = cluster.call(operations.migrate_vm_pod("vm-1", "kwok-node-2", "kwok-node-4"))
    assert there == "kwok-node-4"
    with pytest.raises(ConfigError, match="is on node kwok-node-4, not on kwok-node-2"):
        cluster.call(operations.move_vm("vm-1", "kwok-node-2"))
    assert cluster.call(operations.move_vm("vm-1", "kwok-node-4", "kwok-node-1")) != "kwok-node-4"

    others = [SimpleVm("vm-2", 0.1, 0.1), SimpleVm("vm-3", 0.1, 0.1)]
    synced = cluster.call(operations.sync_pods_with_vms(others))
    assert synced == Synced(created=("vm-2", "vm-3"), deleted=("vm-1",))
    nodes = cluster.call(operations.update_vm_node_assignments())
    assert set(nodes) == {"vm-2", "vm-3"}
    assert all(nodes.values())
    cluster.call(operations.delete_pod("vm-2"))
    assert set(cluster.call(operations.update_vm_node_assignments())) == {"vm-3"}
