"""A migration from its acceptance to its end.

Live: the VM names the attempt, the attempt names its target pod, the pod is created, runs and
is filled; then one write to the VM's status makes it the active one, and the source goes.
Recreate: the VM names its new pod at once, the source goes, the new pod is created. Either
way every write follows from those before it, so a new process goes on where one died.
"""

from msgspec import structs

from trimtab.kube.virtual_machines import MigrationStatus, VirtualMachineMigration
from trimtab.model.nodes_and_vms import Vm
from trimtab.virt.migration_backoff import PENDING_S, UNSCHEDULABLE_S
from trimtab.vm.decide.finished_migrations import attempt_number, is_evacuation
from trimtab.vm.decide.situation import VmSituation, by_age, is_over, is_running, named
from trimtab.vm.decide.steps import (
    ClearMark,
    CreatePod,
    DecideAgain,
    EventNote,
    Outcome,
    Start,
    Step,
    Wait,
    WriteMigration,
    WriteVmStatus,
)
from trimtab.vm.launcher import Placement, desired_pod, pod_name
from trimtab.vm.status import RECREATING, following, next_incarnation, unschedulable


def is_recreating(s: VmSituation) -> bool:
    """Whether the migration under way has its new pod as the active one already.

    A live one gives the next incarnation to its target, so there the names differ.
    """
    return s.current is not None and s.status.pod_name == pod_name(s.the_vm, s.status.incarnation)


def wanted_placement(s: VmSituation) -> Placement:
    """Where the pod of the migration under way may go."""
    current = s.current
    assert current is not None
    wish, source = current.spec.target_node, current.status.source_node
    avoid = "" if is_recreating(s) else source
    if current.spec.force:
        return Placement(avoid=avoid, only=wish)
    return Placement(avoid=avoid, rather="" if wish == avoid else wish)


# Ends


def finished(
    s: VmSituation,
    migration: VirtualMachineMigration,
    outcome: Outcome,
    reason: str = "",
    *,
    target: str = "",
) -> WriteMigration:
    """The last write to a migration."""
    status = structs.replace(
        migration.status,
        phase=outcome,
        reason=reason[:1024],
        completion_time=s.now,
        target_node=target or migration.status.target_node,
        attempts=max(1, migration.status.attempts),
    )
    return WriteMigration(migration, status, (_news(migration, status),))


def _news(migration: VirtualMachineMigration, status: MigrationStatus) -> EventNote:
    name = migration.metadata.name
    if status.phase == "Succeeded":
        way = f"from node {status.source_node} to node {status.target_node}"
        return EventNote("Migrated", f"migration {name} moved the VM {way}")
    text = f"migration {name}: {status.reason}"
    return EventNote(f"Migration{status.phase}", text, warning=status.phase == "Failed")


def end_all(s: VmSituation, reason: str) -> WriteMigration | None:
    """End one more unfinished migration: its VM is lost, stopped or gone.

    A failure delays the next attempt, so what nobody is to blame for is a cancellation.
    """
    for migration in by_age(s.unfinished):
        blameless = is_evacuation(migration) and not reason.startswith("the VM's pod was lost")
        return finished(s, migration, "Cancelled" if blameless else "Failed", reason)
    return None


def settle_cut_over(s: VmSituation, _: Vm) -> Step | None:
    """The VM is where a live migration led it: the mark goes, then the migration is over."""
    for migration in s.unfinished:
        status = migration.status
        if status.phase != "PreCopy" or status.target_pod != s.status.pod_name:
            continue
        mark = s.status.evacuation_node_name
        if mark and mark == status.source_node:
            return ClearMark(mark)
        return finished(s, migration, "Succeeded")
    return None


def unmark_recreated(s: VmSituation, _: Vm) -> Step | None:
    """A recreated VM has been evacuated even if the scheduler sends it back to its node."""
    mark, placed = s.status.evacuation_node_name, s.active and s.active.spec.node_name
    return ClearMark(mark) if mark and not placed and is_recreating(s) else None


# Before it begins


def accept(s: VmSituation, _: Vm) -> Step | None:
    """Say Pending to a new migration, and no to one that can never begin."""
    node = s.active.spec.node_name if s.active else ""
    for migration in by_age(s.unfinished):
        if migration.metadata.name == s.status.migration_name:
            continue
        if problem := _impossible(s, migration, node):
            return finished(s, migration, "Failed", problem)
        attempts = attempt_number(s, migration)
        waiting = MigrationStatus(phase="Pending", source_node=node, attempts=attempts)
        if migration.status != waiting:
            return WriteMigration(migration, waiting)
    return None


