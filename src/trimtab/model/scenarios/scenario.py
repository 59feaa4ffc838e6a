"""A scenario as programs use it: every node and VM by name, numbers in one unit.

The same scenario drives the simulator and the lab; `trimtab.model.scenarios.file` is what
a person writes.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.load.pressure_curve import DEFAULT_PRESSURE, PressureCurve
from trimtab.model.nodes_and_vms import Node, RequestsModel, Vm
from trimtab.virt.migration_backoff import BACKOFF_S, COMPLETION_S_PER_GIB
from trimtab.virt.precopy import DEFAULT_BANDWIDTH
from trimtab.virt.slots import MigrationLimits

MAX_NAME = 63  # names become label values
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", re.ASCII)


class ScenarioEvent(Struct, frozen=True):
    """Something that happens to a node or a VM at `at` seconds."""

    at: float
    what: Literal["arrive", "depart", "fail", "recover", "drain", "undrain"]
    name: str


class Migration(Struct, frozen=True):
    """The migration model in seconds and bytes."""

    mode: Literal["live", "recreate"] = "live"
    bandwidth: float = DEFAULT_BANDWIDTH
    per_cluster: int = MigrationLimits().cluster
    per_node_outbound: int = MigrationLimits().node
    timeout_s_per_gib: float = COMPLETION_S_PER_GIB
    failure_rate: float = 0.0
    backoff_s: float = BACKOFF_S


class Scenario(Struct, frozen=True):
    """Every node and VM by name; VMs that arrive later are in `vms` too, with an `arrive` event."""

    name: str
    nodes: tuple[Node, ...]
    vms: tuple[Vm, ...]
    description: str = ""
    duration_s: float = 3600.0
    seed: int = 0
    events: tuple[ScenarioEvent, ...] = ()
    migration: Migration = Migration()
    pressure: PressureCurve = DEFAULT_PRESSURE
    requests: RequestsModel = "consumption"


def check_names(scenario: Scenario) -> None:
    """Refuse names that are used twice, do not exist, or cannot be names in Kubernetes."""
    for problem in name_problems(scenario):
        raise ConfigError(problem)


def name_problems(scenario: Scenario) -> Iterator[str]:
    """Every mistake in a name, one line each."""
    nodes = [node.name for node in scenario.nodes]
    vms = [vm.name for vm in scenario.vms]
    yield from _unfit("node", nodes)
    yield from _unfit("vm", vms)
    for node, homeless in _unknown_nodes(scenario).items():
        others = f" and {len(homeless) - 1} others" if len(homeless) > 1 else ""
        yield (
            f"vm {homeless[0]!r}{others}: there is no node {node!r}; "
            "name one of nodes, or leave it out"
        )
    known = {"vm": set(vms), "node": set(nodes)}
    arrivals = {event.name: event.at for event in scenario.events if event.what == "arrive"}
    for event in scenario.events:
        kind = "vm" if event.what in ("arrive", "depart") else "node"
        if event.name not in known[kind]:
            yield f"events: {event.what} names the {kind} {event.name!r}, which does not exist"
        elif event.what == "depart" and arrivals.get(event.name, 0.0) >= event.at > 0:
            yield f"events: the vm {event.name!r} departs before it arrives"


def _unknown_nodes(scenario: Scenario) -> dict[str, list[str]]:
    """For each node that is named but does not exist, the VMs that name it."""
    known, missing = {node.name for node in scenario.nodes}, defaultdict[str, list[str]](list)
    for vm in scenario.vms:
        if vm.node is not None and vm.node not in known:
            missing[vm.node].append(vm.name)
    return missing


def _unfit(kind: str, names: Sequence[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{kind} {name!r} is defined {count} times; give the groups different names"
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            yield (
                f"{kind} {name!r} cannot be a name in Kubernetes; use up to {MAX_NAME} "
                "lower-case letters, digits, '-' and '.'"
            )
