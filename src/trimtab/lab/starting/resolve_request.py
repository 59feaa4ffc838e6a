"""What `lab up` is to make of a lab that may exist already: request and old spec in, spec out.

Options that were not given keep what the lab has. A stopped lab takes on most changes; a
running one only grows. What cannot be done is refused before anything is touched.
"""

from typing import TypeVar

from msgspec import Struct, structs

from trimtab.errors import ConfigError
from trimtab.lab.spec import LabClock, LabSpec, NodeSize, Placement, check_spec, name_option

_T = TypeVar("_T")


class LabRequest(Struct, frozen=True, kw_only=True):
    """What was asked for on the command line; None where nothing was said."""

    name: str
    stacks: tuple[str, ...] | None = None
    nodes: int | None = None
    node_cpu: str | None = None
    node_memory: str | None = None
    node_pods: int | None = None
    placement: Placement | None = None
    own_scheduler_config: bool = False
    scale: int | None = None
    listen: str | None = None
    hosts: tuple[str, ...] = ()


def resolve_request(
    request: LabRequest, old: LabSpec | None, *, running: bool, now: float, created: str
) -> LabSpec:
    """The lab as it shall be; equal to `old` when nothing changes."""
    if old is None:
        clock = LabClock(now, _or(request.scale, 1))
        new = LabSpec(name=request.name, created=created, clock=clock, hosts=request.hosts)
        return check_spec(_changed(request, new, now))
    spec = check_spec(_changed(request, old, now))
    if spec.nodes < old.nodes:
        raise ConfigError(
            f"--nodes {spec.nodes}: lab {old.name} has {old.nodes} and only grows; "
            f"start over: trimtab lab wipe{name_option(old.name)}"
        )
    if spec.node_size != old.node_size:
        raise ConfigError(
            f"the size of nodes is fixed when a lab is made; start over: "
            f"trimtab lab wipe{name_option(old.name)}"
        )
    if running and structs.replace(spec, nodes=old.nodes) != old:
        raise ConfigError(
            f"lab {old.name} is running with {_differences(old, spec)}; "
            f"stop it first: trimtab lab down{name_option(old.name)}"
        )
    return spec


def _changed(request: LabRequest, old: LabSpec, now: float) -> LabSpec:
    scale = _or(request.scale, old.clock.scale)
    # asking for a placement means ours, and drops a configuration given earlier
    own = request.own_scheduler_config or (old.own_scheduler_config and request.placement is None)
    return structs.replace(
        old,
        clock=old.clock if scale == old.clock.scale else old.clock.rescaled(scale, now),
        stacks=_or(request.stacks, old.stacks),
        nodes=_or(request.nodes, old.nodes),
        node_size=_size(request, old.node_size),
        placement=_or(request.placement, old.placement),
        own_scheduler_config=own,
        listen=_or(request.listen, old.listen),
        hosts=request.hosts if request.listen else old.hosts,
    )


def _size(request: LabRequest, size: NodeSize) -> NodeSize:
    return NodeSize(
        cpu=_or(request.node_cpu, size.cpu),
        memory=_or(request.node_memory, size.memory),
        pods=_or(request.node_pods, size.pods),
    )


def _differences(old: LabSpec, new: LabSpec) -> str:
    pairs = {
        "stacks": (" ".join(old.stacks), " ".join(new.stacks)),
        "placement": (old.placement, new.placement),
        "scale": (old.clock.scale, new.clock.scale),
        "address": (old.listen, new.listen),
        "own scheduler configuration": (old.own_scheduler_config, new.own_scheduler_config),
    }
    return ", ".join(f"{name} {a}, not {b}" for name, (a, b) in pairs.items() if a != b)


def _or(value: _T | None, default: _T) -> _T:
    return default if value is None else value
