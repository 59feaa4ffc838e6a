"""Pods that a label selector chooses, recorded as if each were a VM.

The descheduler moves a pod by evicting it, and whoever owns it starts another one: a restart,
where a VM would migrate. Pods of DaemonSets and of the kubelet come back to the same node, so
they stay what they are: load beside the others.
"""

from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.model.snapshot import Snapshot, SnapshotPod, SnapshotVm
from trimtab.policy.file.selector_text import parse_selector
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER

OPTION = "--pods"
_BOUND = frozenset({"DaemonSet", "Node"})
"""Owners whose pods cannot go elsewhere."""


def with_pods_as_vms(snapshot: Snapshot, selector: str) -> Snapshot:
    """The snapshot with the chosen pods instead of VMs."""
    wanted = parse_selector(selector, OPTION)
    chosen = {
        pod.uid: pod
        for pod in snapshot.pods
        if pod.node and wanted.matches(pod.labels) and not pod.finished and _can_leave(pod)
    }
    if not chosen:
        raise ConfigError(
            f"{OPTION} {selector}: no running pod has these labels; look at: "
            f"kubectl get pods -A -l '{selector}'"
        )
    answer = {EVICTION_ANSWER: "evicted: it is a pod and no VM"}
    return replace(
        snapshot,
        pods=tuple(
            replace(pod, annotations={**pod.annotations, **answer}) if pod.uid in chosen else pod
            for pod in snapshot.pods
        ),
        vms=tuple(SnapshotVm(pod.namespace, pod.name, uid) for uid, pod in chosen.items()),
        vm_loads="",
    )


def _can_leave(pod: SnapshotPod) -> bool:
    return not any(owner.kind in _BOUND for owner in pod.owners)
