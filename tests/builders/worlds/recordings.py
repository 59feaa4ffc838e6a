"""Small recordings to test with."""

from datetime import UTC, datetime

import numpy as np

from trimtab.model.recorded.recording import ClusterRecording, Manifest
from trimtab.model.snapshot import (
    ContainerResources,
    Snapshot,
    SnapshotNode,
    SnapshotPod,
    SnapshotVm,
)

START = 1_700_000_100.0
GIB = 2**30


def a_recording(
    *,
    nodes: int = 3,
    vms: int = 9,
    moments: int = 24,
    step_s: float = 300.0,
    beside: float = 0.5,
    hot: float = 1.0,
) -> ClusterRecording:
    """VMs in turn on all nodes, each a wave; those of the first node `hot` times as busy.

    Nodes have 8 cores and 64 GiB and use `beside` cores for themselves.
    """
    names = tuple(f"n{at}" for at in range(1, nodes + 1))
    vm_names = tuple(f"shop/vm-{at:02}" for at in range(vms))
    where = np.arange(vms) % nodes
    wave = 1 + 0.3 * np.sin(2 * np.pi * np.arange(moments)[:, None] / 12 + np.arange(vms))
    cpu = np.asarray(1.2 * wave * np.where(where == 0, hot, 1.0), dtype=np.float32)
    memory = np.full((moments, vms), 4 * GIB, dtype=np.float32)
    placement = np.tile(where.astype(np.int32), (moments, 1))
    node_cpu = np.full((moments, nodes), beside, dtype=np.float32)
    node_memory = np.zeros((moments, nodes), dtype=np.float32)
    for vm in range(vms):
        node_cpu[:, where[vm]] += cpu[:, vm]
        node_memory[:, where[vm]] += memory[:, vm]
    return ClusterRecording(
        manifest=Manifest(start=START, step_s=step_s, moments=moments, nodes=names, vms=vm_names),
        snapshot=_snapshot(names, vm_names, where.tolist()),
        vm_cpu=cpu,
        vm_delay=np.full((moments, vms), np.nan, dtype=np.float32),
        vm_memory=memory,
        placement=placement,
        node_cpu=node_cpu,
        node_memory=node_memory,
    )


def _snapshot(nodes: tuple[str, ...], vms: tuple[str, ...], where: list[int]) -> Snapshot:
    has = {"cpu": "8", "memory": "64Gi", "pods": "110"}
    asked = ContainerResources(requests={"cpu": "200m", "memory": "5Gi"})
    pods = [
        SnapshotPod("shop", f"virt-launcher-{at}", f"uid-{at}", nodes[node], containers=(asked,))
        for at, node in enumerate(where)
    ]
    return Snapshot(
        taken_at=datetime.fromtimestamp(START, UTC),
        policy="",
        nodes=tuple(SnapshotNode(name, capacity=has, allocatable=has) for name in nodes),
        pods=tuple(pods),
        vms=tuple(
            SnapshotVm("shop", name.split("/")[1], f"uid-{at}") for at, name in enumerate(vms)
        ),
    )
