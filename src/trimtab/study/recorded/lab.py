"""A recorded cluster for a lab: whole or some of its nodes, in its own time or compressed."""

import math

import numpy as np
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.install.vm.crd import MAX_TRACE
from trimtab.model.load.curve import Constant, Curve, Trace
from trimtab.model.nodes_and_vms import CPU_OVERCOMMIT, Ground, Node, Vm
from trimtab.model.quantity import NANO, Quantity
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.scenarios.scenario import MAX_NAME, Scenario
from trimtab.study.recorded.scenario import recorded_scenario

GROUND = "ground."
CRITICAL = 2_000_000_000
"""The priority of pods that no descheduler evicts."""


def lab_scenario(
    recording: ClusterRecording, name: str, *, compress: float = 1.0, nodes: int | None = None
) -> Scenario:
    """The scenario that a lab plays.

    With `compress` 12 an hour of the recording takes five minutes of the lab's time. `nodes`
    takes so many of the nodes, hot and cool ones, and the VMs that began there. A lab's nodes
    run nothing but VMs, so one that never moves stands for the ground load of each.
    """
    scenario = recorded_scenario(recording, pin_arrivals=True)
    grounds = tuple(_ground_vm(node) for node in scenario.nodes if node.ground is not None)
    scenario = replace(
        scenario,
        nodes=tuple(replace(node, ground=None) for node in scenario.nodes),
        vms=(*grounds, *scenario.vms),
    )
    if nodes is not None:
        scenario = _part(scenario, recording, nodes)
    thin = math.ceil(recording.manifest.moments / MAX_TRACE)
    return replace(
        scenario,
        name=name,
        vms=tuple(_faster(vm, thin, compress) for vm in scenario.vms),
        events=tuple(replace(event, at=max(event.at, 0.0) / compress) for event in scenario.events),
        duration_s=scenario.duration_s / compress,
    )


def _ground_vm(node: Node) -> Vm:
    ground = node.ground or Ground()
    asked, used = float(ground.requested_cpu) * CPU_OVERCOMMIT, float(ground.cpu)
    cores = max(asked, used, 0.01)
    size = max(float(ground.requested_memory), float(ground.memory), 2.0**20)
    return Vm(
        name=f"{GROUND}{node.name}"[:MAX_NAME],
        cpu=Quantity(round(cores * NANO)),
        memory=Quantity(round(size) * NANO),
        cpu_load=Constant(used / cores),
        memory_load=Constant(min(float(ground.memory) / size, 1.0)),
        node=node.name,
        priority=CRITICAL,
        live_migratable=False,
    )


def _part(scenario: Scenario, recording: ClusterRecording, count: int) -> Scenario:
    """Nodes at equal distances in the order of their load, so that some are hot and some cool."""
    if not 1 <= count <= len(scenario.nodes):
        raise ConfigError(
            f"--part {count}: the recording has {len(scenario.nodes)} nodes that run VMs"
        )
    at = {name: place for place, name in enumerate(recording.manifest.nodes)}
    load = np.nan_to_num(recording.vms_on_nodes(recording.demand)).mean(axis=0)
    order = sorted(scenario.nodes, key=lambda node: (-float(load[at[node.name]]), node.name))
    places = np.linspace(0, len(order) - 1, count).round().astype(int)
    chosen = {order[place].name for place in places}
    vms = tuple(vm for vm in scenario.vms if vm.node in chosen)
    there = {vm.name for vm in vms} | chosen
    return replace(
        scenario,
        nodes=tuple(node for node in scenario.nodes if node.name in chosen),
        vms=vms,
        events=tuple(event for event in scenario.events if event.name in there),
    )


def _faster(vm: Vm, thin: int, compress: float) -> Vm:
    return replace(
        vm,
        cpu_load=_thinned(vm.cpu_load, thin, compress),
        memory_load=_thinned(vm.memory_load, thin, compress),
    )


def _thinned(load: Curve, thin: int, compress: float) -> Curve:
    """The trace with the mean of every `thin` moments as one, because a VM holds only so many."""
    if not isinstance(load, Trace):
        return load
    values = np.array(load.values[:], dtype=np.float64)
    edges = np.arange(0, len(values), thin)
    counts = np.diff([*edges, len(values)])
    means = np.add.reduceat(values, edges) / counts
    return Trace(tuple(means.round(6).tolist()), load.interval * thin / compress, repeat=False)
