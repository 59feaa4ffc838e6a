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

import numpy as np
import pytest

from builders.labs.kubevirt_metrics import (
    DELAY,
    GIB,
    SCRAPE_S,
    VmHistory,
    prometheus_with,
    write_openmetrics,
)
from builders.labs.recorded import a_launcher, a_node, arguments, grant
from builders.proxies.prometheus import ScriptedPrometheus
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.cli.main import app
from trimtab.errors import TrimtabError
from trimtab.kube import clock
from trimtab.kube.client import Client
from trimtab.kube.resources import CONFIG_MAPS, NAMESPACES, NODES, PODS
from trimtab.model.recorded.archive import read_recording
from trimtab.model.recorded.cleaning import recorded_moves
from trimtab.model.recorded.recording import ClusterRecording

pytestmark = pytest.mark.engines

HOURS = 6
NODE_CORES = {"n1": 8, "n2": 8}
END = time.time() // 300 * 300
START = END - HOURS * 3600
LATER_S = 2 * 3600  # in a whole run the tests of this file may begin long after it was read
VMS = [
    VmHistory("web", 2.0, 4 * GIB, {0.0: "n1", START + HOURS * 1800: "n2"}),
    VmHistory("db", 1.0, 8 * GIB, {0.0: "n1"}),
    VmHistory("mail", 0.5, 2 * GIB, {0.0: "n2"}),
]


async def furnish(server: ApiServer) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client:
        await grant(client)
        for name, cores in NODE_CORES.items():
            await client.create(NODES, a_node(name, cores))
        for vm in VMS:
            memory = f"{int(vm.memory) >> 20}Mi"
            await client.create(PODS, a_launcher(vm.name, vm.node(END), memory))


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with running_apiserver() as server:
        asyncio.run(furnish(server))
        yield server


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("prometheus")
    later = END + LATER_S
    write_openmetrics(directory / "history.txt", VMS, NODE_CORES, START, later)
    with prometheus_with(directory, directory / "history.txt") as url:
        yield url


def command_for(server: ApiServer, url: str, output: Path, *more: str) -> list[str]:
    period = () if "--days" in more else ("--days", str(HOURS / 24))
    return arguments(server, url, output, *period, *more)


def record(server: ApiServer, url: str, output: Path, *more: str) -> ClusterRecording:
    command = command_for(server, url, output, *more)
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
        error = np.abs(recorded.vm_cpu[:, column] - expected)[2:] / vm.cores
        moving = np.abs(times[2:] - max(vm.places)) <= 600
        assert float(np.nanmax(error[~moving])) < 0.08
        # A counter that ends or begins within the window is known to a scrape only, and the
        # wave may be at its top then: one and a half times the VM's cores.
        assert float(np.nanmax(error[moving], initial=0.0)) < 0.08 + 1.5 * SCRAPE_S / 300
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


@pytest.mark.parametrize(
    "faults", [["422"], ["503"], ["cut"], ["hang"], ["422", "503", "cut", "hang", "partial"]]
)
def test_faults_change_no_value(
    server: ApiServer,
    prometheus: str,
    recorded: ClusterRecording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    faults: list[str],
) -> None:
    monkeypatch.setattr("trimtab.cli.record.commands.ANSWER_S", 5.0)
    with ScriptedPrometheus(prometheus, faults) as proxy:
        found = record(server, proxy.url, tmp_path / "my.trimtab")
    assert proxy.left == []
    assert_same_values(found, recorded)


def assert_same_values(
    found: ClusterRecording, recorded: ClusterRecording, *, skew_s: float = 0.0, rtol: float = 0.0
) -> None:
    """Where the two overlap: time went on between them."""
    first = round((found.manifest.start - skew_s - recorded.manifest.start) / 300)
    for table in ("vm_cpu", "vm_memory", "placement", "node_cpu"):
        one, other = getattr(found, table), getattr(recorded, table)
        same = min(len(one), len(other) - first)
        assert same > 36
        np.testing.assert_allclose(one[:same], other[first : first + same], rtol=rtol)


