"""Waiting until a lab is ready, and saying why it is not."""

import shutil
import time
from collections.abc import Callable, Iterator

from trimtab.errors import NotReady, TrimtabError, Unavailable
from trimtab.lab import control
from trimtab.lab.layout import LabDir
from trimtab.lab.spec import name_option
from trimtab.lab.status import Event, LabStatus, UnitStatus

LIMIT_S, PER_NODE_S = 120.0, 0.1


def await_ready(lab: LabDir, progress: Callable[[Event], None]) -> LabStatus:
    """Follow the supervisor until everything is ready; a unit it gave up on is an error."""
    status = control.read_status(lab)
    limit = LIMIT_S + PER_NODE_S * status.nodes
    for answer in _until(time.monotonic() + limit, control.follow(lab, limit)):
        progress(answer.event)
        status = answer.status
        for unit in status.units:
            if unit.state == "gave-up":
                raise TrimtabError(why(lab, unit))
        if status.phase == "ready":
            return status
    waiting = [f"{u.name}: {u.message or u.state}" for u in status.units if u.state != "ready"]
    raise NotReady(f'lab "{lab.name}" is not ready: {"; ".join(waiting)}')


def _until(
    deadline: float, answers: Iterator[control.EventAnswer]
) -> Iterator[control.EventAnswer]:
    """What is answered before the deadline; a supervisor that falls silent ends it too."""
    try:
        for answer in answers:
            yield answer
            if time.monotonic() > deadline:
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
