"""The scenario JSON of node-classifier-sim, read as a `ScenarioFile`.

Two forms, each a list of nodes under a scenario's name (or alone): nodes with VMs whose
`cpu_consumption` and `memory_consumption` are fractions of a node with 32 cores and 128 GiB,
and the older nodes with `cpu_usage`, `memory_usage` and pressures. The pressures are not
used: trimtab computes pressure from usage.
"""

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.nodes_and_vms import (
    DEFAULT_CPU_UTILISATION,
    DEFAULT_MEMORY_UTILISATION,
    REFERENCE_CPU,
    REFERENCE_MEMORY,
)
from trimtab.model.quantity import Quantity, parse_quantity
from trimtab.model.scenarios.file import NodeGroup, ScenarioFile, Utilisation, VmGroup
from trimtab.model.scenarios.structure import mistakes
from trimtab.obs.log import get_logger

VMS_PER_SUMMARY = 10
MAX_CONSUMPTION = 1000.0
"""No VM uses a thousand reference nodes; a larger number is a mistake."""
_SHOWN = 5
_OURS = {"apiVersion", "kind", "name", "vms"}
_THEIRS = {"vms", "cpu_usage", "memory_usage"}  # of a node
_log = get_logger(room="model")


class ClassicVm(Struct, frozen=True):
    """One VM: what it uses of the reference node."""

    id: str | int
    cpu_consumption: float
    memory_consumption: float
    by_hand: bool = False
    """In an exporter's answer: no scenario made this VM."""


class ClassicNode(Struct, frozen=True):
    """A node by its VMs, or (older) by its totals."""

    name: str
    vms: tuple[ClassicVm, ...] | None = None
    cpu_usage: float | None = None
    memory_usage: float | None = None


def is_classic(data: Any) -> bool:
    """Whether `data` is node-classifier-sim's JSON rather than a scenario file of ours."""
    if isinstance(data, list):
        return True
    if not isinstance(data, dict) or not data:
        return False
    if isinstance(data.get("nodes"), list):
        return any(isinstance(node, dict) and _THEIRS & node.keys() for node in data["nodes"])
    return not _OURS & data.keys() and all(isinstance(value, list) for value in data.values())


def classic_scenarios(data: Any) -> dict[str, Any]:
    """The scenarios of a file by name; one that stands alone is called `scenario`."""
    if isinstance(data, list):
        return {"scenario": data}
    return {str(data.get("name", "scenario")): data["nodes"]} if "nodes" in data else data


def from_classic(data: Any, where: str, select: str | None = None) -> ScenarioFile:
    """One scenario of the file: `select`, or the first."""
    name, nodes = _chosen(data, where, select)
    scenarios = classic_scenarios(data)
    if select is None and len(scenarios) > 1:
        _log.warning("first of several scenarios taken", file=where, taken=name, all=[*scenarios])
    if renamed := renamings(nodes):
        _log.warning("names rewritten", file=where, names=renamed)
    return _scenario(name, nodes, where)


def classic_notes(data: Any, where: str, select: str | None = None) -> tuple[list[str], set[str]]:
    """What became of the names of one scenario, in words, and the VMs that are made by hand."""
    _, nodes = _chosen(data, where, select)
    ids = _ids(nodes)
    by_hand = {_vm_name(vm, node, ids) for node in nodes for vm in node.vms or () if vm.by_hand}
    return renamings(nodes), by_hand


def _chosen(data: Any, where: str, select: str | None) -> tuple[str, tuple[ClassicNode, ...]]:
    scenarios = classic_scenarios(data)
    name = select if select is not None else next(iter(scenarios))
    if name not in scenarios:
        known = ", ".join(scenarios)
        raise ConfigError(f"{where}: there is no scenario {name!r}; there are {known}")
    for mistake in mistakes(scenarios[name], tuple[ClassicNode, ...], name):
        raise ConfigError(f"{where}: {mistake}")
    return name, msgspec.convert(scenarios[name], tuple[ClassicNode, ...])


