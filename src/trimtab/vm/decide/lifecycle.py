"""What to do next about a VM: a list of rules, the first that has something to do decides.

Every rule looks at the whole situation and never at what happened, so it does not matter
which write was the last one before the process died: the next turn goes on from there.
"""

from collections.abc import Iterable

from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.kube.resources import Pod
from trimtab.kube.virtual_machines import INITIAL_NODE
from trimtab.model.nodes_and_vms import Vm
from trimtab.vm.amounts import machine
from trimtab.vm.decide.evacuation import cancel, clear_stale_mark, evacuate
from trimtab.vm.decide.eviction import FINISHED_PHASES
from trimtab.vm.decide.finished_migrations import adopt, forget_oldest
from trimtab.vm.decide.migration import (
    accept,
    advance,
    end_all,
    finished,
    is_recreating,
    settle_cut_over,
    start,
    unmark_recreated,
    wanted_placement,
)
from trimtab.vm.decide.situation import VmSituation, is_leaving, is_over, named, owner_uid
from trimtab.vm.decide.steps import (
    ClearMark,
    CreatePod,
    DecideAgain,
    DeletePod,
    EventNote,
    Lose,
    PatchPod,
    Rest,
    Step,
    Wait,
    WriteVmStatus,
)
from trimtab.vm.decide.stopped_or_deleted import STOPPED, Rule, gone, refuse, removed
from trimtab.vm.launcher import Placement, desired_pod, metadata_change
from trimtab.vm.status import LOST, condition, following, next_incarnation, others

RESTART_S, LONGEST_RESTART_S = 10.0, 300.0
OVERDUE_S = 5.0


def next_step(s: VmSituation) -> Step:
    """The one thing to do now."""
    if s.vm is None:
        return gone(s)
    if s.vm.metadata.deletion_timestamp is not None:
        return removed(s)
    try:
        size = machine(s.vm)
    except ConfigError as error:
        return refuse(s, str(error))
    return _first(RUNNING if s.vm.spec.running else STOPPED, s, size)


def _first(rules: Iterable[Rule], s: VmSituation, size: Vm) -> Step:
    """What the first rule wants that does not merely wait; otherwise the shortest wait."""
    waits: list[float] = []
    for rule in rules:
        step = rule(s, size)
        if isinstance(step, Wait):
            waits.append(step.seconds)
        elif step is not None:
            return step
    return Wait(min(waits)) if waits else Rest()


def intend(s: VmSituation, _: Vm) -> Step | None:
    """Name the first pod before there is one."""
    if s.status.pod_name:
        return None
    return WriteVmStatus(next_incarnation(s.the_vm, s.now, "Starting", ""))


def replace_lost(s: VmSituation, _: Vm) -> Step | None:
    """A pod that failed, ended, was deleted or vanished: the VM gets another one."""
    why = loss(s)
    if not isinstance(why, str):
        return why
    if mark := s.status.evacuation_node_name:
        return ClearMark(mark)
    if s.current is not None:
        return end_all(s, f"the VM's pod was lost: {why}")
    note = f"pod {s.status.pod_name} on node {s.status.node_name or '(none)'} is lost: {why}"
    status = next_incarnation(s.the_vm, s.now, LOST, note)
    return Lose(status, (EventNote("PodLost", note, warning=True, pod=s.active),))


def loss(s: VmSituation) -> str | DecideAgain | None:
    """Why the active pod is lost, or None if it is not."""
    pod = s.active
    if pod is not None:
        if is_leaving(pod):
            return "it is being deleted"
        if is_over(pod):
            return pod.status.message or f"it has {pod.status.phase.lower()}"
        return None
    if named(s.pods, s.status.pod_name) is not None:
        return "another one has its name"
    if s.status.phase == "Pending":
        return None
    return "it is gone" if s.checked else DecideAgain("the active pod is not in the store")


def remove_orphans(s: VmSituation, _: Vm) -> Step | None:
    """Pods of ours that are neither active nor a target, and those of an earlier VM."""
    target = s.target
    keep = {s.status.pod_name, target.metadata.name if target else ""}
    for pod in s.pods:
        if is_leaving(pod) or not (uid := owner_uid(pod)) or pod.metadata.name in keep:
            continue
        if not (s.checked or _is_certainly_old(s, pod)):
            return DecideAgain("a pod is neither active nor a target")
        earlier = "" if uid == s.the_vm.metadata.uid else " of an earlier VM of that name"
        note = f"pod {pod.metadata.name}{earlier} is not the active one"
        return DeletePod(pod, (EventNote("PodRemoved", note, pod=pod),))
    return None


