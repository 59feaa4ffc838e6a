"""What each VM demands now, and whether it may migrate: from KubeVirt's metrics or from its pod.

KubeVirt's VMs: `kubevirt_vmi_*` of Prometheus, CPU demand = used + waited for (without the
second term the VMs of an overloaded node look smaller than they are). Our own VMs, and those
of a lab that plays KubeVirt: the annotations that the exporter reads.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import TrimtabError
from trimtab.kube.clock import Clock
from trimtab.kube.kubevirt import COOL_LABEL, HOSTNAME, MIGRATION_JOB_LABEL, Vmim
from trimtab.kube.resources import Key
from trimtab.kube.virtual_machines import (
    CPU_CONSUMPTION,
    DOMAIN,
    LAUNCHER_LABEL,
    LOAD,
    MEMORY_CONSUMPTION,
    MIGRATION_LABEL,
    Load,
    VirtualMachine,
    decode_load,
    is_launcher,
)
from trimtab.model.load.curve import Constant, value_at
from trimtab.model.nodes_and_vms import REFERENCE_CPU, REFERENCE_MEMORY
from trimtab.model.snapshot import USE_NOT_KNOWN, NextPod, SnapshotVm
from trimtab.observe import wire
from trimtab.observe.objects import pod_of
from trimtab.prom.client import Prometheus, Sample

_DEMAND = (
    "sum by (namespace, name) (rate(kubevirt_vmi_cpu_usage_seconds_total[5m]))"
    " + (sum by (namespace, name) (rate(kubevirt_vmi_vcpu_delay_seconds_total[5m]))"
    " or sum by (namespace, name) (rate(kubevirt_vmi_cpu_usage_seconds_total[5m])) * 0)"
)
_RESIDENT = "max by (namespace, name) (kubevirt_vmi_memory_resident_bytes)"
_DIRTY = "max by (namespace, name) (max_over_time(kubevirt_vmi_dirty_rate_bytes_per_second[30m]))"
FROM_METRICS = "KubeVirt's metrics in Prometheus, over the last 5 minutes"
FROM_PODS = "the annotations of the VMs' pods"
_OF_ONE_MIGRATION = (HOSTNAME, COOL_LABEL)
"""Conditions on a target that stay on the pod of a directed migration."""


class Demand(Struct, frozen=True):
    """What a VM uses and waits for: cores, bytes, bytes a second."""

    cpu: float
    memory: float
    dirty_rate: float | None = None


async def demands_from_metrics(prometheus: Prometheus) -> dict[Key, Demand]:
    """All VMs that KubeVirt's metrics know, or none."""
    try:
        cpu = _by_vm(await prometheus.instant(_DEMAND))
        if not cpu:
            return {}
        memory = _by_vm(await prometheus.instant(_RESIDENT))
        dirty = _by_vm(await prometheus.instant(_DIRTY))
    except TrimtabError:
        return {}
    return {key: Demand(cpu[key], memory[key], dirty.get(key)) for key in cpu if key in memory}


def _by_vm(samples: Sequence[Sample]) -> dict[Key, float]:
    return {
        Key(each.labels.get("namespace", ""), each.labels.get("name", "")): each.value
        for each in samples
    }


def load_from_pod(annotations: Mapping[str, str]) -> Load | None:
    """Size and use of the VM, as the pod's own annotations say; None if they do not."""
    try:
        if LOAD in annotations:
            return decode_load(annotations[LOAD])
        return Load(
            float(REFERENCE_CPU),
            float(REFERENCE_MEMORY),
            Constant(float(annotations[CPU_CONSUMPTION])),
            Constant(float(annotations[MEMORY_CONSUMPTION])),
        )
    except (KeyError, ValueError, msgspec.MsgspecError):
        return None


def demand_from_pod(annotations: Mapping[str, str], clock: Clock, now: float) -> Demand | None:
    """The same at a moment."""
    load, at = load_from_pod(annotations), clock.lab_s(now)
    if load is None:
        return None
    return Demand(value_at(load.cpu, at) * load.cores, value_at(load.memory, at) * load.bytes)


NOT_LIVE_MIGRATABLE = "it is not live-migratable"


class Fate(Struct, frozen=True):
    """What a VM's own object says: which pod is active, why it cannot move, whether it moves."""

    active: str
    """The active pod's name, or the node it is on."""
    not_movable: str = ""
    migration: str = ""
    """The migration under way, as the label of its target pod names it."""
    selector: Mapping[str, str] | None = None
    """The VM's own node selector; None for our VMs, which have no rules of their own."""


def own_fates(vms: Iterable[VirtualMachine]) -> dict[Key, Fate]:
    """VirtualMachines of trimtab.dev by namespace and name."""
    return {
        vm.metadata.key: Fate(vm.status.pod_name, _own_reason(vm), vm.status.migration_name)
        for vm in vms
    }


def _own_reason(vm: VirtualMachine) -> str:
    if not vm.spec.running:
        return "it is being stopped"
    if not vm.spec.live_migratable:
        return NOT_LIVE_MIGRATABLE
    if vm.status.evacuation_node_name:
        return "it is marked for evacuation already"
    if vm.status.migration_name:
        return "it migrates already"
    return ""


