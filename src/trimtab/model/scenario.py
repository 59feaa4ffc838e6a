"""A scenario as programs use it: every node and VM by name, numbers in one unit.

The same scenario drives the simulator and the lab; `trimtab.model.scenario_file` is what
a person writes.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.model.machines import Node, RequestsModel, Vm
from trimtab.model.pressure import DEFAULT_PRESSURE, PressureCurve


class Event(Struct, frozen=True):
    """Something that happens to a node or a VM at `at` seconds."""

    at: float
    what: Literal["arrive", "depart", "fail", "recover", "drain", "undrain"]
    name: str


class Migration(Struct, frozen=True):
    """The migration model in seconds and bytes."""

    mode: Literal["live", "recreate"] = "live"
    bandwidth: float = float(1024**3)
    per_cluster: int = 5
    per_node_outbound: int = 2
    timeout_s_per_gib: float = 150.0
    failure_rate: float = 0.0
    backoff_s: float = 20.0


class Scenario(Struct, frozen=True):
    """Every node and VM by name; VMs that arrive later are in `vms` too, with an `arrive` event."""

    name: str
    nodes: tuple[Node, ...]
    vms: tuple[Vm, ...]
    description: str = ""
    duration_s: float = 3600.0
    seed: int = 0
    events: tuple[Event, ...] = ()
    migration: Migration = Migration()
    pressure: PressureCurve = DEFAULT_PRESSURE
    requests: RequestsModel = "consumption"


def check_names(scenario: Scenario) -> None:
    """Refuse names that are used twice or do not exist."""
    if not scenario.nodes:
        raise ConfigError("nodes: a scenario needs at least one node")
    _refuse_duplicates("node", [node.name for node in scenario.nodes])
    _refuse_duplicates("vm", [vm.name for vm in scenario.vms])
    nodes, vms = {n.name for n in scenario.nodes}, {v.name for v in scenario.vms}
    for vm in scenario.vms:
        if vm.node is not None and vm.node not in nodes:
            raise ConfigError(
                f"vm {vm.name!r}: there is no node {vm.node!r}; name one of nodes, or leave it out"
            )
    for event in scenario.events:
        if event.name not in (vms if event.what in ("arrive", "depart") else nodes):
            raise ConfigError(f"events: {event.what} names {event.name!r}, which does not exist")


def _refuse_duplicates(kind: str, names: Sequence[str]) -> None:
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ConfigError(f"{kind} {name!r} is defined twice; give the groups different names")