def _is_certainly_old(s: VmSituation, pod: Pod) -> bool:
    """Pods are named in the VM before they are created, and no name returns.

    So a copy of the VM that is younger than the pod would name it if it were wanted. Without
    this every migration would cost three reads more.
    """
    vm = s.the_vm
    younger = int(vm.metadata.resource_version or 0) >= int(pod.metadata.resource_version or 0)
    ours = owner_uid(pod) == vm.metadata.uid
    return ours and younger and not s.status.migration_name


def create_active(s: VmSituation, size: Vm) -> Step | None:
    """Create the pod that the status names, once the one before it has left."""
    if s.active is not None or s.status.phase != "Pending":
        return None
    delay = restart_delay_s(s)
    leaving = [_leaves_in_s(s, pod) for pod in s.owned if pod.status.phase not in FINISHED_PHASES]
    if wait := max([delay, *leaving], default=0.0):
        return Wait(wait) if wait > 0 else None
    vm, name = s.the_vm, s.status.pod_name
    pod = desired_pod(vm, size, name, s.settings, s.clock, placement=_placement(s))
    return CreatePod(pod, news=(EventNote("PodCreated", f"pod {name} is created"),))


def restart_delay_s(s: VmSituation) -> float:
    """The first loss is made good at once; the next ones ever later."""
    if s.losses.count < 2:
        return 0.0
    lab_s = min(RESTART_S * 2.0 ** (s.losses.count - 2), LONGEST_RESTART_S)
    return max(0.0, s.left_s(s.losses.at, lab_s))


def _leaves_in_s(s: VmSituation, pod: Pod) -> float:
    """A pod that is still there long after its time is on a lost node: it is not waited for."""
    leaves = pod.metadata.deletion_timestamp
    return max(0.0, (leaves - s.now).total_seconds() + OVERDUE_S) if leaves else 0.0


def _placement(s: VmSituation) -> Placement:
    if is_recreating(s):
        return wanted_placement(s)
    node = s.the_vm.metadata.annotations.get(INITIAL_NODE, "")
    return Placement(only=node) if s.status.incarnation == 1 else Placement()


def pod_refused(s: VmSituation, message: str, *, target: bool) -> Step | None:
    """A pod that the API server refuses: a target ends its migration, else the VM says so.

    None: it says so already.
    """
    if target and s.current is not None:
        return finished(s, s.current, "Failed", f"the target pod was refused: {message}")
    ready = condition(s.the_vm, "Ready", "False", "PodRefused", message, s.now)
    status = structs.replace(s.status, conditions=(ready, *others(s.the_vm, "Ready")))
    return WriteVmStatus(status) if status != s.status else None


def name_taken(s: VmSituation, name: str, *, target: bool) -> Step:
    """A pod of somebody else's is called `name`: the VM takes its next name."""
    if target and s.current is not None:
        return finished(s, s.current, "Failed", "another pod has the target's name")
    return WriteVmStatus(next_incarnation(s.the_vm, s.now, LOST, f"another pod is called {name}"))


def follow(s: VmSituation, size: Vm) -> Step | None:
    """The status says what the active pod is."""
    name = s.status.migration_name
    if name and s.current is None:
        if not s.checked and named(s.migrations, name) is None:
            return DecideAgain("the migration under way is not in the store")
        name = ""
    status = following(s.the_vm, size, s.active, name, s.now)
    if status == s.status:
        return None
    started = status.phase == "Running" and s.status.phase not in ("Running", "Migrating")
    node = status.node_name
    news = (EventNote("Started", f"the VM runs on node {node}", pod=s.active),) if started else ()
    return WriteVmStatus(status, news)


def update_pod_metadata(s: VmSituation, size: Vm) -> Step | None:
    """Labels and annotations of the active pod and of the target."""
    current = s.current
    pods = [(s.active, ""), (s.target, current.metadata.name if current else "")]
    for pod, migration in pods:
        if pod is None or is_leaving(pod):
            continue
        if change := metadata_change(pod, s.the_vm, size, s.settings, migration=migration):
            return PatchPod(pod, change)
    return None


RUNNING: tuple[Rule, ...] = (
    settle_cut_over,
    intend,
    replace_lost,
    unmark_recreated,
    remove_orphans,
    create_active,
    follow,
    cancel,
    clear_stale_mark,
    update_pod_metadata,
    advance,
    lambda s, _: adopt(s),
    accept,
    start,
    evacuate,
    lambda s, _: forget_oldest(s),
)
