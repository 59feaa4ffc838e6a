"""What the webhook answers to an eviction of a pod: `virt.eviction`'s verdict in KubeVirt's words.

The descheduler counts an eviction as going on in the background when the answer is 429 and
contains `Eviction triggered evacuation`; so that text is a promise, and `MarkForEvacuation` is
the only answer that may lead to it: the mark is written first, then claimed.
"""

from typing import ClassVar, TypeAlias

from msgspec import Struct

from trimtab.kube.resources import Key, Pod
from trimtab.kube.virtual_machines import DOMAIN, KUBEVIRT, VirtualMachine, is_launcher
from trimtab.virt.eviction import EvictionVerdict, judge_eviction

TRIGGERED = "Eviction triggered evacuation"
FINISHED_PHASES = ("Succeeded", "Failed")


class Allow(Struct, frozen=True):
    """The eviction may remove the pod; `why` is for the log."""

    why: str
    name: ClassVar[str] = "allowed"


class Deny(Struct, frozen=True):
    """The pod stays and nothing else happens; `message` reaches the caller."""

    message: str
    name: ClassVar[str] = "denied"


class MarkForEvacuation(Struct, frozen=True):
    """The pod stays, and the VM is to be evacuated from `node`: write the mark, then say so."""

    vm: Key
    pod: str
    node: str
    again: bool = False
    """It carries this very mark already; writing it once more changes nothing but proves it."""

    @property
    def name(self) -> str:
        return "marked-again" if self.again else "marked"

    @property
    def message(self) -> str:
        text = f'{TRIGGERED} of VM "{self.vm}"'
        return f"Evacuation in progress: {text}" if self.again else text


EvictionAnswer: TypeAlias = Allow | Deny | MarkForEvacuation


def vm_of(pod: Pod) -> Key | None:
    """The VM that a pod runs, if it is a virt-launcher pod at all.

    A launcher of KubeVirt is KubeVirt's to answer for, whatever labels people gave it.
    """
    meta = pod.metadata
    if meta.controller is not None and meta.controller.api_version.startswith(f"{KUBEVIRT}/"):
        return None
    name = meta.annotations.get(DOMAIN, "")
    return Key(meta.namespace, name) if is_launcher(meta.labels) and name else None


def decide(pod: Pod | None, vm: VirtualMachine | None, uid: str = "") -> EvictionAnswer:
    """The answer to evicting `pod`, which runs `vm`; `uid` is the caller's precondition."""
    if pod is None:
        return Allow("there is no such pod; the API server says so")
    if uid and uid != pod.metadata.uid:
        return Allow("the precondition names another pod; the API server says so")
    key = vm_of(pod)
    if key is None:
        return Allow("the pod runs no VM")
    if pod.status.phase in FINISHED_PHASES or pod.metadata.deletion_timestamp is not None:
        return Allow("the pod is finished or going already")
    if vm is None:
        return Deny(f'the VM "{key}" of this pod was not found')
    return _decide_for(pod, vm, key)


def _decide_for(pod: Pod, vm: VirtualMachine, key: Key) -> EvictionAnswer:
    spec, status, node = vm.spec, vm.status, pod.spec.node_name
    if vm.metadata.deletion_timestamp is not None or not spec.running:
        return Allow("the VM is being deleted or stopped")
    verdict = judge_eviction(
        spec.eviction_strategy,
        migratable=spec.live_migratable,
        active=status.pod_name == pod.metadata.name,
        marked=status.evacuation_node_name == node,
    )
    match verdict:
        case EvictionVerdict.WITHOUT_STRATEGY:
            return Allow("the VM's eviction strategy is None; it starts again elsewhere")
        case EvictionVerdict.NOT_MIGRATABLE:
            return Allow("the VM cannot migrate and does not insist; it starts again elsewhere")
        case EvictionVerdict.PROTECTED:
            return Deny(
                f'VM "{key}" is configured with an eviction strategy but is not live-migratable'
            )
        case EvictionVerdict.TARGET_POD:
            return Deny(f'Eviction request for target Pod of VM "{key}": it is not the active one')
    if not node:
        return Allow("the pod is not placed yet; a new one takes its turn")
    return MarkForEvacuation(
        key, pod.metadata.name, node, again=verdict is EvictionVerdict.MARKED_AGAIN
    )


def mark_patch(mark: MarkForEvacuation) -> list[dict[str, object]]:
    """The JSON patch that marks, and fails if the pod is not the active one any more."""
    return [
        {"op": "test", "path": "/status/podName", "value": mark.pod},
        {"op": "add", "path": "/status/evacuationNodeName", "value": mark.node},
    ]