@pytest.mark.parametrize("skew_s", [-7200.0, 3600.0])
def test_a_server_whose_clock_is_off_is_recorded_by_its_own_clock_and_that_is_said(
    server: ApiServer, prometheus: str, recorded: ClusterRecording, tmp_path: Path, skew_s: float
) -> None:
    with ScriptedPrometheus(prometheus, [], skew_s=skew_s) as proxy:
        found = record(server, proxy.url, tmp_path / "my.trimtab")
    said = [finding.what for finding in found.manifest.findings]
    assert [what for what in said if "clock is" in what], said
    assert_same_values(found, recorded, skew_s=skew_s)


@pytest.mark.parametrize(
    ("hidden", "said", "without"),
    [
        pytest.param(("vcpu_delay",), "how long VMs waited for CPU", "vm_delay", id="delay"),
        pytest.param(("memory_resident",), "tells the memory of VMs", "vm_memory", id="memory"),
        pytest.param(
            ("node_cpu", "node_memory", "descheduler:"), "the load of nodes", "node_cpu", id="nodes"
        ),
    ],
)
def test_a_metric_that_is_missing_is_said_with_what_it_means(
    server: ApiServer,
    prometheus: str,
    tmp_path: Path,
    hidden: tuple[str, ...],
    said: str,
    without: str,
) -> None:
    with ScriptedPrometheus(prometheus, [], hidden=hidden) as proxy:
        found = record(server, proxy.url, tmp_path / "my.trimtab")
    (finding,) = (each for each in found.manifest.findings if said in each.what)
    assert finding.meaning
    assert not np.isfinite(getattr(found, without)).any()
    assert np.isfinite(found.vm_cpu).any()


def test_without_vmi_info_the_cpu_metric_tells_where_vms_were(
    server: ApiServer, prometheus: str, recorded: ClusterRecording, tmp_path: Path
) -> None:
    with ScriptedPrometheus(prometheus, [], hidden=("kubevirt_vmi_info",)) as proxy:
        found = record(server, proxy.url, tmp_path / "my.trimtab")
    assert_same_values(found, recorded)


def test_two_nodes_that_tell_of_one_vm_are_counted_and_its_load_is_not_doubled(
    recorded: ClusterRecording,
) -> None:
    (finding,) = (f for f in recorded.manifest.findings if "two nodes reported one VM" in f.what)
    assert finding.count >= 1
    web, column = VMS[0], recorded.manifest.vms.index("shop/web")
    times = (
        recorded.manifest.start + np.arange(recorded.manifest.moments) * recorded.manifest.step_s
    )
    expected = [np.mean([web.use(at - back) for back in range(0, 300, 60)]) for at in times]
    # twice as much where both told of it; a wave that is at its top then is no doubling
    assert float(np.nanmax(recorded.vm_cpu[2:, column] / expected[2:])) < 1.5


def test_without_kubevirts_metrics_cadvisor_tells_the_same(
    server: ApiServer, prometheus: str, recorded: ClusterRecording, tmp_path: Path
) -> None:
    with ScriptedPrometheus(prometheus, [], hidden=("kubevirt_",)) as proxy:
        found = record(server, proxy.url, tmp_path / "my.trimtab")
    sources = {each.table: each.source for each in found.manifest.sources}
    assert sources["vm_cpu"] == "cAdvisor's metrics of the VMs' pods"
    assert "no metric tells how long VMs waited for CPU" in {
        finding.what for finding in found.manifest.findings
    }
    assert_same_values(found, recorded, rtol=1e-5)


def test_openshifts_rules_tell_the_load_of_nodes_where_node_exporter_is_hidden(
    server: ApiServer, prometheus: str, recorded: ClusterRecording, tmp_path: Path
) -> None:
    with ScriptedPrometheus(prometheus, [], hidden=("node_cpu", "node_memory")) as proxy:
        found = record(server, proxy.url, tmp_path / "my.trimtab")
    sources = {each.table: each.source for each in found.manifest.sources}
    assert sources["node_cpu"] == sources["node_memory"] == "OpenShift's rules"
    first = round((found.manifest.start - recorded.manifest.start) / 300)
    same = min(len(found.node_cpu), len(recorded.node_cpu) - first)
    error = np.abs(found.node_cpu[:same] - recorded.node_cpu[first : first + same])
    assert float(np.nanmedian(error)) < 0.1


