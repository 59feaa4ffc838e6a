"""What `lab up` means for a lab that may exist already: a pure decision.

Options that were not given keep what the lab has. A stopped lab takes on most changes; a
running one only grows. What cannot be done is refused before anything is touched.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct, structs

from trimtab.errors import ConfigError, NotReady, TrimtabError, Unavailable
from trimtab.lab import control
from trimtab.lab.control import LabStatus, UnitEvent, UnitStatus
from trimtab.lab.files.layout import LabDir
from trimtab.lab.spec import (
    LOOPBACK,
    LabClock,
    LabSpec,
    NodeSize,
    Placement,
    check_spec,
    name_option,
)

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


def settle(
    request: LabRequest, old: LabSpec | None, *, running: bool, now: float, created: str
) -> LabSpec:
    """The lab as it shall be; equal to `old` when nothing changes."""
    if old is None:
        return check_spec(_new(request, now, created))
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


def _new(request: LabRequest, now: float, created: str) -> LabSpec:
    size = NodeSize()
    return LabSpec(
        name=request.name,
        created=created,
        clock=LabClock(now, _or(request.scale, 1)),
        stacks=_or(request.stacks, ("none",)),
        nodes=_or(request.nodes, 5),
        node_size=_size(request, size),
        placement=_or(request.placement, "spread"),
        own_scheduler_config=request.own_scheduler_config,
        listen=_or(request.listen, LOOPBACK),
        hosts=request.hosts,
    )


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


# Waiting until a lab is ready, and saying why it is not.
LIMIT_S, PER_NODE_S = 120.0, 0.1
LONGEST_S = 3600.0
"""For a lab that goes on making progress, such as one that starts 5,000 VMs of KubeVirt."""


def await_ready(
    lab: LabDir,
    progress: Callable[[UnitEvent], None],
    mend: Callable[[UnitEvent], bool] = lambda _event: False,
) -> LabStatus:
    """Follow the supervisor until everything is ready; a unit it gave up on is an error.

    `mend` sees every event first, and says whether it did something about it.
    """
    status = control.read_status(lab)
    limit = LIMIT_S + PER_NODE_S * status.nodes
    for answer in while_it_moves(limit, control.follow(lab, limit)):
        progress(answer.event)
        if mend(answer.event):
            continue
        status = answer.status
        # what was mended meanwhile is still given up in the answers that were on their way
        if _given_up(status) and (unit := _given_up(control.read_status(lab))):
            raise TrimtabError(why(lab, unit))
        if status.phase == "ready":
            return status
    waiting = [f"{u.name}: {u.message or u.state}" for u in status.units if u.state != "ready"]
    raise NotReady(f'lab "{lab.name}" is not ready: {"; ".join(waiting)}')


def _given_up(status: LabStatus) -> UnitStatus | None:
    return next((unit for unit in status.units if unit.state == "gave-up"), None)


def while_it_moves(
    quiet_s: float,
    answers: Iterator[control.EventAnswer],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[control.EventAnswer]:
    """What is answered until nothing changes for `quiet_s`, or it has taken far too long."""
    began = last = clock()
    seen: set[str] = set()
    try:
        for answer in answers:
            yield answer
            event = answer.event
            told = f"{event.unit} {event.state} {event.message}"
            if told not in seen:  # a unit that goes in circles makes no progress
                seen.add(told)
                last = clock()
            if clock() - last > quiet_s or clock() - began > LONGEST_S:
                return
    except Unavailable:
        return


def why(lab: LabDir, unit: UnitStatus) -> str:
    """What happened to a unit that was given up, with the last lines of its log."""
    log = lab.log(unit.name if unit.kind == "component" else "supervisor")
    text = f"{unit.name}: {unit.message}; its log: {log}"
    return "\n  ".join((text + _disk_hint(lab, unit.last_lines), *unit.last_lines))


def _disk_hint(lab: LabDir, lines: tuple[str, ...]) -> str:
    full = any("no space left on device" in line for line in lines)
    if not full and shutil.disk_usage(lab.path).free >= 2**20:
        return ""
    again = f"trimtab lab up{name_option(lab.name)}"
    return f"; the disk of {lab.path} is full: make room, then: {again}"
