"""What one pod adds to its node: a pure reading of the pod and, if there is one, its VM.

Amounts are integers of 1e-9 of the reference node (32 cores, 128 GiB), so that adding and
taking away never drifts. A VM that migrates has two pods: its memory is on both nodes while it
is copied, its CPU runs where the active pod is.
"""

import math
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from trimtab.errors import ConfigError
from trimtab.exporter.nodes.wire import InstanceObject, Launcher, MachineObject
from trimtab.kube.resources import Key
from trimtab.kube.virtual_machines import (
    CPU_CONSUMPTION,
    LOAD,
    MEMORY_CONSUMPTION,
    Load,
    decode_load,
)
from trimtab.model.load.curve import check_curve, levels, value_at
from trimtab.model.nodes_and_vms import REFERENCE_CPU, REFERENCE_MEMORY

UNIT = 10**9
CORES, BYTES = float(REFERENCE_CPU), float(REFERENCE_MEMORY)
LONGEST_LABEL = 63
_MOST = 1000.0
"""No pod uses a thousand reference nodes; a larger number is a mistake in the annotation."""


class Amounts(NamedTuple):
    """CPU and memory in integer units."""

    cpu: int = 0
    memory: int = 0

    def plus(self, other: "Amounts") -> "Amounts":
        return Amounts(self.cpu + other.cpu, self.memory + other.memory)


class PodRole(Enum):
    """What a pod is to its VM."""

    ACTIVE = "active"
    LEAVING = "leaving"
    """Active, and about to be left: the VM is marked for evacuation or migrates."""
    ARRIVING = "arriving"
    """The target of the migration under way: it holds a copy of the memory, nothing runs."""
    DEPARTED = "departed"
    """The VM runs elsewhere; this pod is about to be removed."""


class PodContribution(NamedTuple):
    """A pod's share in its node; a `load` replaces `fixed` by curves over time."""

    node: str
    vm: Key
    role: PodRole = PodRole.ACTIVE
    fixed: Amounts = Amounts()
    load: Load | None = None

    @property
    def runs(self) -> bool:
        """Whether the VM runs here, and is counted here."""
        return self.role in (PodRole.ACTIVE, PodRole.LEAVING)

    @property
    def carries_memory(self) -> bool:
        """Whether the VM's memory, or a copy of it, is here."""
        return self.role is not PodRole.DEPARTED

    def at(self, time: float) -> Amounts:
        """What its node carries of it at a moment of curve time."""
        return self.seen(self.whole(time))

    def whole(self, time: float) -> Amounts:
        """What its VM uses at a moment of curve time, wherever that is carried."""
        if self.load is None:
            return self.fixed
        load = self.load
        return scaled(load, value_at(load.cpu, time), value_at(load.memory, time))

    def seen(self, amounts: Amounts) -> Amounts:
        """The part of the VM's use that is on this pod's node."""
        return Amounts(
            amounts.cpu if self.runs else 0, amounts.memory if self.carries_memory else 0
        )


class BadAnnotation(ValueError):
    """A pod's annotation that says nothing usable; the pod counts as a VM without use."""


def counts(pod: Launcher) -> bool:
    """Whether a pod uses its node at all: placed, not finished, not on its way out."""
    return (
        bool(pod.spec.node_name)
        and pod.status.phase not in ("Succeeded", "Failed")
        and pod.metadata.deletion_timestamp is None
    )


def contribution(pod: Launcher, vm: MachineObject | InstanceObject | None) -> PodContribution:
    """What a pod that counts adds; raises BadAnnotation where its use cannot be read."""
    load, fixed = None, Amounts()
    if (text := pod.metadata.annotations.load) is not None:
        load = _load(text)
    else:
        annotations = pod.metadata.annotations
        fixed = Amounts(
            _fraction(annotations.cpu, CPU_CONSUMPTION),
            _fraction(annotations.memory, MEMORY_CONSUMPTION),
        )
    return PodContribution(pod.spec.node_name, pod.vm, role(pod, vm), fixed, load)


def without_use(pod: Launcher, vm: MachineObject | InstanceObject | None) -> PodContribution:
    """What a pod with unreadable annotations adds: one VM, no use."""
    return PodContribution(pod.spec.node_name, pod.vm, role(pod, vm))


def role(pod: Launcher, vm: MachineObject | InstanceObject | None) -> PodRole:
    """A pod whose VM is not known, or knows no pod yet, stands for itself."""
    if isinstance(vm, InstanceObject):
        return _role_in_instance(pod, vm)
    if vm is None or not vm.status.pod_name:
        return PodRole.ACTIVE
    status = vm.status
    if status.pod_name == pod.metadata.name:
        marked = status.evacuation_node_name == pod.spec.node_name
        return PodRole.LEAVING if marked or status.phase == "Migrating" else PodRole.ACTIVE
    migration = status.migration_name[:LONGEST_LABEL].rstrip("-._")
    arriving = migration and pod.metadata.labels.migration == migration
    return PodRole.ARRIVING if arriving else PodRole.DEPARTED


def _role_in_instance(pod: Launcher, vmi: InstanceObject) -> PodRole:
    """KubeVirt's VMI names its node; a migration's target pod names the migration."""
    status, state = vmi.status, vmi.status.migration_state
    labels = pod.metadata.labels
    if labels.created_by != vmi.metadata.uid:
        return PodRole.DEPARTED
    moving = state is not None and not state.ended
    if pod.spec.node_name == status.node_name or not status.node_name:
        marked = bool(status.node_name) and status.evacuation_node_name == status.node_name
        return PodRole.LEAVING if marked or moving else PodRole.ACTIVE
    over = state is not None and state.ended and state.migration_uid == labels.job
    return PodRole.ARRIVING if labels.job and not over else PodRole.DEPARTED


def scaled(load: Load, cpu: float, memory: float) -> Amounts:
    """Shares of what the VM has, as amounts."""
    return Amounts(
        round(cpu * load.cores / CORES * UNIT), round(memory * load.bytes / BYTES * UNIT)
    )


def _fraction(text: str | None, annotation: str) -> int:
    if text is None:
        raise BadAnnotation(f"{annotation}: it is missing")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _MOST:
        raise BadAnnotation(f"{annotation}: {text!r} is not a share of the reference node")
    return round(value * UNIT)


@lru_cache(maxsize=256)
def _load(text: str) -> Load:
    """Pods with the same text share one object: VMs of a group often follow one curve."""
    try:
        load = decode_load(text)
        for curve, size, reference in (
            (load.cpu, load.cores, CORES),
            (load.memory, load.bytes, BYTES),
        ):
            check_curve(curve, LOAD)
            if not 0 <= size * max(levels(curve)) <= _MOST * reference:
                raise BadAnnotation(f"{LOAD}: it is not a share of the reference node")
    except (msgspec.MsgspecError, ConfigError) as error:
        raise BadAnnotation(f"{LOAD}: {error}") from error
    return load
