"""Evacuations: what a mark leads to, when a failed one is tried again, and when the mark goes.

The webhook sets the mark and nobody else; this side alone clears it, and only when the VM has
left that node, has lost its pod, is stopped, or was told to stay. How long a failed one waits
is KubeVirt's rule: virt/migration_backoff.
"""

from msgspec import to_builtins

from trimtab.kube.resources import Free
from trimtab.kube.virtual_machines import CANCEL_EVACUATION, EVACUATION_LABEL, VM_NAME_LABEL, VMS
from trimtab.model.nodes_and_vms import Vm
from trimtab.vm.decide.finished_migrations import backoff_left_s, is_evacuation
from trimtab.vm.decide.migration import finished
from trimtab.vm.decide.situation import VmSituation, by_age, is_running
from trimtab.vm.decide.steps import ClearMark, CreateMigration, DropCancel, EventNote, Step, Wait
from trimtab.vm.launcher import label_value, suffix

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
    """The next attempt, under a name that is known before it is created."""
    vm = s.the_vm
    return {
        "metadata": {
            "name": next_name(s),
            "namespace": vm.metadata.namespace,
            "labels": {EVACUATION_LABEL: "true", VM_NAME_LABEL: label_value(vm.metadata.name)},
            "ownerReferences": [to_builtins(VMS.owner(vm))],
        },
        "spec": {"vmName": vm.metadata.name},
    }


def next_name(s: VmSituation) -> str:
    """It follows from the last migration before, so a controller that died makes it only once.

    Times are whole seconds: a migration of somebody else's may stay the last one although an
    attempt was made after it. That attempt has the name then, and the next one follows from it.
    """
    taken = {each.metadata.name: each.metadata.uid for each in s.migrations}
    last = by_age(s.migrations)[-1].metadata.uid if s.migrations else ""
    while (name := _name_after(s, last)) in taken:
        last = taken.pop(name)
    return name


def _name_after(s: VmSituation, last: str) -> str:
    meta, status = s.the_vm.metadata, s.status
    mark = suffix(meta.uid, status.evacuation_node_name, status.incarnation, last)
    return f"evac-{meta.name[:LONGEST].rstrip('-.')}-{mark}"