def renamings(nodes: Sequence[ClassicNode]) -> list[str]:
    """One line about the names that Kubernetes cannot hold as they are; none if there are none."""
    ids = _ids(nodes)
    names = {f"node {node.name!r}": (node.name, kubernetes_name(node.name)) for node in nodes}
    for node in nodes:
        for vm in node.vms or ():
            names[f"VM {str(vm.id)!r} of {node.name!r}"] = str(vm.id), _vm_name(vm, node, ids)
    changed = [f"{what} is called {now!r}" for what, (was, now) in names.items() if was != now]
    if not changed:
        return []
    more = f", and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return [f"names were rewritten for Kubernetes: {', '.join(changed[:_SHOWN])}{more}"]


def _ids(nodes: Sequence[ClassicNode]) -> Counter[str]:
    return Counter(str(vm.id) for node in nodes for vm in node.vms or ())


def _vm_name(vm: ClassicVm, node: ClassicNode, ids: Counter[str]) -> str:
    """The VM's id, behind its node's name where several VMs have that id."""
    return kubernetes_name(f"{node.name}-{vm.id}" if ids[str(vm.id)] > 1 else str(vm.id))


def _scenario(name: str, nodes: tuple[ClassicNode, ...], where: str) -> ScenarioFile:
    ids = _ids(nodes)
    groups: list[VmGroup] = []
    for index, node in enumerate(nodes):
        field = f"{where}: {name}[{index}]"
        if node.vms is not None:
            groups += [
                _vm(vm, _vm_name(vm, node, ids), node, f"{field}.vms[{place}]")
                for place, vm in enumerate(node.vms)
            ]
        elif node.cpu_usage is not None and node.memory_usage is not None:
            groups.append(_summary(node, field))
        else:
            raise ConfigError(f"{field}: needs vms, or cpu_usage and memory_usage")
    if any(node.vms is None for node in nodes):
        _log.warning("pressures of the file ignored", file=where, reason="computed from usage")
    return ScenarioFile(
        name=kubernetes_name(name),
        description=f"Converted from {name!r} of a scenario in JSON.",
        nodes=tuple(NodeGroup(name=kubernetes_name(node.name)) for node in nodes),
        vms=tuple(groups),
    )


def _vm(vm: ClassicVm, name: str, node: ClassicNode, field: str) -> VmGroup:
    return _group(name, 1, vm.cpu_consumption, vm.memory_consumption, node, field)


def _summary(node: ClassicNode, field: str) -> VmGroup:
    cpu, memory = node.cpu_usage or 0.0, node.memory_usage or 0.0
    share = VMS_PER_SUMMARY
    return _group(
        kubernetes_name(f"{node.name}-vm"), share, cpu / share, memory / share, node, field
    )


def _group(
    name: str, count: int, cpu: float, memory: float, node: ClassicNode, field: str
) -> VmGroup:
    if not (0 <= cpu <= MAX_CONSUMPTION and 0 <= memory <= MAX_CONSUMPTION):
        raise ConfigError(
            f"{field}: consumption must not be negative, and at most {MAX_CONSUMPTION:g} "
            "(fractions of 32 cores and 128 GiB)"
        )
    cpu_size, cpu_share = _allocated(cpu, REFERENCE_CPU, DEFAULT_CPU_UTILISATION, "1m")
    memory_size, memory_share = _allocated(
        memory, REFERENCE_MEMORY, DEFAULT_MEMORY_UTILISATION, "1Mi"
    )
    return VmGroup(
        name=name,
        count=count,
        cpu=str(cpu_size),
        memory=memory_size.value(),
        utilization=Utilisation(cpu=cpu_share, memory=memory_share),
        node=kubernetes_name(node.name),
    )


def _allocated(
    fraction: float, reference: Quantity, utilisation: float, least: str
) -> tuple[Quantity, float]:
    """What a VM has that uses this fraction at `utilisation`; one that is idle gets `least`."""
    size = reference.times(Fraction(str(fraction)) / Fraction(str(utilisation)))
    return (size, utilisation) if size.nano else (parse_quantity(least), 0.0)


def kubernetes_name(text: str) -> str:
    """`text` with everything that a Kubernetes name cannot hold replaced by `-`."""
    name = re.sub(r"[^a-z0-9.-]+", "-", text.lower()).strip("-.")
    if not name:
        raise ConfigError(f"{text!r} cannot become a name; use letters and digits")
    return name
