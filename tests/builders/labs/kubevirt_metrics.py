"""A real Prometheus that has KubeVirt's metrics of some past hours, as a version names them."""

import math
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from builders.labs.prometheus import running_prometheus
from trimtab.engines import locate

CONFIG = "global: {scrape_interval: 15s}\n"
SCRAPE_S = 60
DELAY = 0.02
"""Cores that every VM waits for."""
BESIDE = 0.5
"""Cores that every node uses for itself."""
GIB = 2**30
Put = Callable[[str, str, float, float], None]
"""Takes a metric, its labels, a time and a value."""
OVERLAP_S = 180
"""Before a move both nodes tell of the VM: at the target its domain waits for the memory."""


class VmHistory:
    """A VM: cores over time, bytes, and on which node it was from when on."""

    def __init__(self, name: str, cores: float, memory: float, places: dict[float, str]) -> None:
        self.name, self.cores, self.memory, self.places = name, cores, memory, places

    def node(self, at: float) -> str:
        return self.places[max(since for since in self.places if since <= at)]

    def coming(self, at: float) -> str | None:
        """The node that it is about to move to, which tells of it already."""
        soon = self.node(at + OVERLAP_S)
        return None if soon == self.node(at) else soon

    def use(self, at: float) -> float:
        """Cores: a wave of an hour around the mean."""
        return self.cores * (1 + 0.5 * math.sin(2 * math.pi * at / 3600))


def write_openmetrics(
    path: Path,
    vms: list[VmHistory],
    nodes: dict[str, int],
    start: float,
    end: float,
    *,
    version: str = "1.7",
) -> None:
    """What virt-handler, virt-controller, cAdvisor, node-exporter and OpenShift's rules said.

    1.5 has no dirty rate; before 1.5 vmi_info did not name the pod, and before 1.3 there was none;
    from 1.7 on guests tell their load, and 1.9 has a new name for what guests use.
    """
    times = [start + SCRAPE_S * k for k in range(int((end - start) / SCRAPE_S) + 1)]
    lines: dict[str, list[str]] = {}

    def put(metric: str, labels: str, at: float, value: float) -> None:
        lines.setdefault(metric, []).append(f"{metric}{{{labels}}} {value:.6f} {at:.0f}")

    used: dict[str, float] = {}
    on_node = dict.fromkeys(nodes, 0.0)
    before = times[0]
    for at in times:
        for node in nodes:
            on_node[node] += BESIDE * (at - before)
        for vm in vms:
            node = vm.node(at)
            spent = vm.use(at) * (at - before)
            series = _series(vm, node)
            used[series] = used.get(series, 0.0) + spent
            on_node[node] += spent
            for each in filter(None, (node, vm.coming(at))):
                _tell(put, vm, each, used.get(_series(vm, each), 0.0), at, start, version)
        for node, cores in nodes.items():
            idle = (at - start) - on_node[node] / cores
            _tell_node(put, node, cores, idle, [v for v in vms if v.node(at) == node], at)
        before = at
    path.write_text(_as_openmetrics(lines))


def _tell_node(
    put: Put, node: str, cores: int, idle: float, vms: list[VmHistory], at: float
) -> None:
    """What node-exporter and OpenShift's rules said of a node with these VMs at a moment."""
    instance, memory = f'instance="{node}"', sum(vm.memory for vm in vms)
    for cpu in range(cores):
        put("node_cpu_seconds_total", f'{instance},cpu="{cpu}",mode="idle"', at, idle)
    cpu_share = (BESIDE + sum(vm.use(at) for vm in vms)) / cores
    put("descheduler:nodeutilization:cpu:avg1m", instance, at, cpu_share)
    put("descheduler:nodeutilization:memory:avg1m", instance, at, memory / (64 * GIB))
    put("node_memory_MemAvailable_bytes", instance, at, 64 * GIB - memory)
    put("node_memory_MemTotal_bytes", instance, at, 64 * GIB)


def _as_openmetrics(lines: dict[str, list[str]]) -> str:
    """The samples of every metric together, those of a series side by side."""
    text = []
    for metric, samples in lines.items():
        counter = metric.endswith("_total")
        family = metric.removesuffix("_total") if counter else metric
        text.append(f"# TYPE {family} {'counter' if counter else 'gauge'}")
        text += sorted(samples, key=lambda line: line.rpartition(" ")[0].rpartition(" ")[0])
    return "\n".join([*text, "# EOF", ""])


def _series(vm: VmHistory, node: str) -> str:
    """Labels of virt-handler: every label of the VM comes along."""
    own = f'kubernetes_vmi_label_app="{vm.name}"'
    return f'namespace="shop",name="{vm.name}",node="{node}",{own}'


def _tell(
    put: Put,
    vm: VmHistory,
    node: str,
    used: float,
    at: float,
    start: float,
    version: str,
) -> None:
    """What is said of a VM on a node at a moment."""
    series, pod = _series(vm, node), f"virt-launcher-{vm.name}-abcde"
    put("kubevirt_vmi_cpu_usage_seconds_total", series, at, used)
    for vcpu in ("0", "1"):
        waited = DELAY / 2 * (at - start) if node == vm.node(at) else 0.0
        put("kubevirt_vmi_vcpu_delay_seconds_total", f'{series},id="{vcpu}"', at, waited)
    put("kubevirt_vmi_memory_resident_bytes", series, at, vm.memory)
    info = f'namespace="shop",name="{vm.name}",node="{node}",phase="running"'
    if version not in ("1.1", "1.4"):
        info += f',evictable="true",vmi_pod="{pod}"'
    if version != "1.1":
        put("kubevirt_vmi_info", info, at, 1)
    if version not in ("1.1", "1.4", "1.5"):
        put("kubevirt_vmi_dirty_rate_bytes_per_second", series, at, 1e6)
    if version in ("1.7", "1.9"):
        put("kubevirt_vmi_guest_load_1m", series, at, 0.5)
    guest = "vmi:kubevirt_vmi_memory_used_bytes:sum"
    put(guest if version == "1.9" else "kubevirt_vmi_memory_used_bytes", series, at, vm.memory / 2)
    container = f'namespace="shop",pod="{pod}",container="compute",node="{node}"'
    put("container_cpu_usage_seconds_total", container, at, used)
    put("container_memory_working_set_bytes", container, at, vm.memory)


@contextmanager
def prometheus_with(directory: Path, openmetrics: Path, *options: str) -> Iterator[str]:
    """The URL of a Prometheus whose database was filled from the file."""
    command = [str(locate("promtool")), "tsdb", "create-blocks-from", "openmetrics", *options]
    subprocess.run(
        [*command, str(openmetrics), str(directory / "data")],
        check=True,
        capture_output=True,
        text=True,
    )
    with running_prometheus(directory, CONFIG) as url:
        yield url
