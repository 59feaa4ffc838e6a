"""The status of a VM: what is written to it, and that it says the same when nothing changed."""

from datetime import datetime

from msgspec import structs, to_builtins

from trimtab.kube.resources import Condition, Free, Pod
from trimtab.kube.virtual_machines import MigrationStatus, Phase, VirtualMachine, VmStatus
from trimtab.model.nodes_and_vms import Vm
from trimtab.vm.amounts import allocated, percents, used_amounts
from trimtab.vm.decide.situation import is_running
from trimtab.vm.launcher import pod_name

LOST = "PodLost"
RECREATING = "Recreating"
_ABSENCES = (LOST, RECREATING)


def next_incarnation(
    vm: VirtualMachine, now: datetime, reason: str, message: str, *, migration: str = ""
) -> VmStatus:
    """The status that names the VM's next pod: written before the pod is created."""
    incarnation = vm.status.incarnation + 1
    ready = condition(vm, "Ready", "False", reason, message, now)
    return structs.replace(
        vm.status,
        phase="Pending",
        pod_name=pod_name(vm, incarnation),
        node_name="",
        incarnation=incarnation,
        migration_name=migration,
        conditions=(ready, *others(vm, "Ready")),
    )


def following(
    vm: VirtualMachine, machine: Vm, pod: Pod | None, migration: str, now: datetime
) -> VmStatus:
    """The status of a VM whose active pod is as it is; `migration` is the one under way."""
    cpu_percent, memory_percent = percents(machine)
    return structs.replace(
        vm.status,
        phase=phase_of(pod, migration),
        node_name=pod.spec.node_name if pod else "",
        migration_name=migration,
        allocated=allocated(machine),
        used=used_amounts(machine),
        cpu_percent=cpu_percent,
        memory_percent=memory_percent,
        conditions=(readiness(vm, pod, now), migratability(vm, now)),
        observed_generation=vm.metadata.generation,
    )


def stopped(vm: VirtualMachine, machine: Vm, now: datetime) -> VmStatus:
    ready = condition(vm, "Ready", "False", "Stopped", "spec.running is false", now)
    return structs.replace(
        following(vm, machine, None, "", now),
        phase="Stopped",
        pod_name="",
        conditions=(ready, migratability(vm, now)),
    )


def refused(vm: VirtualMachine, problem: str, now: datetime) -> VmStatus:
    """A spec that no pod can be made from; a pod that runs already stays as it is."""
    ready = condition(vm, "Ready", "False", "InvalidSpec", problem, now)
    return structs.replace(
        vm.status,
        phase=vm.status.phase if vm.status.node_name else "Failed",
        conditions=(ready, *others(vm, "Ready")),
        observed_generation=vm.metadata.generation,
    )


def phase_of(pod: Pod | None, migration: str) -> Phase:
    if pod is None:
        return "Pending"
    if not pod.spec.node_name:
        return "Scheduling"
    if not is_running(pod):
        return "Scheduled"
    return "Migrating" if migration else "Running"


def readiness(vm: VirtualMachine, pod: Pod | None, now: datetime) -> Condition:
    if is_running(pod):
        return condition(vm, "Ready", "True", "Running", "", now)
    before = find(vm, "Ready")
    absent = before is not None and before.status == "False" and before.reason in _ABSENCES
    reason = before.reason if before is not None and absent else "Starting"
    message = unschedulable(pod) if pod else before.message if before else ""
    return condition(vm, "Ready", "False", reason, message, now)


def unschedulable(pod: Pod) -> str:
    """Why the scheduler does not place a pod; empty if it did or has not tried."""
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.reason == "Unschedulable":
            return each.message
    return ""


def migratability(vm: VirtualMachine, now: datetime) -> Condition:
    if vm.spec.live_migratable:
        return condition(vm, "LiveMigratable", "True", "Migratable", "", now)
    reason = "NotMigratable"
    return condition(vm, "LiveMigratable", "False", reason, "spec.liveMigratable is false", now)


def condition(
    vm: VirtualMachine, kind: str, status: str, reason: str, message: str, now: datetime
) -> Condition:
    """One condition of each kind, whose time moves only when its status does."""
    before = find(vm, kind)
    same = before is not None and before.status == status
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message[:1024],
        last_transition_time=before.last_transition_time if before and same else now,
        observed_generation=vm.metadata.generation,
    )


def find(vm: VirtualMachine, kind: str) -> Condition | None:
    return next((each for each in vm.status.conditions if each.type == kind), None)


def others(vm: VirtualMachine, kind: str) -> tuple[Condition, ...]:
    return tuple(each for each in vm.status.conditions if each.type != kind)


def absence_ended(vm: VirtualMachine, after: VmStatus) -> datetime | None:
    """Since when a VM had been without a running pod, if `after` says that it has one again."""
    before = find(vm, "Ready")
    now_ready = any(each.type == "Ready" and each.status == "True" for each in after.conditions)
    if before is None or before.status == "True" or before.reason not in _ABSENCES:
        return None
    return before.last_transition_time if now_ready else None


def applied(status: VmStatus) -> Free:
    """What we apply: everything but the mark, which belongs to the webhook."""
    fields: Free = to_builtins(structs.replace(status, evacuation_node_name=""))
    return fields | {
        "incarnation": status.incarnation,
        "cpuPercent": status.cpu_percent,
        "memoryPercent": status.memory_percent,
        "observedGeneration": status.observed_generation,
    }


def applied_migration(status: MigrationStatus) -> Free:
    fields: Free = to_builtins(status)
    return fields | {"attempts": status.attempts}