def _impossible(s: VmSituation, migration: VirtualMachineMigration, node: str) -> str:
    if migration.status.target_pod:
        return "the VM went on without it"
    if not s.the_vm.spec.live_migratable:
        return f'VM "{s.key}" is not live-migratable'
    if migration.spec.force and node and migration.spec.target_node == node:
        return f'VM "{s.key}" is on node {node} already'
    return ""


def start(s: VmSituation, _: Vm) -> Step | None:
    """Begin the VM's next migration: what somebody asked for rather than an evacuation.

    KubeVirt has only one at a time. Slots are another matter: there evacuations go first.
    """
    pod, vm = s.active, s.the_vm
    if s.status.migration_name or pod is None or not is_running(pod):
        return None
    waiting = [m for m in by_age(s.unfinished) if m.status.phase == "Pending"]
    chosen = min(waiting, key=is_evacuation, default=None)
    if chosen is None:
        return None
    name, node = chosen.metadata.name, pod.spec.node_name
    if s.settings.mode == "recreate":
        status = next_incarnation(vm, s.now, RECREATING, f"migration {name}", migration=name)
    else:
        status = structs.replace(
            s.status, phase="Migrating", migration_name=name, incarnation=s.status.incarnation + 1
        )
    note = f"migration {name} takes the VM away from node {node}"
    return Start(chosen, node, status, (EventNote("Migrating", note, pod=pod),))


# While it runs


def advance(s: VmSituation, size: Vm) -> Step | None:
    """The next step of the migration under way."""
    current = s.current
    if current is None:
        return None
    if not current.status.target_pod:
        name = pod_name(s.the_vm, s.status.incarnation)
        status = structs.replace(
            current.status,
            phase="Scheduling",
            target_pod=name,
            start_time=s.now,
            attempts=max(1, current.status.attempts),
        )
        return WriteMigration(current, status)
    if is_recreating(s):
        return _recreate(s, current)
    if current.status.phase == "PreCopy":
        return _copy(s, size, current)
    return _schedule(s, size, current)


def _recreate(s: VmSituation, current: VirtualMachineMigration) -> Step | None:
    pod = s.active
    if pod is None:
        return None  # it is about to be created
    if is_running(pod):
        return finished(s, current, "Succeeded", target=pod.spec.node_name)
    return _overdue(s, current)


def _schedule(s: VmSituation, size: Vm, current: VirtualMachineMigration) -> Step:
    vm, status, pod = s.the_vm, current.status, s.target
    if pod is None:
        if named(s.pods, status.target_pod) is not None:
            return finished(s, current, "Failed", "another pod has the target's name")
        new = desired_pod(
            vm,
            size,
            status.target_pod,
            s.settings,
            s.clock,
            placement=wanted_placement(s),
            migration=current.metadata.name,
        )
        return CreatePod(new, target=True)
    if is_over(pod):
        return finished(s, current, "Failed", "the target pod was lost")
    if not is_running(pod):
        return _overdue(s, current)
    node = pod.spec.node_name
    copying = structs.replace(status, phase="PreCopy", target_node=node, precopy_start_time=s.now)
    return WriteMigration(current, copying)


def _overdue(s: VmSituation, current: VirtualMachineMigration) -> Step:
    """Fail when the pod is not placed or does not run for too long; otherwise wait for it."""
    pod = s.pod(current.status.target_pod)
    why = unschedulable(pod) if pod else ""
    limit_s = UNSCHEDULABLE_S if why else PENDING_S
    left_s = s.left_s(current.status.start_time, limit_s)
    if left_s > 0:
        return Wait(left_s)
    problem = f"no node for the target pod: {why}" if why else "the target pod does not run"
    return finished(s, current, "Failed", problem)


def _copy(s: VmSituation, size: Vm, current: VirtualMachineMigration) -> Step:
    pod = s.target
    if pod is None and not s.checked:
        return DecideAgain("the target pod is not in the store")
    if pod is None or is_over(pod):
        return finished(s, current, "Failed", "the target pod was lost")
    if s.precopy is None or s.precopy.ends_in_s > 0:
        return Wait(s.precopy.ends_in_s if s.precopy else 1.0)
    if not s.precopy.in_time:
        return finished(s, current, "Failed", "copying the memory took too long")
    return cut_over(s, size)


def cut_over(s: VmSituation, size: Vm) -> WriteVmStatus:
    """The one write that makes the target the active pod."""
    pod = s.target
    assert pod is not None
    status = structs.replace(following(s.the_vm, size, pod, "", s.now), pod_name=pod.metadata.name)
    note = f"the VM runs on node {pod.spec.node_name}"
    return WriteVmStatus(status, (EventNote("CutOver", note, pod=pod),))
