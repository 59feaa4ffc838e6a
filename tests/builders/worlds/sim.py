"""Small clusters for tests of the simulator."""

from collections.abc import Sequence
from typing import Any

from trimtab.model.load.curve import Constant, Curve
from trimtab.model.nodes_and_vms import Node, RequestsModel, Taint, Vm
from trimtab.model.quantity import Quantity, cores, gib
from trimtab.model.scenarios.scenario import Migration, Scenario, ScenarioEvent
from trimtab.virt.eviction import EvictionStrategy


def a_node(
    name: str,
    *,
    cpu: float = 32,
    memory: float = 128,
    pods: int = 110,
    taints: tuple[Taint, ...] = (),
    unschedulable: bool = False,
    labels: dict[str, str] | None = None,
) -> Node:
    return Node(
        name,
        cpu=cores(cpu),
        memory=gib(memory),
        pods=pods,
        taints=taints,
        unschedulable=unschedulable,
        labels=labels or {},
    )


def nodes(count: int, *, cpu: float = 32, memory: float = 128) -> tuple[Node, ...]:
    return tuple(a_node(f"n{number}", cpu=cpu, memory=memory) for number in range(count))


def a_vm(
    name: str,
    *,
    node: str | None = None,
    cpu: float = 4,
    memory: float = 8,
    load: float | Curve = 0.5,
    memory_load: float | Curve = 0.5,
    priority: int = 0,
    strategy: EvictionStrategy = "LiveMigrate",
    migratable: bool = True,
    dirty_rate: float = 0.0,
) -> Vm:
    """Loads are shares of the VM's own size."""
    return Vm(
        name,
        cpu=cores(cpu),
        memory=gib(memory),
        cpu_load=Constant(load) if isinstance(load, float | int) else load,
        memory_load=Constant(memory_load) if isinstance(memory_load, float | int) else memory_load,
        node=node,
        priority=priority,
        eviction_strategy=strategy,
        live_migratable=migratable,
        dirty_rate=Quantity(round(dirty_rate * 10**9)),
    )


def a_scenario(
    node_list: Sequence[Node],
    vms: Sequence[Vm],
    *,
    duration_s: float = 3600.0,
    events: Sequence[ScenarioEvent] = (),
    migration: Migration | None = None,
    requests: RequestsModel = "consumption",
) -> Scenario:
    return Scenario(
        name="test",
        nodes=tuple(node_list),
        vms=tuple(vms),
        duration_s=duration_s,
        events=tuple(events),
        migration=migration or Migration(),
        requests=requests,
    )


def one_hot_node(count: int = 4, *, duration_s: float = 3600.0) -> Scenario:
    """12 VMs on the first node, 4 on each other one; each uses 2 cores and 4 GiB."""
    vms = [a_vm(f"hot{i}", node="n0") for i in range(12)]
    vms += [a_vm(f"v{n}-{i}", node=f"n{n}") for n in range(1, count) for i in range(4)]
    return a_scenario(nodes(count), vms, duration_s=duration_s)


def plain(value: Any) -> Any:
    """For encoders: arrays as bytes, the records of migrations as a list."""
    return list(value) if isinstance(value, Sequence) else value.tobytes()
