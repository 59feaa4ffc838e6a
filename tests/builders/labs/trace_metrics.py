"""Days of recorded loads as KubeVirt's metrics, for a real Prometheus.

KubeVirt is upgraded twice in that time, from 1.5 to 1.7 and to 1.9: names and labels change, and
every series ends and another one goes on. A week of 1,000 VMs is nine million samples, so each
series is written in one go, in the order of time.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

GIB = 2**30
STEP_S = 300
"""Of the trace, of the scrapes and of the recording: loads are steady in between."""
DAY = 86_400 // STEP_S
BEFORE, LATER = 6, 2 * 3600 // STEP_S
"""Steps around the period: rates look back, and until the recording begins time goes on."""
CORES, NODE_CORES, NODE_GIB = 4, 128, 512
DELAY = 0.01
"""Cores that every VM waits for."""
RUN_S = 100_000.0
"""Of CPU that everything has used before: `rate` takes a counter near 0 for a new one."""
Table = NDArray[np.float64]


class History(Struct, frozen=True, eq=False):
    """(steps, vms) cores and bytes; `home[vm]` is a node's number."""

    start: int
    cpu: Table
    memory: Table
    home: NDArray[np.int_]
    nodes: int

    @property
    def times(self) -> NDArray[np.int_]:
        return self.start + np.arange(len(self.cpu) + 1) * STEP_S

    @property
    def versions(self) -> dict[str, int]:
        """From which scrape on each ran."""
        steps = len(self.cpu)
        return {"1.5": 0, "1.7": steps * 2 // 7, "1.9": steps * 5 // 7}


def recorded_shares(trace: Path) -> Table:
    """(machines, steps of a day, 2) CPU and memory of a public trace, as shares."""
    with np.load(trace) as data:
        return np.asarray(data["percent_x100"], dtype=np.float64) / 10_000


def drawn_shares(machines: int, seed: int) -> Table:
    """As many, drawn by lot."""
    drawn = np.random.default_rng(seed).beta(0.5, 2.0, (machines, DAY, 2))
    return np.asarray(drawn, dtype=np.float64)


def a_history(shares: Table, days: int, vms: int, nodes: int, now: float) -> History:
    """Every VM has another machine's day each day."""
    of_day = [(np.arange(vms) + day * 229) % len(shares) for day in range(days + 1)]
    steps = BEFORE + days * DAY + LATER
    both = np.concatenate([shares[machines].transpose(1, 0, 2) for machines in of_day])[:steps]
    memory = (both[:, :, 1].clip(0.05, 1.0) * 4 * GIB).round()
    start = int(now // STEP_S - days * DAY - BEFORE) * STEP_S
    return History(start, both[:, :, 0] * CORES, memory, np.arange(vms) % nodes, nodes)


def vm_name(vm: int) -> str:
    return f"vm-{vm:04}"


def node_name(node: int) -> str:
    return f"node-{node:02}"


def write_history(path: Path, history: History) -> None:
    """What virt-handler, virt-controller and node-exporter said."""
    times = history.times
    with path.open("w") as file:
        for metric, kind in METRICS.items():
            family = metric.removesuffix("_total") if kind == "counter" else metric
            file.write(f"# TYPE {family} {kind}\n")
            for version, first, last in _periods(history):
                for labels, values in _series(history, metric, version):
                    head = f"{metric}{{{labels}}} "
                    _write(file, head, values[first:last], times[first:last])
        file.write("# EOF\n")


METRICS = {
    "kubevirt_vmi_cpu_usage_seconds_total": "counter",
    "kubevirt_vmi_vcpu_delay_seconds_total": "counter",
    "kubevirt_vmi_memory_resident_bytes": "gauge",
    "kubevirt_vmi_info": "gauge",
    "kubevirt_vmi_memory_used_bytes": "gauge",
    "vmi:kubevirt_vmi_memory_used_bytes:sum": "gauge",
    "kubevirt_vmi_dirty_rate_bytes_per_second": "gauge",
    "node_cpu_seconds_total": "counter",
    "node_memory_MemAvailable_bytes": "gauge",
    "node_memory_MemTotal_bytes": "gauge",
}
_ONLY = {
    "kubevirt_vmi_memory_used_bytes": ("1.5", "1.7"),
    "vmi:kubevirt_vmi_memory_used_bytes:sum": ("1.9",),
    "kubevirt_vmi_dirty_rate_bytes_per_second": ("1.7", "1.9"),
}


def _periods(history: History) -> Iterator[tuple[str, int, int]]:
    """The versions with the scrapes from and to which each ran."""
    begins = list(history.versions.values())
    yield from zip(history.versions, begins, [*begins[1:], len(history.times)], strict=True)


def _series(history: History, metric: str, version: str) -> Iterator[tuple[str, Table]]:
    """Labels, and values at all scrapes."""
    if version not in _ONLY.get(metric, history.versions):
        return
    if metric.startswith("node_"):
        yield from _of_nodes(history, metric)
        return
    for vm in range(history.cpu.shape[1]):
        name, node = vm_name(vm), node_name(int(history.home[vm]))
        own = f'namespace="shop",name="{name}",node="{node}"'
        handler = f'{own},pod="virt-handler-{version}",kubernetes_vmi_label_app="{name}"'
        if metric == "kubevirt_vmi_cpu_usage_seconds_total":
            yield handler, _counter(history.cpu[:, vm])
        elif metric == "kubevirt_vmi_vcpu_delay_seconds_total":
            yield f'{handler},id="0"', _counter(np.full(len(history.cpu), DELAY))
        elif metric == "kubevirt_vmi_info":
            yield f"{own},{_info(name, version)}", np.ones(len(history.times))
        elif metric == "kubevirt_vmi_memory_resident_bytes":
            yield handler, _held(history.memory[:, vm])
        elif vm % 10 == 0:  # guests with an agent; nothing here asks for them
            yield handler, _held(history.memory[:, vm] / 2)


def _info(name: str, version: str) -> str:
    more = f'phase="running",evictable="true",vmi_pod="virt-launcher-{name}-abcde"'
    return more if version == "1.5" else f'{more},guest_os_arch="amd64"'


def _of_nodes(history: History, metric: str) -> Iterator[tuple[str, Table]]:
    """Node-exporter is not upgraded: its series go on."""
    for node in range(history.nodes):
        here = history.home == node
        label = f'instance="{node_name(node)}"'
        if metric == "node_cpu_seconds_total":
            idle = 1 - history.cpu[:, here].sum(axis=1) / NODE_CORES
            yield f'{label},cpu="0",mode="idle"', _counter(idle)
            continue
        used = history.memory[:, here].sum(axis=1) * (metric == "node_memory_MemAvailable_bytes")
        yield label, _held(NODE_GIB * GIB - used)


def _counter(cores: Table) -> Table:
    """(scrapes,) seconds of CPU."""
    return np.asarray(RUN_S + np.concatenate([[0.0], np.cumsum(cores * STEP_S)]))


def _held(values: Table) -> Table:
    """(scrapes,) the value of the step that ends."""
    return np.concatenate([values[:1], values])


def _write(file: TextIO, head: str, values: Table, times: NDArray[np.int_]) -> None:
    pairs = zip(values.tolist(), times.tolist(), strict=True)
    file.write("".join([f"{head}{value:.2f} {at}\n" for value, at in pairs]))
