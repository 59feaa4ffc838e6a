"""A snapshot as the planner's problem: the scheduler's rules reduced to arrays.

Selectors, node affinity and taints become allowed nodes per kind of VM; required
anti-affinity becomes groups; pods that are no VMs are ground: their requests are taken,
and where nothing tells what they use, their CPU and memory requests stand for it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from trimtab.balance.problem import Exclusion, Flags, Floats, Places, Problem, problem_of
from trimtab.errors import ConfigError
from trimtab.model.quantity import parse_quantity
from trimtab.model.selectors import matches_node
from trimtab.model.snapshot import Snapshot, SnapshotNode, SnapshotPod, SnapshotVm
from trimtab.policy.pods.anti_affinity import groups_of
from trimtab.policy.pods.requests import amounts, requests_of
from trimtab.policy.pods.taints import tolerates_for_scheduling

_NANO = 1e9
CORDONED = "node.kubernetes.io/unschedulable"
"""The taint that the node controller adds to a cordoned node."""


def problem_from(snapshot: Snapshot, *, emptied: Sequence[str] = ()) -> Problem:
    """The cluster as it is; all VMs have to leave the `emptied` nodes."""
    return _Reader(snapshot, frozenset(emptied)).problem()


class _Reader:
    def __init__(self, snapshot: Snapshot, emptied: frozenset[str]) -> None:
        if not snapshot.vms:
            raise ConfigError(
                "the snapshot tells of no VM's load, so nothing can be planned; "
                "write a new one: trimtab snapshot -o F"
            )
        self._nodes = [node for node in snapshot.nodes if _can_run_vms(node)]
        self._index = {node.name: at for at, node in enumerate(self._nodes)}
        if unknown := sorted(emptied - self._index.keys()):
            raise ConfigError(f"there is no node {unknown[0]} in the cluster that runs VMs")
        self._emptied = emptied
        pods = {pod.uid: pod for pod in snapshot.pods}
        self._vms = [vm for vm in snapshot.vms if vm.pod_uid in pods]
        self._pods = [next_pod(pods[vm.pod_uid], vm) for vm in self._vms]
        # A VM that moves counts at its target; the pod that waits there would count it twice.
        launched = {uid for vm in self._vms for uid in (vm.pod_uid, vm.target_pod_uid)} - {""}
        self._others = [
            pod
            for pod in snapshot.pods
            if pod.uid not in launched and pod.node in self._index and not pod.finished
        ]

    def problem(self) -> Problem:
        requests = [requests_of(pod) for pod in self._pods]
        resources = ("cpu", "memory", "pods", *self._scarce(requests))
        allocatable = [amounts(node.allocatable, node.name) for node in self._nodes]
        capacity = np.array(
            [[each.get(name, 0) / _NANO for each in allocatable] for name in ("cpu", "memory")]
        )
        ground_requests = self._ground(resources)
        kinds, allowed = self._allowed()
        return problem_of(
            nodes=[node.name for node in self._nodes],
            vms=[f"{vm.namespace}/{vm.name}" for vm in self._vms],
            capacity=capacity,
            where=[self._place(vm, pod) for vm, pod in zip(self._vms, self._pods, strict=True)],
            load=np.array(
                [[_number(vm.cpu) for vm in self._vms], [_number(vm.memory) for vm in self._vms]]
            ),
            ground=ground_requests[:2],
            open_nodes=np.array(
                [not node.unschedulable and node.ready is not False for node in self._nodes],
                dtype=np.bool_,
            ),
            emptied=np.array([node.name in self._emptied for node in self._nodes], dtype=np.bool_),
            resources=resources,
            allocatable=np.array(
                [[_allocatable(each, name) for each in allocatable] for name in resources]
            ),
            taken=ground_requests,
            request=np.array([[_requested(each, name) for each in requests] for name in resources]),
            kind=kinds,
            allowed=allowed,
            dirty_rate=np.array([_number(vm.dirty_rate) for vm in self._vms]),
            excluded=self._excluded(),
            groups=groups_of(self._pods, [node.labels for node in self._nodes]),
        )

    def _place(self, vm: SnapshotVm, pod: SnapshotPod) -> int:
        return self._index.get(vm.moving_to or pod.node, -1)

    def _scarce(self, requests: Sequence[Mapping[str, int]]) -> list[str]:
        """Devices and huge pages: whatever else a VM requests."""
        named = {name for each in requests for name in each}
        return sorted(named - {"cpu", "memory", "pods", "ephemeral-storage"})

    def _ground(self, resources: Sequence[str]) -> Floats:
        ground = np.zeros((len(resources), len(self._nodes)))
        for pod in self._others:
            requests = requests_of(pod)
            for row, name in enumerate(resources):
                ground[row, self._index[pod.node]] += _requested(requests, name)
        return ground

    def _allowed(self) -> tuple[Places, Flags]:
        kinds: dict[tuple[object, ...], int] = {}
        rows: list[list[bool]] = []
        kind = np.zeros(len(self._pods), dtype=np.intp)
        for at, pod in enumerate(self._pods):
            selector = tuple(sorted(pod.node_selector.items()))
            key = (selector, pod.node_affinity, pod.tolerations)
            if key not in kinds:
                kinds[key] = len(rows)
                rows.append([self._lets(pod, node) for node in range(len(self._nodes))])
            kind[at] = kinds[key]
        return kind, np.array(rows, dtype=np.bool_).reshape(len(rows), len(self._nodes))

    def _lets(self, pod: SnapshotPod, at: int) -> bool:
        node = self._nodes[at]
        fits = matches_node(pod.node_affinity, pod.node_selector, node.name, node.labels)
        # A cordon closes a node to VMs that come; those that are there break no rule by it.
        taints = tuple(taint for taint in node.taints if taint.key != CORDONED)
        return fits and tolerates_for_scheduling(pod.tolerations, taints)

    def _excluded(self) -> dict[int, Exclusion]:
        excluded = {}
        for at, (vm, pod) in enumerate(zip(self._vms, self._pods, strict=True)):
            if vm.moving_to:
                excluded[at] = Exclusion("moving", "it is on its way already")
            elif vm.not_movable:
                excluded[at] = Exclusion("not-movable", vm.not_movable)
            elif pod.terminating:
                excluded[at] = Exclusion("terminating", "its pod is being deleted")
        return excluded


def next_pod(pod: SnapshotPod, vm: SnapshotVm) -> SnapshotPod:
    """The pod as the VM's next one will be."""
    if vm.next_pod is None:
        return pod
    asked = vm.next_pod
    return replace(pod, node_selector=asked.node_selector, node_affinity=asked.node_affinity)


def _can_run_vms(node: SnapshotNode) -> bool:
    """Nodes that have nothing to give are no part of the picture."""
    has = amounts(node.allocatable, node.name)
    return has.get("cpu", 0) > 0 and has.get("memory", 0) > 0


def _number(text: str) -> float:
    return float(parse_quantity(text, "snapshot: vms")) if text else 0.0


def _allocatable(amount: Mapping[str, int], name: str) -> float:
    return amount.get(name, 0) / _NANO


def _requested(requests: Mapping[str, int], name: str) -> float:
    return 1.0 if name == "pods" else requests.get(name, 0) / _NANO