@pytest.mark.parametrize("version", ["1.5", "1.9"])
def test_names_and_labels_of_other_versions_are_understood(
    server: ApiServer, tmp_path: Path, version: str
) -> None:
    now = time.time() // 60 * 60
    write_openmetrics(
        tmp_path / "history.txt", VMS, NODE_CORES, now - 3600, now + 600, version=version
    )
    with prometheus_with(tmp_path, tmp_path / "history.txt") as url:
        found = record(server, url, tmp_path / "my.trimtab", "--days", str(1 / 24))
    assert {each.table for each in found.manifest.sources} >= {
        "vm_cpu", "vm_delay", "vm_memory", "placement", "node_cpu", "node_memory",
    }  # fmt: skip
    assert np.allclose(np.nanmedian(found.vm_memory, axis=0), [8 * GIB, 2 * GIB, 4 * GIB])
    means = np.nanmean(found.vm_cpu, axis=0)
    assert np.allclose(means, [1.0, 0.5, 2.0], rtol=0.15)


def test_any_pods_can_be_recorded_by_their_labels(
    server: ApiServer, prometheus: str, recorded: ClusterRecording, tmp_path: Path
) -> None:
    chosen = "kubevirt.io=virt-launcher,kubevirt.io/domain!=mail"
    found = record(server, prometheus, tmp_path / "my.trimtab", "--pods", chosen)
    assert found.manifest.vms == ("shop/virt-launcher-db-abcde", "shop/virt-launcher-web-abcde")
    assert len(recorded_moves(found.placement)) == 1
    first = round((found.manifest.start - recorded.manifest.start) / 300)
    same = min(len(found.vm_cpu), len(recorded.vm_cpu) - first)
    as_vms = recorded.vm_cpu[first : first + same][:, [0, 2]]
    np.testing.assert_allclose(found.vm_cpu[:same], as_vms, rtol=1e-5)
    sources = {each.table: each.source for each in found.manifest.sources}
    assert sources["vm_cpu"] == "cAdvisor's metrics of the chosen pods"


def test_labels_that_no_pod_has_are_an_error(
    server: ApiServer, prometheus: str, tmp_path: Path
) -> None:
    with pytest.raises(TrimtabError, match="no running pod has these labels"):
        record(server, prometheus, tmp_path / "my.trimtab", "--pods", "app=nothing")


def test_without_any_metric_of_vms_there_is_an_error_that_says_what_to_do(
    server: ApiServer, prometheus: str, tmp_path: Path
) -> None:
    output = tmp_path / "my.trimtab"
    with (
        ScriptedPrometheus(prometheus, [], hidden=("kubevirt_", "container_")) as proxy,
        pytest.raises(TrimtabError, match="no source tells what VMs use"),
    ):
        record(server, proxy.url, output)
    assert not output.exists()


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
        command = [sys.executable, "-m", "trimtab.cli", *command_for(server, proxy.url, output)]
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


def test_the_option_about_evictions_in_background_is_heeded(
    server: ApiServer, prometheus: str, recorded: ClusterRecording, tmp_path: Path
) -> None:
    found = record(server, prometheus, tmp_path / "my.trimtab", "--no-background")
    assert recorded.snapshot.evictions_in_background
    assert not found.snapshot.evictions_in_background


async def set_clock(server: ApiServer, scale: float) -> None:
    async with Client.from_kubeconfig(server.kubeconfig) as client:
        await client.create(NAMESPACES, {"metadata": {"name": clock.NAMESPACE}})
        meta = {"name": clock.NAME, "namespace": clock.NAMESPACE}
        await client.create(
            CONFIG_MAPS, {"metadata": meta, "data": {"epoch": "0", "scale": f"{scale}"}}
        )


def test_a_lab_of_kubevirts_vms_is_recorded_in_its_own_time(
    prometheus: str, tmp_path: Path
) -> None:
    with running_apiserver() as lab:
        asyncio.run(furnish(lab))
        asyncio.run(set_clock(lab, 10.0))
        where = ["--kubeconfig", str(lab.kubeconfig), "--prometheus", prometheus]
        command = ["record", *where, "-o", str(tmp_path / "my.trimtab"), "--days", "0.1"]
        app(command, result_action="return_value", exit_on_error=False)
    found = read_recording(tmp_path / "my.trimtab")
    assert found.manifest.sources[0].source == "KubeVirt's metrics"
    assert (found.manifest.scale, found.own_step_s) == (10.0, 3000.0)


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
