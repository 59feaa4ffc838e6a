"""Where a VM counts while it migrates, in both worlds of VMs."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from trimtab.kube.clock import Clock
from trimtab.kube.kubevirt import Vmim
from trimtab.kube.resources import Key
from trimtab.kube.virtual_machines import VirtualMachine
from trimtab.model.snapshot import SnapshotVm
from trimtab.observe import wire
from trimtab.observe.vm_loads import Fate, kubevirt_fates, own_fates, snapshot_vms

WEB = Key("default", "web")


def a_launcher(
    name: str, node: str, *, label: str = "", of: str = "", phase: str = "Running"
) -> wire.Pod:
    given = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"kubevirt.io": "virt-launcher"} | ({label: of} if label else {}),
            "annotations": {"kubevirt.io/domain": "web"},
        },
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }
    return msgspec.convert(given, wire.Pod)


def own(migration: str = "", pod: str = "old") -> Mapping[Key, Fate]:
    given = {
        "metadata": {"name": "web", "namespace": "default"},
        "status": {"podName": pod, "phase": "Running", "migrationName": migration},
    }
    return own_fates([msgspec.convert(given, VirtualMachine)])


def kubevirt(phase: str, node: str = "n1") -> Mapping[Key, Fate]:
    meta = {"name": "web", "namespace": "default"}
    instance = {"metadata": meta, "status": {"nodeName": node}}
    migration = {
        "metadata": {"name": "m", "namespace": "default", "uid": "u7"},
        "spec": {"vmiName": "web"},
        "status": {"phase": phase},
    }
    return kubevirt_fates(
        [msgspec.convert(instance, wire.Instance)],
        [msgspec.convert(migration, Vmim)],
    )


def seen(fates: Mapping[Key, Fate], *pods: wire.Pod) -> SnapshotVm:
    (vm,), _ = snapshot_vms(pods, fates, {}, Clock(), 0.0)
    return vm


OURS: dict[str, Any] = {"label": "trimtab.dev/migration", "of": "m"}
THEIRS: dict[str, Any] = {"label": "kubevirt.io/migrationJobUID", "of": "u7"}
STALE: dict[str, Any] = {"label": "kubevirt.io/migrationJobUID", "of": "u6"}
OLD = a_launcher("old", "n1")


@pytest.mark.parametrize(
    ("fates", "pods", "pod", "moving_to"),
    [
        pytest.param(own(), [OLD], "old", "", id="ours: at rest"),
        pytest.param(
            own("m"), [OLD, a_launcher("new", "n2", **OURS)], "old", "n2", id="ours: copying"
        ),
        pytest.param(
            own("m"),
            [OLD, a_launcher("new", "", **OURS, phase="Pending")],
            "old",
            "",
            id="ours: the target has no node yet",
        ),
        pytest.param(
            own("m", pod="new"), [a_launcher("new", "n2", **OURS)], "new", "", id="ours: arrived"
        ),
        pytest.param(kubevirt("Succeeded"), [OLD], "old", "", id="KubeVirt's: at rest"),
        pytest.param(
            kubevirt("Scheduling"),
            [OLD, a_launcher("new", "n2", **THEIRS, phase="Pending")],
            "old",
            "n2",
            id="KubeVirt's: the target is placed",
        ),
        pytest.param(
            kubevirt("Running"),
            [a_launcher("new", "n2", **THEIRS), OLD],
            "old",
            "n2",
            id="KubeVirt's: copying",
        ),
        pytest.param(
            kubevirt("Running", node="n2"),
            [a_launcher("old", "n1", phase="Succeeded"), a_launcher("new", "n2", **THEIRS)],
            "new",
            "",
            id="KubeVirt's: arrived, the source is Completed",
        ),
        pytest.param(
            kubevirt("Running"),
            [OLD, a_launcher("left-over", "n3", **STALE)],
            "old",
            "",
            id="KubeVirt's: the pod of an earlier migration is no target",
        ),
        pytest.param(
            kubevirt("Failed"),
            [OLD, a_launcher("new", "n2", **THEIRS)],
            "old",
            "",
            id="KubeVirt's: failed, its target is not gone yet",
        ),
    ],
)
def test_a_vm_in_flight_is_known_by_the_pod_that_waits_for_it(
    fates: Mapping[Key, Fate], pods: list[wire.Pod], pod: str, moving_to: str
) -> None:
    vm = seen(fates, *pods)
    assert (vm.pod_uid, vm.moving_to) == (f"uid-{pod}", moving_to)
    assert vm.target_pod_uid == ("uid-new" if moving_to else "")
