"""VMs that are not to run: gone, being deleted, stopped, or with a spec that makes no sense."""

from collections.abc import Callable, Iterable

from msgspec import to_builtins

from trimtab.kube.machines import (
    CANCEL_EVACUATION,
    EVACUATION_LABEL,
    GUARD_LABEL,
    VM_NAME_LABEL,
    VMS,
)
from trimtab.kube.resources import Free, Pod
from trimtab.model.machines import Vm
from trimtab.vm.decide.history import (
    adopt,
    backoff_left_s,
    forget_oldest,
    forget_orphans,
    is_evacuation,
)
from trimtab.vm.decide.migration import end_all, finished
from trimtab.vm.decide.situation import VmSituation, by_age, is_leaving, is_running, owner_uid
from trimtab.vm.decide.steps import (
    ClearMark,
    CreateMigration,
    DecideAgain,
    DeletePod,
    DropCancel,
    EventNote,
    PatchPod,
    Rest,
    Step,
    Wait,
    WriteVmStatus,
)
from trimtab.vm.launcher import label_value, suffix
from trimtab.vm.status import refused, stopped

Rule = Callable[[VmSituation, Vm], Step | None]


def gone(s: VmSituation) -> Step:
    """Its pods lose their guard and go; migrations that wait for it fail.

    A pod without an owner was orphaned on purpose: it only loses the guard.
    """
    left = [pod for pod in s.pods if not is_leaving(pod) and (owner_uid(pod) or _is_bare(pod))]
    if not (s.unfinished or left):
        return forget_oldest(s) or forget_orphans(s) or Rest()
    if not s.checked:
        return DecideAgain("the VM is not in the store")
    return end_all(s, f'there is no VM "{s.key}"') or _let_go(left) or Rest()


def removed(s: VmSituation) -> Step:
    """The VM is still there, until its pods are gone."""
    return end_all(s, "the VM is being deleted") or adopt(s) or _let_go(s.owned) or Rest()


def _is_bare(pod: Pod) -> bool:
    return pod.metadata.controller is None and GUARD_LABEL in pod.metadata.labels


def _let_go(pods: Iterable[Pod]) -> Step | None:
    for pod in pods:
        if is_leaving(pod):
            continue
        if GUARD_LABEL in pod.metadata.labels:
            return PatchPod(pod, {"labels": {GUARD_LABEL: None}})
        return DeletePod(pod)
    return None


def refuse(s: VmSituation, problem: str) -> Step:
    status = refused(s.the_vm, problem, s.now)
    if status == s.status:
        return Rest()
    return WriteVmStatus(status, (EventNote("InvalidSpec", problem, warning=True),))


def _end_migrations(s: VmSituation, _: Vm) -> Step | None:
    return end_all(s, "the VM is stopped")


def _release_pods(s: VmSituation, _: Vm) -> Step | None:
    return _let_go(s.owned)


def _forget_mark(s: VmSituation, _: Vm) -> Step | None:
    mark = s.status.evacuation_node_name
    return ClearMark(mark) if mark else None


def _forget_cancel(s: VmSituation, _: Vm) -> Step | None:
    node = s.the_vm.metadata.annotations.get(CANCEL_EVACUATION)
    return None if node is None else DropCancel(node)


def _stopped(s: VmSituation, size: Vm) -> Step | None:
    status = stopped(s.the_vm, size, s.now)
    if s.owned or status == s.status:
        return None
    return WriteVmStatus(status, (EventNote("Stopped", "the VM is stopped"),))


STOPPED: tuple[Rule, ...] = (
    _end_migrations,
    _release_pods,
    _forget_mark,
    _forget_cancel,
    _stopped,
    lambda s, _: adopt(s),
    lambda s, _: forget_oldest(s),
)


# Evacuations: what a mark leads to, and when it goes.
#
# The webhook sets the mark and nobody else; this side alone clears it, and only when the VM has
# left that node, has lost its pod, is stopped, or was told to stay.
LONGEST = 253 - len("evac--abcde")


def cancel(s: VmSituation, _: Vm) -> Step | None:
    """Somebody wants a marked VM to stay: first the migration ends, then the mark goes."""
    node = s.the_vm.metadata.annotations.get(CANCEL_EVACUATION)
    if node is None:
        return None
    if node != s.status.evacuation_node_name:
        return DropCancel(node)
    for migration in s.unfinished:
        if is_evacuation(migration):
            return finished(s, migration, "Cancelled", "the evacuation was cancelled")
    news = EventNote("EvacuationCancelled", f"the VM stays on node {node}")
    return ClearMark(node, (news,))


def clear_stale_mark(s: VmSituation, _: Vm) -> Step | None:
    """A mark of a node that the VM is not on any more.

    While the active pod is not placed as far as we see, the webhook may have seen more: the
    mark stays.
    """
    mark, node = s.status.evacuation_node_name, s.active.spec.node_name if s.active else ""
    return ClearMark(mark) if mark and node and mark != node else None


def evacuate(s: VmSituation, _: Vm) -> Step | None:
    """A marked VM gets a migration, again and again until one succeeds."""
    mark, pod = s.status.evacuation_node_name, s.active
    if not mark or pod is None or not is_running(pod) or pod.spec.node_name != mark:
        return None
    if s.unfinished or not s.the_vm.spec.live_migratable:
        return None
    if left_s := backoff_left_s(s):
        return Wait(left_s)
    news = EventNote("EvacuationStarted", f"the VM is to leave node {mark}", pod=pod)
    return CreateMigration(migration_for(s), (news,))


def migration_for(s: VmSituation) -> Free:
    """The next attempt; its name follows from what there was before, so it is made only once."""
    vm, name = s.the_vm, s.the_vm.metadata.name
    last = by_age(s.migrations)[-1].metadata.uid if s.migrations else ""
    mark = suffix(vm.metadata.uid, s.status.evacuation_node_name, s.status.incarnation, last)
    return {
        "metadata": {
            "name": f"evac-{name[:LONGEST].rstrip('-.')}-{mark}",
            "namespace": vm.metadata.namespace,
            "labels": {EVACUATION_LABEL: "true", VM_NAME_LABEL: label_value(name)},
            "ownerReferences": [to_builtins(VMS.owner(vm))],
        },
        "spec": {"vmName": name},
    }
