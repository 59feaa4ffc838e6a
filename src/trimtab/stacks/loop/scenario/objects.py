"""From a scenario to what a lab makes of it: VM objects, changes of nodes, events to come.

The lab's nodes kwok-node-1 and so on stand for the scenario's nodes in their order. A pure
function; `player` carries it out.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct, structs, to_builtins

from trimtab.errors import ConfigError
from trimtab.install.vm.crd import MAX_TRACE
from trimtab.kube.resources import Free
from trimtab.kube.scenario.objects import first_vms, vm_object
from trimtab.lab.components.kwok import NOT_READY_LABEL
from trimtab.lab.components.objects import node_name
from trimtab.model.load.curve import Trace
from trimtab.model.nodes_and_vms import Node, Vm
from trimtab.model.scenarios.scenario import Scenario

NAMESPACE = "default"
SCENARIO_LABEL = "trimtab.dev/scenario"
NODE_LABEL = "trimtab.dev/scenario-node"
"""What a node is called in the scenario."""


class NodeShape(Struct, frozen=True):
    """What a node of the lab must look like, as merge patches in this order.

    VMs start on cordoned and tainted nodes too, so it is `closed` only when they run.
    """

    name: str
    open: Free
    status: Free
    closed: Free = {}


class ScriptEvent(Struct, frozen=True):
    """An event at `at` seconds after the start; `vm` is the object that arrives."""

    at: float
    what: Literal["arrive", "depart", "fail", "recover", "drain", "undrain"]
    name: str
    vm: Free | None = None


class Script(Struct, frozen=True, kw_only=True):
    """A scenario on its way into a lab; another `run` of the same one starts it over."""

    name: str
    vms: tuple[Free, ...] = ()
    nodes: tuple[NodeShape, ...] = ()
    events: tuple[ScriptEvent, ...] = ()
    run: int = 1

    @property
    def digest(self) -> str:
        """Tells whether a lab has loaded this script already."""
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]


def script_of(scenario: Scenario, namespace: str = NAMESPACE) -> Script:
    """Everything that makes a lab play this scenario; a ConfigError says what it cannot."""
    names = {node.name: node_name(at) for at, node in enumerate(scenario.nodes, 1)}
    made = {vm.name: scenario_vm(vm, scenario.name, names, namespace) for vm in scenario.vms}
    return Script(
        name=scenario.name,
        vms=tuple(made[vm.name] for vm in first_vms(scenario)),
        nodes=tuple(shape(node, names[node.name]) for node in scenario.nodes),
        events=tuple(_happenings(scenario, names, made)),
    )


def scenario_vm(vm: Vm, scenario: str, nodes: Mapping[str, str], namespace: str) -> Free:
    """The VirtualMachine; its first pod starts where the scenario puts it."""
    _check_curves(vm)
    here = structs.replace(vm, node=None if vm.node is None else nodes[vm.node])
    made = vm_object(here, namespace, nodes.values())
    made["metadata"]["labels"] |= {SCENARIO_LABEL: scenario}
    return made


def shape(node: Node, name: str) -> NodeShape:
    """The size, labels, taints and cordon of a node; it is Ready to begin with."""
    labels = {**node.labels, NODE_LABEL: node.name, NOT_READY_LABEL: None}
    size = {"cpu": str(node.cpu), "memory": str(node.memory), "pods": str(node.pods)}
    closed: Free = {"unschedulable": True} if node.unschedulable else {}
    if node.taints:
        closed["taints"] = [to_builtins(taint) for taint in node.taints]
    return NodeShape(
        name,
        {"metadata": {"labels": labels}, "spec": {"unschedulable": None, "taints": None}},
        {"status": {"capacity": size, "allocatable": size}},
        {"spec": closed} if closed else {},
    )


def left_out(scenario: Scenario) -> list[str]:
    """What of a scenario a lab cannot play, one line each."""
    rates = {vm.dirty_rate for vm in scenario.vms}
    parts = {
        "vms.priority: a VirtualMachine has none": any(vm.priority for vm in scenario.vms),
        "vms.constraints: a VirtualMachine has none; only notMovable is kept": any(
            vm.constraints for vm in scenario.vms
        ),
        "nodes.ground: a lab's nodes run no other pods": any(
            node.ground for node in scenario.nodes
        ),
        "vms.dirtyRate: all VMs get the mean of their rates": len(rates) > 1,
        "migration.failureRate: migrations fail for real reasons only": bool(
            scenario.migration.failure_rate
        ),
    }
    return [text for text, applies in parts.items() if applies]


def _check_curves(vm: Vm) -> None:
    for curve in (vm.cpu_load, vm.memory_load):
        if isinstance(curve, Trace) and len(curve.values) > MAX_TRACE:
            raise ConfigError(
                f"vm {vm.name!r}: its trace has {len(curve.values)} values, a VirtualMachine "
                f"takes {MAX_TRACE}; shorten the trace, or widen its interval"
            )


def _happenings(
    scenario: Scenario, names: Mapping[str, str], made: Mapping[str, Free]
) -> Iterator[ScriptEvent]:
    there = {vm.name for vm in first_vms(scenario)}
    for event in sorted(scenario.events, key=lambda event: event.at):
        if event.what == "arrive" and event.name in there:
            continue
        if event.what in ("arrive", "depart"):
            vm = made[event.name] if event.what == "arrive" else None
            yield ScriptEvent(event.at, event.what, event.name, vm)
        else:
            yield ScriptEvent(event.at, event.what, names[event.name])
