"""VMs that are not to run: stopped, being deleted, gone, or refused because of their spec."""

from collections.abc import Callable, Iterable

from trimtab.kube.resources import Pod
from trimtab.kube.virtual_machines import CANCEL_EVACUATION, GUARD_LABEL
from trimtab.model.nodes_and_vms import Vm
from trimtab.vm.decide.finished_migrations import adopt, forget_oldest, forget_orphans
from trimtab.vm.decide.migration import end_all
from trimtab.vm.decide.situation import VmSituation, is_leaving, owner_uid
from trimtab.vm.decide.steps import (
    ClearMark,
    DecideAgain,
    DeletePod,
    DropCancel,
    EventNote,
    PatchPod,
    Rest,
    Step,
    WriteVmStatus,
)
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
