"""What virt-handler and cAdvisor would say about the guests: the text that Prometheus scrapes.

Names and labels are those of KubeVirt 1.8 and of cAdvisor. Counters add up between scrapes at
the rates that hold then; a guest gets the cores that it wants, or its share of the node where
all of them want more than there is, and what it does not get it waits for. A new process begins
at 0, which Prometheus takes for a restart.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.kube.resources import Key
from trimtab.model.load.pressure import pressure
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE
from trimtab.player.guests import Guest
from trimtab.virt.copies import Progress

Column = NDArray[np.float64]
USER_SHARE = 0.9
"""Of the CPU time that a guest gets, the part that counts as user's; the rest is the system's."""


class Running(Struct, frozen=True, kw_only=True):
    """A guest that runs, as a row of the page."""

    key: Key
    node: str
    pod: str
    uid: str
    guest: Guest
    vcpus: int
    dirty_rate: float
    copy: Progress | None = None


class NodeSizes(Struct, frozen=True):
    cores: float
    bytes: float


class _Totals(Struct):
    """Seconds of one guest up to the last look."""

    used: float = 0.0
    waited: float = 0.0
    psi: float = 0.0
    psi_memory: float = 0.0


class GuestMetrics:
    """The counters of all guests, and the page."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._totals: dict[str, _Totals] = {}
        self._at: float | None = None

    def page(self, running: Sequence[Running], nodes: Mapping[str, NodeSizes], lab_s: float) -> str:
        """All series at this moment; everybody who scrapes moves the counters on."""
        passed = self._passed()
        rows = list(running)
        wanted = np.array([row.guest.cores_wanted(lab_s) for row in rows])
        memory = np.array([row.guest.memory_used(lab_s) for row in rows])
        share, psi = self._contention(rows, nodes, wanted, memory)
        given = wanted * share
        self._advance(rows, passed, given, wanted - given, psi)
        return _render(rows, [self._totals[row.uid] for row in rows], memory)

    def _passed(self) -> float:
        now = self._now()
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        return passed

    def _contention(
        self,
        rows: Sequence[Running],
        nodes: Mapping[str, NodeSizes],
        wanted: Column,
        memory: Column,
    ) -> tuple[Column, Column]:
        """(rows,) the part of its wish that each guest gets; (rows, 2) PSI of CPU and memory."""
        order = {name: place for place, name in enumerate(nodes)}
        sizes = np.array([(each.cores, each.bytes) for each in nodes.values()]).reshape(-1, 2)
        use = np.zeros_like(sizes)
        places = np.array([order.get(row.node, -1) for row in rows], dtype=np.intp)
        known = places >= 0
        for column, amounts in enumerate((wanted, memory)):
            use[:, column] = np.bincount(places[known], amounts[known], minlength=len(sizes))
        ratio = np.divide(use, sizes, out=np.zeros_like(use), where=sizes > 0)
        waiting = pressure(ratio, DEFAULT_PRESSURE)
        share, psi = np.ones(len(rows)), np.zeros((len(rows), 2))
        share[known] = 1.0 / np.maximum(ratio[places[known], 0], 1.0)
        psi[known] = waiting[places[known]]
        return share, psi

    def _advance(
        self, rows: Sequence[Running], passed: float, given: Column, missing: Column, psi: Column
    ) -> None:
        known, self._totals = self._totals, {}
        for place, row in enumerate(rows):
            totals = self._totals[row.uid] = known.get(row.uid) or _Totals()
            totals.used += float(given[place]) * passed
            totals.waited += float(missing[place]) * passed
            totals.psi += float(psi[place, 0]) * passed
            totals.psi_memory += float(psi[place, 1]) * passed


