"""Pods, VMs and nodes as the exporter reads them, in a line each."""

from datetime import UTC, datetime
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from trimtab.exporter.nodes.consumption import Amounts, PodContribution, PodRole
from trimtab.exporter.nodes.ledger import NodeFacts
from trimtab.exporter.nodes.wire import (
    Launcher,
    LauncherAnnotations,
    LauncherLabels,
    LauncherMeta,
    LauncherSpec,
    LauncherStatus,
    MachineMeta,
    MachineObject,
    MachineStatus,
    NodeMeta,
    NodeObject,
    NodeObjectStatus,
)
from trimtab.kube.resources import Condition, Key
from trimtab.kube.virtual_machines import Load

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GIB = float(1024**3)
LAB_NODES = ["kwok-node-1", "kwok-node-2", "kwok-node-3"]
REFERENCE_NODE = NodeFacts(cores=32.0, bytes=128 * GIB)


def a_launcher(
    name: str = "web-1",
    *,
    vm: str = "web",
    node: str = "n1",
    cpu: str | None = "0.1",
    memory: str | None = "0.2",
    load: str | None = None,
    migration: str = "",
    phase: str = "Running",
    deleted: bool = False,
) -> Launcher:
    """A pod of VM `vm` that uses a tenth of the reference node's CPU, a fifth of its memory."""
    annotations = LauncherAnnotations(domain=vm, cpu=cpu, memory=memory, load=load)
    return Launcher(
        metadata=LauncherMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}",
            resource_version="1",
            labels=LauncherLabels(domain=vm, migration=migration),
            annotations=annotations,
            deletion_timestamp=NOW if deleted else None,
        ),
        spec=LauncherSpec(node_name=node),
        status=LauncherStatus(phase=phase),
    )


def a_machine(
    name: str = "web",
    *,
    pod: str = "web-1",
    phase: str = "Running",
    mark: str = "",
    migration: str = "",
) -> MachineObject:
    return MachineObject(
        metadata=MachineMeta(
            name=name, namespace="default", uid=f"uid-{name}", resource_version="1"
        ),
        status=MachineStatus(
            phase=phase, pod_name=pod, evacuation_node_name=mark, migration_name=migration
        ),
    )


def a_node(
    name: str = "n1",
    *,
    cpu: str | None = "32",
    memory: str = "128Gi",
    ready: bool | None = True,
    labels: dict[str, str] | None = None,
) -> NodeObject:
    allocatable = {"memory": memory} | ({} if cpu is None else {"cpu": cpu})
    condition = Condition(type="Ready", status="True" if ready else "Unknown")
    conditions = () if ready is None else (condition,)
    return NodeObject(
        metadata=NodeMeta(name=name, uid=f"uid-{name}", resource_version="1", labels=labels or {}),
        status=NodeObjectStatus(allocatable=allocatable, conditions=conditions),
    )


def a_share(
    node: str = "n1",
    cpu: float = 0.1,
    memory: float = 0.2,
    *,
    role: PodRole = PodRole.ACTIVE,
    load: Load | None = None,
) -> PodContribution:
    fixed = Amounts(round(cpu * 1e9), round(memory * 1e9)) if load is None else Amounts()
    return PodContribution(node, Key("default", "web"), role, fixed, load)


def samples(page: str) -> list[Sample]:
    """What prometheus_client reads from a page."""
    return [sample for family in text_string_to_metric_families(page) for sample in family.samples]


def by_node(page: str, name: str) -> dict[str, float]:
    """One metric by its label `node`."""
    return {each.labels["node"]: each.value for each in samples(page) if each.name == name}


def hot(**vms: str) -> dict[str, Any]:
    """A scenario of node-classifier-sim: each VM on its node, with a tenth of its CPU."""
    use = {"cpu_consumption": 0.1, "memory_consumption": 0.05}
    return {
        "nodes": [
            {"name": node, "vms": [{"id": vm} | use for vm in vms if vms[vm] == node]}
            for node in LAB_NODES
        ]
    }


WISHES = [
    {"vm_id": "a", "from_node": "kwok-node-1", "to_node": "kwok-node-3"},
    {"vm_id": "b", "from_node": "kwok-node-2"},
    {"vm_id": "c", "from_node": "kwok-node-1"},
    {"vm_id": "a", "from_node": "kwok-node-1"},
    {"vm_id": "b", "from_node": "kwok-node-1", "to_node": "nowhere"},
]
"""Migrations to ask for while `a` and `b` are on the first node: only the first is possible."""


def check_answered(answer: dict[str, Any]) -> None:
    """What /feedback says to `WISHES`."""
    first, *others = answer["migrations"]
    assert first == {
        "vm_id": "a",
        "from_node": "kwok-node-1",
        "requested_node": "kwok-node-3",
        "actual_node": "kwok-node-3",
    }
    assert [each["error"] for each in others] == [
        'VM "b" is on node "kwok-node-1"',
        'there is no VM "c"',
        'VM "a" is named twice',
        'there is no node "nowhere"',
    ]
