"""The virt-launcher pod of a VM: its name, its spec, and the metadata that is kept true on it.

Requests are fixed at creation; labels and annotations follow the VM for as long as the pod
lives. Nothing here decides when a pod is made.
"""

from hashlib import sha256
from typing import Any

from msgspec import Struct, to_builtins

from trimtab.kube.clock import Clock
from trimtab.kube.resources import Free, Pod
from trimtab.kube.virtual_machines import (
    APP_LABEL,
    CPU_CONSUMPTION,
    DOMAIN,
    EVICTION_IN_PROGRESS,
    GUARD_LABEL,
    LAUNCHER_LABEL,
    LOAD,
    MEMORY_CONSUMPTION,
    MIGRATION_LABEL,
    REQUEST_EVICT_ONLY,
    VM_NAME_LABEL,
    VMS,
    VirtualMachine,
)
from trimtab.model.nodes_and_vms import Vm
from trimtab.virt.launcher import FAKE_NODE_TAINT, SCHEDULABLE
from trimtab.virt.lost_nodes import LOST_NODE_S, LOST_NODE_TAINTS
from trimtab.vm.amounts import consumption, load_annotation, requests
from trimtab.vm.settings import VmControllerSettings

IMAGE = "quay.io/kubevirt/virt-launcher:latest"
LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # as Kubernetes: no vowels, no words
LONGEST = 253 - len("virt-launcher--abcde")
GRACE_S = 1
"""Long enough to be seen as Terminating; there is no guest to shut down."""


class Placement(Struct, frozen=True):
    """Where a pod must not, must, or should rather be."""

    avoid: str = ""
    only: str = ""
    rather: str = ""


ANYWHERE = Placement()


def suffix(*parts: object) -> str:
    """Five letters that always follow from `parts`."""
    number = int.from_bytes(sha256(repr(parts).encode()).digest()[:8], "big")
    letters = ""
    for _ in range(5):
        number, index = divmod(number, len(LETTERS))
        letters += LETTERS[index]
    return letters


def pod_name(vm: VirtualMachine, incarnation: int) -> str:
    """The name of a VM's pod number `incarnation`: known before the pod exists."""
    meta = vm.metadata
    stem = meta.name[:LONGEST].rstrip("-.")
    return f"virt-launcher-{stem}-{suffix(meta.uid, incarnation)}"


def desired_pod(
    vm: VirtualMachine,
    machine: Vm,
    name: str,
    settings: VmControllerSettings,
    clock: Clock,
    *,
    placement: Placement = ANYWHERE,
    migration: str = "",
) -> Free:
    """The pod to create; the scheduler chooses its node within `placement`."""
    container = {
        "name": "compute",
        "image": IMAGE,
        "resources": {"requests": requests(machine, settings)},
    }
    spec: Free = {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": {SCHEDULABLE: "true"},
        "tolerations": tolerations(clock),
    }
    affinity = node_affinity(placement)
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    metadata = {
        "name": name,
        "namespace": vm.metadata.namespace,
        "labels": labels(vm, migration=migration),
        "annotations": present(annotations(vm, machine, settings, node="")),
        "ownerReferences": [to_builtins(VMS.owner(vm))],
    }
    return {"metadata": metadata, "spec": spec}


def labels(vm: VirtualMachine, *, migration: str = "") -> dict[str, str]:
    """The labels of a protected pod; `migration` names the one whose target it is."""
    name = label_value(vm.metadata.name)
    fixed = dict([APP_LABEL, LAUNCHER_LABEL, (DOMAIN, name), (VM_NAME_LABEL, name)])
    mine = {MIGRATION_LABEL: label_value(migration)} if migration else {}
    return fixed | {GUARD_LABEL: "true"} | mine


def label_value(name: str) -> str:
    """An object's name may be longer than a label's value."""
    return name[:63].rstrip("-._")


def annotations(
    vm: VirtualMachine, machine: Vm, settings: VmControllerSettings, *, node: str
) -> dict[str, str | None]:
    """The annotations of the pod on `node`; None for those that it must not have."""
    cpu, memory = consumption(machine, settings)
    evacuating = bool(node) and vm.status.evacuation_node_name == node
    return {
        DOMAIN: vm.metadata.name,
        CPU_CONSUMPTION: cpu,
        MEMORY_CONSUMPTION: memory,
        LOAD: load_annotation(vm.spec, machine),
        REQUEST_EVICT_ONLY: "",
        EVICTION_IN_PROGRESS: "true" if evacuating else None,
    }


def metadata_change(
    pod: Pod,
    vm: VirtualMachine,
    machine: Vm,
    settings: VmControllerSettings,
    *,
    migration: str = "",
) -> dict[str, Any]:
    """The metadata to merge into a pod so that it says what it should; empty if it does.

    The active pod has no `migration`; only it can be in the course of being evicted.
    """
    node = "" if migration else pod.spec.node_name
    wanted_labels: dict[str, str | None] = {MIGRATION_LABEL: None}
    wanted_labels |= labels(vm, migration=migration)
    changes = {
        "labels": differences(pod.metadata.labels, wanted_labels),
        "annotations": differences(
            pod.metadata.annotations, annotations(vm, machine, settings, node=node)
        ),
    }
    owned = pod.metadata.controller is not None
    owner = {} if owned else {"ownerReferences": [to_builtins(VMS.owner(vm))]}
    return {name: change for name, change in changes.items() if change} | owner


def differences(has: dict[str, str], wants: dict[str, str | None]) -> dict[str, str | None]:
    return {name: value for name, value in wants.items() if has.get(name) != value}


def present(values: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def tolerations(clock: Clock) -> list[Free]:
    """The nodes of kwok in a cluster, and a lost node for as long as Kubernetes would."""
    lasting = max(1, round(clock.real_s(LOST_NODE_S)))
    lost = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": lasting}
        for key in LOST_NODE_TAINTS
    ]
    key, value, effect = FAKE_NODE_TAINT
    return [{"key": key, "operator": "Equal", "value": value, "effect": effect}, *lost]


def node_affinity(placement: Placement) -> Free:
    """By the node's name itself: a label could lie."""
    must = [
        _name(operator, node)
        for operator, node in (("NotIn", placement.avoid), ("In", placement.only))
        if node
    ]
    affinity: Free = {}
    if must:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [{"matchFields": must}]
        }
    if placement.rather:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": 100, "preference": {"matchFields": [_name("In", placement.rather)]}}
        ]
    return affinity


def _name(operator: str, node: str) -> Free:
    return {"key": "metadata.name", "operator": operator, "values": [node]}
