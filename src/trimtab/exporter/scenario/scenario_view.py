"""The ledger as a scenario of node-classifier-sim: nodes with their VMs as they are now."""

from collections.abc import Callable

from trimtab.exporter.http.api import NodeVms, VmUse
from trimtab.exporter.nodes.consumption import UNIT
from trimtab.exporter.nodes.ledger import NodeLedger
from trimtab.kube.resources import Key


def nodes_with_vms(
    ledger: NodeLedger, time: float, namespace: str, is_of_scenario: Callable[[Key], bool]
) -> list[NodeVms]:
    """Every node that exists or carries VMs, and what those use, both in name order."""
    vms: dict[str, list[VmUse]] = {
        name: [] for name, book in ledger.nodes.items() if book.facts is not None
    }
    for uid, pod in ledger.pods.items():
        if pod.runs:
            use = pod.whole(time)
            name = vm_id(pod.vm, namespace) or uid
            each = VmUse(
                name, use.cpu / UNIT, use.memory / UNIT, by_hand=not is_of_scenario(pod.vm)
            )
            vms.setdefault(pod.node, []).append(each)
    return [NodeVms(node, sorted(vms[node], key=lambda vm: vm.id)) for node in sorted(vms)]


def vm_id(vm: Key, namespace: str) -> str:
    """How the endpoints call a VM."""
    return vm.name if vm.namespace == namespace else str(vm)


def vm_key(text: str, namespace: str) -> Key:
    """Which VM they mean."""
    where, slash, name = text.partition("/")
    return Key(where, name) if slash else Key(namespace, text)
