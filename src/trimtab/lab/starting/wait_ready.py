"""Waiting until a lab is ready, and saying why it is not."""

import shutil
import time
from collections.abc import Callable, Iterator

from trimtab.errors import NotReady, TrimtabError, Unavailable
from trimtab.lab import control
from trimtab.lab.control import LabStatus, UnitEvent, UnitStatus
from trimtab.lab.files.layout import LabDir
from trimtab.lab.spec import name_option

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
