"""A recorded cluster as a scenario of the simulator.

Requests are those of the VMs' pods, and so is what restricts them (`recorded_constraints`).
What a node uses beside its VMs is its ground load, at the median of what no VM explains.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from trimtab.errors import ConfigError
from trimtab.model.load.columns import traces_in
from trimtab.model.load.curve import Trace
from trimtab.model.nodes_and_vms import CPU_OVERCOMMIT, Node, Vm
from trimtab.model.quantity import NANO, Quantity, parse_quantity
from trimtab.model.recorded.recording import NOWHERE, ClusterRecording, Loads
from trimtab.model.scenarios.scenario import MAX_NAME, Migration, Scenario, ScenarioEvent
from trimtab.model.snapshot import SnapshotPod
from trimtab.policy.pods.requests import requests_of
from trimtab.sim.placement.rules import CORDON
from trimtab.study.recorded.constraints import recorded_constraints, requested_ground, strategy_of
from trimtab.virt.launcher import SCHEDULABLE

BEFORE_S = 6.0
"""A VM starts this long before its moment, because it boots for five seconds."""
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", re.ASCII)


class Stay(Struct, frozen=True):
    """A VM between two moments, `last` not included, beginning on `node`."""

    vm: int
    first: int
    last: int
    node: int


def recorded_scenario(
    recording: ClusterRecording,
    *,
    follow_moves: bool = False,
    pin_arrivals: bool = False,
    demand: bool = True,
    growth: float = 1.0,
) -> Scenario:
    """The whole period.

    With `follow_moves` each VM is where it was recorded at every moment, whatever the rules of
    the snapshot say by now. Otherwise VMs of the first moment begin where they were, the
    scheduler places those that come later (with `pin_arrivals` they start where they did), and
    whatever the run decides moves them. `demand` adds what VMs waited for to what they used.
    All VMs use `growth` times the recorded CPU.
    """
    return _Builder(recording, follow_moves, pin_arrivals, demand, growth).scenario()


class _Builder:
    def __init__(
        self,
        recording: ClusterRecording,
        follow_moves: bool,
        pin_arrivals: bool,
        demand: bool,
        growth: float,
    ) -> None:
        self._recording, self._follow = recording, follow_moves
        self._pin = follow_moves or pin_arrivals
        snapshot = recording.snapshot
        self._nodes = _vm_nodes(recording)
        if not self._nodes:
            raise ConfigError("the recording has no node that runs VMs; record again")
        pods = {pod.uid: pod for pod in snapshot.pods}
        self._vms = {f"{vm.namespace}/{vm.name}": vm for vm in snapshot.vms}
        self._pod_of = {
            name: pods[vm.pod_uid] for name, vm in self._vms.items() if vm.pod_uid in pods
        }
        self._launched = {vm.pod_uid for vm in snapshot.vms}
        self._constraints = {} if follow_moves else recorded_constraints(snapshot, [*self._nodes])
        self._cpu = self._known(recording.demand if demand else recording.vm_cpu, "cpu")
        self._cpu *= np.float32(growth)
        self._memory = self._known(recording.vm_memory, "memory")
        self._sizes = [self._size(at, name) for at, name in enumerate(recording.manifest.vms)]

    def _known(self, loads: Loads, resource: str) -> Loads:
        """Unknown moments get the VM's mean; a VM of which nothing is known, what it requests."""
        known = np.isfinite(loads)
        count = known.sum(axis=0)
        means = np.where(known, loads, 0).sum(axis=0) / np.maximum(count, 1)
        for at in np.flatnonzero(count == 0).tolist():
            pod = self._pod_of.get(self._recording.manifest.vms[at])
            means[at] = requests_of(pod).get(resource, 0) / NANO if pod is not None else 0.0
        return np.asarray(np.where(known, loads, means), dtype=np.float32)

    def scenario(self) -> Scenario:
        manifest = self._recording.manifest
        sizes = np.array(self._sizes, dtype=np.float64).reshape(-1, 2)
        cpu = traces_in(_shares(self._cpu, sizes[:, 0]), self._recording.own_step_s, repeat=False)
        memory = traces_in(
            np.minimum(_shares(self._memory, sizes[:, 1]), np.float32(1)),
            self._recording.own_step_s,
            repeat=False,
        )
        vms: list[Vm] = []
        events: list[ScenarioEvent] = []
        names = _names(manifest.vms)
        for vm in range(len(manifest.vms)):
            for number, stay in enumerate(self._stays(vm)):
                name = names[vm] if number == 0 else f"{names[vm][: MAX_NAME - 6]}.{number + 1}"
                vms.append(self._vm(name, stay, cpu[vm], memory[vm]))
                events += self._events(name, stay)
        return Scenario(
            name="recording",
            nodes=tuple(self._with_ground()),
            vms=tuple(vms),
            duration_s=self._recording.duration_s,
            events=tuple(sorted(events, key=lambda event: (event.at, event.what != "depart"))),
            migration=_migration(self._recording),
            requests="overcommit",
        )

    def _size(self, at: int, name: str) -> tuple[float, float]:
        """Cores and bytes of the VM, such that its pod requests what it really does."""
        pod = self._pod_of.get(name)
        asked = requests_of(pod) if pod is not None else {}
        most_cpu, most_memory = float(self._cpu[:, at].max()), float(self._memory[:, at].max())
        cpu = asked.get("cpu", 0) / NANO * CPU_OVERCOMMIT or most_cpu
        return max(cpu, 0.01), max(asked.get("memory", 0) / NANO, most_memory, 2.0**20)

    def _stays(self, vm: int) -> Iterator[Stay]:
        """When and where it ran: broken where it was away, and at moves if those are followed."""
        places = self._recording.placement[:, vm].copy()
        allowed = [n in self._nodes for n in self._recording.manifest.nodes]
        places[[at != NOWHERE and not allowed[at] for at in places.tolist()]] = NOWHERE
        key = places if self._follow else (places != NOWHERE).astype(np.int32)
        edges = [0, *(np.flatnonzero(key[1:] != key[:-1]) + 1).tolist(), len(key)]
        for first, last in pairwise(edges):
            if places[first] != NOWHERE:
                yield Stay(vm, first, last, int(places[first]))

    def _vm(self, name: str, stay: Stay, cpu: Trace, memory: Trace) -> Vm:
        key = self._recording.manifest.vms[stay.vm]
        seen, pod = self._vms.get(key), self._pod_of.get(key)
        nodes = self._recording.manifest.nodes
        cores, size = self._sizes[stay.vm]
        return Vm(
            name=name,
            cpu=Quantity(round(cores * NANO)),
            memory=Quantity(round(size) * NANO),
            cpu_load=cpu,
            memory_load=memory,
            node=None if stay.first and not self._pin else nodes[stay.node],
            priority=(pod.priority or 0) if pod is not None else 0,
            eviction_strategy=strategy_of(pod),
            constraints=self._constraints.get(key),
            dirty_rate=parse_quantity(seen.dirty_rate, key)
            if seen is not None and seen.dirty_rate
            else Quantity(0),
        )

    def _events(self, name: str, stay: Stay) -> Iterator[ScenarioEvent]:
        step_s = self._recording.own_step_s
        if stay.first:
            yield ScenarioEvent(stay.first * step_s - BEFORE_S, "arrive", name)
        if stay.last < self._recording.manifest.moments:
            yield ScenarioEvent(stay.last * step_s - BEFORE_S, "depart", name)

    def _with_ground(self) -> Iterator[Node]:
        """The nodes with what no VM takes of them.

        The other pods are those of the last moment, the VMs those of the first: where both
        together request more than there is, the others are taken to have requested less.
        """
        recording = self._recording
        beside_cpu = _beside(recording.node_cpu, recording.vms_on_nodes(recording.vm_cpu))
        beside_memory = _beside(recording.node_memory, recording.vms_on_nodes(recording.vm_memory))
        for name, node in self._nodes.items():
            at, others = recording.manifest.nodes.index(name), self._beside(name)
            asked = requested_ground(others)
            vms, vms_cpu, vms_memory = self._asked_by_vms(name)
            room_cpu = float(node.cpu) - vms_cpu - 0.001 * (vms + 1)  # requests are rounded up
            room_memory = float(node.memory) - vms_memory - (vms + 1)
            ground = replace(
                asked,
                cpu=_amount(min(beside_cpu[at], float(node.cpu))),
                memory=_amount(min(beside_memory[at], float(node.memory))),
                requested_cpu=_amount(max(min(float(asked.requested_cpu), room_cpu), 0.0)),
                requested_memory=_amount(max(min(float(asked.requested_memory), room_memory), 0.0)),
                pods=max(min(len(others), node.pods - vms), 0),
            )
            facts_only = {"taints": (), "unschedulable": False} if self._follow else {}
            yield replace(node, ground=ground, **facts_only)

    def _beside(self, node: str) -> list[SnapshotPod]:
        """The pods of a node that are no VMs."""
        return [
            pod
            for pod in self._recording.snapshot.pods
            if pod.node == node and pod.uid not in self._launched and not pod.finished
        ]

    def _asked_by_vms(self, node: str) -> tuple[int, float, float]:
        """The number of those that begin there, and the cores and bytes that they request."""
        places = self._recording.placement[0].tolist()
        nodes = self._recording.manifest.nodes
        here = [
            s for s, at in zip(self._sizes, places, strict=True) if at >= 0 and nodes[at] == node
        ]
        cpu = sum(cpu for cpu, _ in here) / CPU_OVERCOMMIT
        return len(here), cpu, sum(memory for _, memory in here)


