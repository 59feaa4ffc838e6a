"""Nodes that KubeVirt can use: what its labeller and device plugins would put on them.

Also the heartbeat that virt-handler writes into an annotation. virt-controller takes a node
whose heartbeat is older than five minutes for lost; a node that is not Ready gets none here, as
if its handler had died with it.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from trimtab.kube.resources import Node
from trimtab.player.turn import MACHINE_TYPE
from trimtab.virt.launcher import SCHEDULABLE

HEARTBEAT = "kubevirt.io/heartbeat"
HEARTBEAT_S = 60.0
BEATS_PER_S = 4.0
"""How many nodes are written to in a second, so 500 nodes beat every 125 s.

A beat costs all programs of a lab together 30 ms of CPU, because whoever follows nodes reads it.
"""
LONGEST_S = 180.0
"""Leaves two minutes for an API server that is slow to answer."""
DEVICES = ("kvm", "tun", "vhost-net")
RESOURCES = {f"devices.kubevirt.io/{name}": "1k" for name in DEVICES} | {
    "ephemeral-storage": "500Gi"
}
_NUMBER = re.compile(r"(\d+)$")
_PREFIXES = ("cpu-model.node.", "cpu-model-migration.node.", "host-model-cpu.node.", "cpu-vendor.")


class CpuModel(Struct, frozen=True):
    vendor: str
    model: str


def parse_models(texts: Sequence[str]) -> tuple[CpuModel, ...]:
    """`Intel:Skylake-Server` and so on, oldest first."""
    return tuple(CpuModel(*text.split(":", 1)) for text in texts)


def model_of(name: str, models: Sequence[CpuModel]) -> CpuModel:
    """The CPU of a node: the models go round the nodes by the number in their names."""
    found = _NUMBER.search(name)
    return models[(int(found[1]) - 1 if found else 0) % len(models)]


def labels_of(name: str, models: Sequence[CpuModel]) -> dict[str, str]:
    """A node can run guests of its own model and of all earlier ones of the same vendor."""
    own = model_of(name, models)
    place = models.index(own)
    supported = [each.model for each in models[: place + 1] if each.vendor == own.vendor]
    named = [
        SCHEDULABLE,
        f"machine-type.node.kubevirt.io/{MACHINE_TYPE}",
        f"cpu-vendor.node.kubevirt.io/{own.vendor}",
        f"host-model-cpu.node.kubevirt.io/{own.model}",
        *(f"cpu-model.node.kubevirt.io/{model}" for model in supported),
        *(f"cpu-model-migration.node.kubevirt.io/{model}" for model in supported),
    ]
    return dict.fromkeys(named, "true")


def label_changes(node: Node, models: Sequence[CpuModel]) -> dict[str, str | None]:
    """What to merge into the node's labels; labels of another CPU go."""
    has, wants = node.metadata.labels, labels_of(node.metadata.name, models)
    stale = {name: None for name in has if name.startswith(_PREFIXES) and name not in wants}
    return {name: value for name, value in wants.items() if has.get(name) != value} | stale


def resource_changes(node: Node) -> Mapping[str, str]:
    """Devices and storage that the node does not offer yet."""
    return {name: size for name, size in RESOURCES.items() if name not in node.status.allocatable}


def heartbeat_every_s(nodes: int) -> float:
    """Like virt-handler's minute, but slower where there are very many nodes."""
    return min(max(HEARTBEAT_S, nodes / BEATS_PER_S), LONGEST_S)
