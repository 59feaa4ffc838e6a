"""What becomes of a VM whose pod cannot be created: it is refused, or its name is taken."""

from msgspec import structs

from trimtab.vm.decide.migration import finished
from trimtab.vm.decide.situation import VmSituation
from trimtab.vm.decide.steps import Step, WriteVmStatus
from trimtab.vm.status import LOST, condition, next_incarnation, others


def pod_refused(s: VmSituation, message: str, *, target: bool) -> Step | None:
    """A refused target ends its migration; for an active pod the VM says so. None: it does."""
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