def _migration(recording: ClusterRecording) -> Migration:
    """KubeVirt's limits as they are set, its defaults where it is not installed."""
    seen = recording.snapshot.kubevirt
    if seen is None:
        return Migration()
    return Migration(
        per_cluster=seen.migrations_per_cluster, per_node_outbound=seen.migrations_per_node
    )


def _vm_nodes(recording: ClusterRecording) -> dict[str, Node]:
    """Nodes that take VMs, by KubeVirt's label where there is one, and those that had some."""
    labelled = any(SCHEDULABLE in node.labels for node in recording.snapshot.nodes)
    used = {recording.manifest.nodes[at] for at in np.unique(recording.placement) if at >= 0}
    found = {}
    for node in recording.snapshot.nodes:
        has = {name: parse_quantity(text, node.name) for name, text in node.allocatable.items()}
        if not all(has.get(name, Quantity(0)).nano > 0 for name in ("cpu", "memory")):
            continue
        if labelled and node.labels.get(SCHEDULABLE) != "true" and node.name not in used:
            continue
        found[node.name] = Node(
            node.name,
            has["cpu"],
            has["memory"],
            has["pods"].value() if "pods" in has else 110,
            dict(node.labels),
            # A cordon comes and goes with its taint.
            tuple(taint for taint in node.taints if taint.key != CORDON.key),
            node.unschedulable,
        )
    return found


def _shares(loads: Loads, sizes: NDArray[np.float64]) -> Loads:
    return np.asarray(loads / sizes, dtype=np.float32)


def _beside(nodes: Loads, vms: Loads) -> list[float]:
    """The median over time of what no VM explains, not below 0; 0 where nobody measured."""
    found = []
    for measured, by_vms in zip(nodes.T, vms.T, strict=True):
        rest = (measured - by_vms)[np.isfinite(measured)]
        found.append(max(float(np.median(rest)), 0.0) if rest.size else 0.0)
    return found


def _amount(value: float) -> Quantity:
    """Rounded up to thousandths of a core, or to bytes."""
    return Quantity(ceil(value * 1000) * (NANO // 1000))


def _names(vms: Sequence[str]) -> list[str]:
    """Names that Kubernetes would take; a number where one would not do."""
    found: list[str] = []
    taken: set[str] = set()
    for at, vm in enumerate(vms):
        name = vm.replace("/", ".", 1)
        if len(name) > MAX_NAME or not _NAME.fullmatch(name) or name in taken:
            name = f"vm.{at}"
        taken.add(name)
        found.append(name)
    return found