def kubevirt_fates(
    instances: Iterable[wire.Instance], migrations: Iterable[Vmim]
) -> dict[Key, Fate]:
    """VirtualMachineInstances of KubeVirt by namespace and name."""
    under_way = {each.vmi_key: each.metadata.uid for each in migrations if not each.finished}
    return {
        each.metadata.key: Fate(
            each.status.node_name,
            _kubevirt_reason(each, each.metadata.key in under_way),
            under_way.get(each.metadata.key, ""),
            selector=each.spec.node_selector,
        )
        for each in instances
    }


def _kubevirt_reason(instance: wire.Instance, migrates: bool) -> str:
    for condition in instance.status.conditions:
        if condition.type == "LiveMigratable" and condition.status == "False":
            why = condition.message or condition.reason
            return f"it is not live-migratable: {why}" if why else "it is not live-migratable"
        if condition.type == "EvictionRequested" and condition.status == "True":
            return "somebody asked for its eviction already"
    if instance.status.evacuation_node_name:
        return "it is marked for evacuation already"
    return "it migrates already" if migrates else ""


def runs_a_vm(labels: Mapping[str, str]) -> bool:
    """Whether these are the labels of a virt-launcher pod, KubeVirt's or ours."""
    label, value = LAUNCHER_LABEL
    return labels.get(label) == value or is_launcher(labels)


def snapshot_vms(
    pods: Iterable[wire.Pod],
    fates: Mapping[Key, Fate],
    measured: Mapping[Key, Demand],
    clock: Clock,
    now: float,
) -> tuple[tuple[SnapshotVm, ...], str]:
    """The VMs that run, each by its active pod, and where their demands come from."""
    found, from_pods = [], False
    launchers = [(key_of(pod), pod) for pod in pods if _is_placed(pod)]
    targets = {key: pod for key, pod in launchers if _is_target(pod, fates.get(key))}
    for key, pod in launchers:
        fate = fates.get(key)
        if fate is not None and not _is_active(pod, fate):
            continue  # a migration's target, or what is left of its source
        demand = measured.get(key)
        if demand is None:
            demand = demand_from_pod(pod.metadata.annotations, clock, now)
            from_pods |= demand is not None
        vm = _vm(key, pod.metadata.uid, demand, fate)
        found.append(vm if fate is None else _heading(vm, pod, fate, targets.get(key)))
    source = FROM_METRICS if measured else FROM_PODS if from_pods else ""
    return tuple(found), source


def key_of(pod: wire.Pod) -> Key:
    """The VM of a launcher pod."""
    meta = pod.metadata
    return Key(meta.namespace, meta.annotations.get(DOMAIN) or meta.labels.get(DOMAIN, ""))


def _is_placed(pod: wire.Pod) -> bool:
    """Whether it is a launcher that has a node and is not on its way out."""
    over = pod.status.phase in ("Succeeded", "Failed") or pod.metadata.deletion_timestamp
    return runs_a_vm(pod.metadata.labels) and bool(pod.spec.node_name) and not over


def _is_active(pod: wire.Pod, fate: Fate) -> bool:
    return fate.active in ("", pod.metadata.name, pod.spec.node_name)


def _is_target(pod: wire.Pod, fate: Fate | None) -> bool:
    """Whether the VM's migration under way brings it into this pod."""
    if fate is None or not fate.migration or _is_active(pod, fate):
        return False
    labels = pod.metadata.labels
    return fate.migration in (labels.get(MIGRATION_JOB_LABEL), labels.get(MIGRATION_LABEL))


def _heading(vm: SnapshotVm, pod: wire.Pod, fate: Fate, target: wire.Pod | None) -> SnapshotVm:
    """The VM with what is known of its next pod, and of the one that it is moving to."""
    vm = replace(vm, next_pod=_next_pod(pod, fate))
    if target is None:
        return vm
    return replace(vm, moving_to=target.spec.node_name, target_pod_uid=target.metadata.uid)


def _next_pod(pod: wire.Pod, fate: Fate) -> NextPod | None:
    """What the VM's next pod will not ask for any more, or None if nothing changes.

    Our first pods are bound to their first node by affinity; KubeVirt's pods keep what a
    directed migration asked of its target. Neither is a rule of the VM.
    """
    affinity, selector = pod_of(pod).node_affinity, dict(pod.spec.node_selector)
    if fate.selector is None:
        return NextPod(selector) if affinity is not None else None
    free = {
        label: value
        for label, value in selector.items()
        if label not in _OF_ONE_MIGRATION or label in fate.selector
    }
    return NextPod(free, affinity) if free != selector else None


def _vm(key: Key, pod_uid: str, demand: Demand | None, fate: Fate | None) -> SnapshotVm:
    reason = fate.not_movable if fate else ""
    if demand is None:
        return SnapshotVm(key.namespace, key.name, pod_uid, not_movable=reason or USE_NOT_KNOWN)
    return SnapshotVm(
        key.namespace,
        key.name,
        pod_uid,
        cpu=f"{demand.cpu:.9g}",
        memory=f"{demand.memory:.0f}",
        dirty_rate="" if demand.dirty_rate is None else f"{demand.dirty_rate:.0f}",
        not_movable=reason,
    )
