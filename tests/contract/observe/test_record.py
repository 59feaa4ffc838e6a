"""A recording of a real API server and a real Prometheus, with the rights that we ship."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.labs.apiserver import ApiServer, running_apiserver
from builders.labs.kubevirt_metrics import DELAY, GIB, VmHistory, prometheus_with, write_openmetrics
from builders.proxies.prometheus import ScriptedPrometheus
from trimtab.cli.main import app
from trimtab.errors import TrimtabError
from trimtab.install.observe.rbac import snapshot_rbac
from trimtab.kube.client import Client
from trimtab.kube.resources import NAMESPACES, NODES, PODS, free_kind
from trimtab.model.recorded.archive import read_recording
from trimtab.model.recorded.cleaning import recorded_moves
from trimtab.model.recorded.recording import ClusterRecording

pytestmark = pytest.mark.engines

ACCOUNT = "system:serviceaccount:kube-descheduler:snapshot"
_RBAC = "rbac.authorization.k8s.io"
KINDS = {
    "ServiceAccount": free_kind("", "v1", "serviceaccounts", "ServiceAccount"),
    "ClusterRole": free_kind(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    "ClusterRoleBinding": free_kind(
        _RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
    "Role": free_kind(_RBAC, "v1", "roles", "Role"),
    "RoleBinding": free_kind(_RBAC, "v1", "rolebindings", "RoleBinding"),
}
HOURS = 6
NODE_CORES = {"n1": 8, "n2": 8}
END = time.time() // 300 * 300
START = END - HOURS * 3600
VMS = [
    VmHistory("web", 2.0, 4 * GIB, {0.0: "n1", START + HOURS * 1800: "n2"}),
    VmHistory("db", 1.0, 8 * GIB, {0.0: "n1"}),
    VmHistory("mail", 0.5, 2 * GIB, {0.0: "n2"}),
]


def a_node(name: str, cores: int) -> dict[str, Any]:
    has = {"cpu": str(cores), "memory": "64Gi", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"capacity": has, "allocatable": has}}


def a_launcher(vm: VmHistory) -> dict[str, Any]:
    asked = {"requests": {"cpu": "200m", "memory": f"{int(vm.memory) >> 20}Mi"}}
    return {
        "metadata": {
            "name": f"virt-launcher-{vm.name}-abcde",
            "namespace": "shop",
            "labels": {"kubevirt.io": "virt-launcher", "kubevirt.io/domain": vm.name},
            "annotations": {"kubevirt.io/domain": vm.name},
        },
        "spec": {
            "nodeName": vm.node(END),
            "containers": [{"name": "compute", "image": "x", "resources": asked}],
        },
    }


async def furnish(server: ApiServer) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client:
        for name in ("kube-descheduler", "shop"):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        for manifest in snapshot_rbac():
            await client.create(KINDS[manifest["kind"]], manifest)
        for name, cores in NODE_CORES.items():
            await client.create(NODES, a_node(name, cores))
        for vm in VMS:
            await client.create(PODS, a_launcher(vm))


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with running_apiserver() as server:
        asyncio.run(furnish(server))
        yield server


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("prometheus")
    write_openmetrics(directory / "history.txt", VMS, NODE_CORES, START, END)
    with prometheus_with(directory, directory / "history.txt") as url:
        yield url


def arguments(server: ApiServer, url: str, output: Path, *more: str) -> list[str]:
    account = server.kubeconfig_for(server.url, ACCOUNT)
    where = ["--kubeconfig", str(account), "--prometheus", url]
    return ["record", *where, "--days", str(HOURS / 24), "-o", str(output), *more]


def record(server: ApiServer, url: str, output: Path, *more: str) -> ClusterRecording:
    command = arguments(server, url, output, *more)
    app(command, result_action="return_value", exit_on_error=False)
    return read_recording(output)


@pytest.fixture(scope="module")
def recorded(
    server: ApiServer, prometheus: str, tmp_path_factory: pytest.TempPathFactory
) -> ClusterRecording:
    return record(server, prometheus, tmp_path_factory.mktemp("recorded") / "my.trimtab")


def test_the_least_rights_are_enough(recorded: ClusterRecording) -> None:
    assert recorded.manifest.nodes == ("n1", "n2")
    assert recorded.manifest.vms == ("shop/db", "shop/mail", "shop/web")
    said = [finding.what for finding in recorded.manifest.findings]
    assert not [what for what in said if "cannot be listed" in what], said


def test_loads_are_what_the_counters_say(recorded: ClusterRecording) -> None:
    manifest = recorded.manifest
    times = manifest.start + np.arange(manifest.moments) * manifest.step_s
    for column, vm in enumerate(sorted(VMS, key=lambda vm: vm.name)):
        # the mean over the five minutes before each moment, but for the first, which is short
        expected = [np.mean([vm.use(at - back) for back in range(0, 300, 60)]) for at in times]
        error = np.abs(recorded.vm_cpu[:, column] - expected)[2:]
        assert float(np.nanmax(error)) < 0.08 * vm.cores
        assert np.nanmax(recorded.vm_memory[:, column]) == vm.memory


def test_what_vms_waited_for_is_part_of_their_demand(recorded: ClusterRecording) -> None:
    assert np.allclose(np.nanmedian(recorded.vm_delay), DELAY, rtol=0.01)
    waited = recorded.demand - recorded.vm_cpu
    assert np.allclose(np.nanmedian(waited), DELAY, rtol=0.01)


def test_a_move_is_seen_where_and_when_it_was(recorded: ClusterRecording) -> None:
    ((moment, vm, source, target),) = recorded_moves(recorded.placement)
    manifest = recorded.manifest
    assert (manifest.vms[vm], manifest.nodes[source], manifest.nodes[target]) == (
        "shop/web",
        "n1",
        "n2",
    )
    at = manifest.start + moment * manifest.step_s
    assert abs(at - (START + HOURS * 1800)) <= 2 * manifest.step_s


def test_nodes_use_what_their_vms_use_and_something_beside(recorded: ClusterRecording) -> None:
    beside = recorded.node_cpu - recorded.vms_on_nodes(recorded.vm_cpu)
    # at the move the two windows do not end at the same moment: medians
    assert np.allclose(np.nanmedian(beside, axis=0), 0.5, atol=0.05)


def test_the_archive_names_its_sources_and_queries(recorded: ClusterRecording) -> None:
    sources = {each.table: each for each in recorded.manifest.sources}
    assert sources["vm_cpu"].source == "KubeVirt's metrics"
    assert "kubevirt_vmi_cpu_usage_seconds_total" in sources["vm_cpu"].query
    assert sources["node_cpu"].source == "node-exporter"
    assert recorded.manifest.parameters["partial_response"] == "false"


@pytest.mark.parametrize("faults", [["422"], ["503"], ["cut"], ["422", "503", "cut", "partial"]])
def test_faults_change_no_value(
    server: ApiServer,
    prometheus: str,
    recorded: ClusterRecording,
    tmp_path: Path,
    faults: list[str],
) -> None:
    with ScriptedPrometheus(prometheus, faults) as proxy:
        found = record(server, proxy.url, tmp_path / "my.trimtab")
    assert proxy.left == []
    first = round((found.manifest.start - recorded.manifest.start) / 300)
    for table in ("vm_cpu", "vm_memory", "placement", "node_cpu"):
        one, other = getattr(found, table), getattr(recorded, table)
        same = min(len(one), len(other) - first)
        np.testing.assert_array_equal(one[:same], other[first : first + same])


def test_an_answer_that_stays_partial_ends_in_an_error_and_not_in_an_archive(
    server: ApiServer, prometheus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.observe.record.chunks.WAIT_S", 0.01)
    output = tmp_path / "my.trimtab"
    with (
        ScriptedPrometheus(prometheus, ["partial"] * 50) as proxy,
        pytest.raises(TrimtabError, match="a store is missing"),
    ):
        record(server, proxy.url, output)
    assert not output.exists()
    assert output.with_name("my.trimtab.parts").is_dir()


@pytest.mark.full
def test_a_recording_that_is_killed_ten_times_ends_with_the_same_bytes(
    server: ApiServer, prometheus: str, tmp_path: Path
) -> None:
    """Both begin with the same look, for what a cluster is like changes from second to second."""
    chance = random.Random(7)
    output, whole = tmp_path / "my.trimtab", tmp_path / "whole.trimtab"
    with ScriptedPrometheus(prometheus, [], delay_s=0.05, most=18) as proxy:
        command = [sys.executable, "-m", "trimtab.cli", *arguments(server, proxy.url, output)]
        parts = output.with_name("my.trimtab.parts")
        for kill in range(10):
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 120
            while not (parts / "begun.json").exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(chance.uniform(0.3, 2.5))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert not output.exists(), "it was done too early to be killed"
            if kill == 0:
                _copy(parts, whole.with_name("whole.trimtab.parts"))
        assert whole.with_name("whole.trimtab.parts").exists()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        record(server, proxy.url, whole)
    assert output.read_bytes() == whole.read_bytes()
    assert not parts.exists()


def _copy(parts: Path, other: Path) -> None:
    """The look of a recording without its answers."""
    other.mkdir(mode=0o700)
    (other / "begun.json").write_bytes((parts / "begun.json").read_bytes())


def test_an_unfinished_recording_with_other_options_is_not_mixed_in(
    server: ApiServer, prometheus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.observe.record.chunks.WAIT_S", 0.01)
    output = tmp_path / "my.trimtab"
    with ScriptedPrometheus(prometheus, ["partial"] * 50) as proxy:
        with pytest.raises(TrimtabError, match="a store is missing"):
            record(server, proxy.url, output)
        with pytest.raises(TrimtabError, match="other options"):
            record(server, proxy.url, output, "--step", "10m")
    found = record(server, prometheus, output, "--step", "10m", "--fresh")
    assert found.manifest.step_s == 600


def test_show_tells_the_period_and_the_findings(
    server: ApiServer, prometheus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "my.trimtab"
    record(server, prometheus, output, "--anonymise", "--jitter", "0.02")
    app(["record", "show", str(output)], result_action="return_value", exit_on_error=False)
    text = capsys.readouterr().out
    assert "2 nodes, 3 VMs, 1 moves" in text
    assert "node-1" in text
    assert "web" not in text
    assert b"shop" not in output.read_bytes()