def _render(rows: Sequence[Running], totals: Sequence[_Totals], memory: Column) -> str:
    used = [each.used for each in totals]
    vmi, pod = [_vmi(row) for row in rows], [_container(row) for row in rows]
    size = [row.guest.load.bytes for row in rows]
    free = [whole - part for whole, part in zip(size, memory.tolist(), strict=True)]
    parts = [
        _family(f"kubevirt_vmi_{name}", kind, vmi, values)
        for name, kind, values in (
            ("cpu_usage_seconds_total", "counter", used),
            ("cpu_user_usage_seconds_total", "counter", [USER_SHARE * each for each in used]),
            ("cpu_system_usage_seconds_total", "counter", [(1 - USER_SHARE) * e for e in used]),
            ("memory_domain_bytes", "gauge", size),
            ("memory_available_bytes", "gauge", size),
            ("memory_actual_balloon_bytes", "gauge", size),
            ("memory_unused_bytes", "gauge", free),
            ("memory_usable_bytes", "gauge", free),
            ("memory_resident_bytes", "gauge", memory.tolist()),
            ("dirty_rate_bytes_per_second", "gauge", [row.dirty_rate for row in rows]),
        )
    ]
    parts += _per_vcpu(rows, totals)
    parts += _copies(rows)
    parts += [
        _family(f"container_{name}", kind, pod, values)
        for name, kind, values in (
            ("cpu_usage_seconds_total", "counter", used),
            ("memory_working_set_bytes", "gauge", memory.tolist()),
            ("pressure_cpu_waiting_seconds_total", "counter", [each.psi for each in totals]),
            (
                "pressure_memory_waiting_seconds_total",
                "counter",
                [each.psi_memory for each in totals],
            ),
        )
    ]
    return "".join(parts)


def _per_vcpu(rows: Sequence[Running], totals: Sequence[_Totals]) -> list[str]:
    """Waiting for the processor is spread evenly over the vCPUs; waiting for disks there is none.

    KubeVirt has a series for each vCPU; with thousands of guests that would be most of the page.
    """
    labels, delay, wait = [], [], []
    for row, each in zip(rows, totals, strict=True):
        start = _vmi(row)[:-1]
        for number in range(row.vcpus):
            labels.append(f'{start},id="{number}"}}')
            delay.append(each.waited / row.vcpus)
            wait.append(0.0)
    return [
        _family("kubevirt_vmi_vcpu_delay_seconds_total", "counter", labels, delay),
        _family("kubevirt_vmi_vcpu_wait_seconds_total", "counter", labels, wait),
    ]


def _copies(rows: Sequence[Running]) -> list[str]:
    moving = [(_vmi(row), row.copy, row.dirty_rate) for row in rows if row.copy is not None]
    labels = [label for label, _, _ in moving]
    columns = {
        "data_bytes_total": ("counter", [copy.total for _, copy, _ in moving]),
        "data_total_bytes": ("counter", [copy.total for _, copy, _ in moving]),
        "data_remaining_bytes": ("gauge", [copy.left for _, copy, _ in moving]),
        "data_processed_bytes": ("gauge", [copy.sent for _, copy, _ in moving]),
        "dirty_memory_rate_bytes": ("gauge", [rate for _, _, rate in moving]),
        "memory_transfer_rate_bytes": ("gauge", [copy.rate for _, copy, _ in moving]),
    }
    return [
        _family(f"kubevirt_vmi_migration_{name}", kind, labels, values)
        for name, (kind, values) in columns.items()
    ]


def _vmi(row: Running) -> str:
    return f'{{node="{row.node}",namespace="{row.key.namespace}",name="{row.key.name}"}}'


def _container(row: Running) -> str:
    return (
        f'{{container="compute",namespace="{row.key.namespace}",node="{row.node}",pod="{row.pod}"}}'
    )


def _family(name: str, kind: str, labels: Iterable[str], values: Iterable[float]) -> str:
    """Names of Kubernetes objects need no escaping in labels."""
    lines = [f"{name}{label} {value!r}\n" for label, value in zip(labels, values, strict=True)]
    return f"# TYPE {name} {kind}\n{''.join(lines)}"
