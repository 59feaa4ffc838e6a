"""Clusters with VMs that an eviction does not simply migrate, and neighbours where it does."""

from typing import Any

from builders.worlds.snapshots import a_launcher, a_policy, a_snapshot
from trimtab.model.snapshot import (
    NextPod,
    Snapshot,
    SnapshotKubeVirt,
    SnapshotMigration,
    SnapshotMigrationPolicy,
    SnapshotPod,
    SnapshotVm,
)

HOSTNAME = "kubernetes.io/hostname"
HERE = {HOSTNAME: "n1"}


def a_vm(name: str, **fields: Any) -> SnapshotVm:
    given: dict[str, Any] = {"eviction_strategy": "LiveMigrate", **fields}
    return SnapshotVm("default", name, a_launcher(name, "n1").uid, **given)


def with_vms(*vms: SnapshotVm, kubevirt: SnapshotKubeVirt | None = None) -> Snapshot:
    """VMs on n1, each with its launcher."""
    pods = tuple(a_launcher(vm.name, "n1") for vm in vms)
    return _cluster(pods, vms, kubevirt)


def with_kubevirt(**fields: Any) -> Snapshot:
    """One VM and what KubeVirt says beside it."""
    given = {"migrations_per_cluster": 5, "migrations_per_node": 2, **fields}
    return with_vms(a_vm("a"), a_vm("b"), kubevirt=SnapshotKubeVirt(**given))


def with_launcher(pod: SnapshotPod, vm: SnapshotVm) -> Snapshot:
    return _cluster((pod,), (vm,), None)


def bound(next_pod: NextPod | None) -> Snapshot:
    """A launcher with a host name; its VM asks for the same or for nothing."""
    pod = a_launcher("a", "n1", node_selector=HERE)
    return with_launcher(pod, a_vm("a", next_pod=next_pod))


def with_completed(phase: str) -> Snapshot:
    kubevirt = SnapshotKubeVirt(migrations_per_cluster=5, migrations_per_node=2)
    pods = (a_launcher("a", "n1"), a_launcher("a-before", "n2", phase=phase))
    return _cluster(pods, (a_vm("a"),), kubevirt)


def migrations(**phases: str) -> tuple[SnapshotMigration, ...]:
    """`a="Running n1"`: the VM, its migration's phase, and the node that it leaves."""
    split = {name: text.split() for name, text in phases.items()}
    return tuple(
        SnapshotMigration("default", name, phase, node) for name, (phase, node) in split.items()
    )


def with_policy(**policy: str) -> Snapshot:
    """A MigrationPolicy `slow` that some VM follows."""
    kubevirt = SnapshotKubeVirt(
        migrations_per_cluster=5,
        migrations_per_node=2,
        policies=(SnapshotMigrationPolicy("slow", policy),),
    )
    return with_vms(a_vm("a", migration_policy="slow"), a_vm("b"), kubevirt=kubevirt)


NODE_FIT = a_policy(evictor={"evictLocalStoragePods": True, "nodeFit": True})
FREED = NextPod({})


def _cluster(
    pods: tuple[SnapshotPod, ...],
    vms: tuple[SnapshotVm, ...],
    kubevirt: SnapshotKubeVirt | None,
) -> Snapshot:
    return a_snapshot({"n1": 80, "n2": 30, "n3": 10}, pods=pods, vms=vms, kubevirt=kubevirt)
