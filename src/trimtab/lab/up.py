"""Starting a lab, or resuming it: decide, prepare, start a supervisor, wait until all is ready.

Whatever goes wrong on the way (an error, Ctrl-C), a lab that was not running before is not
running afterwards.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct, field, structs

from trimtab.errors import Conflict, NotReady, TrimtabError
from trimtab.lab import control
from trimtab.lab.control_plane import PORTS
from trimtab.lab.down import down
from trimtab.lab.launch import launch
from trimtab.lab.layout import Home, LabDir
from trimtab.lab.lock import held
from trimtab.lab.look import is_running
from trimtab.lab.ports import choose_ports, holder, is_free
from trimtab.lab.prepare import prepare
from trimtab.lab.settle import Wish, settle
from trimtab.lab.spec import LabSpec, name_option
from trimtab.lab.stack import Stack, choose
from trimtab.lab.status import Event, LabStatus, UnitStatus
from trimtab.lab.supervisor import supervise

NEEDED_DISK = 300 * 1024 * 1024
READY_LIMIT_S, PER_NODE_S = 120.0, 0.1

Outcome = Literal["created", "resumed", "grown", "unchanged"]


class Means(Struct, frozen=True, kw_only=True):
    """What `up` needs from the layers around it."""

    stacks: Mapping[str, Stack]
    locate: Callable[[str], Path]
    versions: Mapping[str, str] = field(default_factory=dict)
    report: Callable[[str], None] = lambda _text: None
    progress: Callable[[Event], None] = lambda _event: None


def up(
    home: Home, wish: Wish, means: Means, own_scheduler_config: str | None
) -> tuple[Outcome, LabStatus]:
    """Make or resume the lab and wait until it is ready."""
    lab = home.lab(wish.name)
    with held(home.path / "locks" / f"{wish.name}.lock", wait_s=READY_LIMIT_S):
        if is_running(lab):
            return _join(lab, wish, means)
        outcome = _lay_out(home, lab, wish, means, own_scheduler_config)
        with _undone_on_failure(lab):
            launch(lab)
            return outcome, await_ready(lab, means.progress)


def stay_up(home: Home, wish: Wish, means: Means, own_scheduler_config: str | None) -> None:
    """Be the supervisor ourselves: make or resume the lab, tell what happens, until Ctrl-C."""
    lab = home.lab(wish.name)
    if is_running(lab):
        raise Conflict(
            f'lab "{lab.name}" is running; stop it: trimtab lab down{name_option(lab.name)}'
        )
    with held(home.path / "locks" / f"{wish.name}.lock", wait_s=READY_LIMIT_S):
        _lay_out(home, lab, wish, means, own_scheduler_config)
    supervise(lab, means.progress)


def _lay_out(
    home: Home, lab: LabDir, wish: Wish, means: Means, own_scheduler_config: str | None
) -> Outcome:
    """Everything on disk that the supervisor will read."""
    old = lab.read_spec()
    spec = settle(wish, old, running=False, now=time.time(), created=_now())
    stacks = choose(spec.stacks, means.stacks)
    _check_disk(home)
    settings = {s.name: dict(s.settings) for s in stacks if s.settings}
    spec = structs.replace(spec, versions=dict(means.versions), settings=settings)
    with held(home.ports_lock, wait_s=30.0):
        spec = _with_ports(home, spec, stacks, means)
        prepare(lab, spec, stacks, means.locate, own_scheduler_config)
    return "resumed" if old else "created"


def _with_ports(home: Home, spec: LabSpec, stacks: tuple[Stack, ...], means: Means) -> LabSpec:
    """The lab's own ports from before, otherwise the usual ones; moved where somebody has them."""
    usual = {**PORTS, **{name: port for s in stacks for name, port in s.ports.items()}}
    wanted = {name: spec.ports.get(name, port) for name, port in usual.items()}
    reserved = {
        port: f'lab "{other.name}"'
        for other in home.labs()
        if other.name != spec.name and (theirs := other.read_spec())
        for port in theirs.ports.values()
    }
    ports, moved = choose_ports(wanted, reserved, lambda port: is_free(spec.listen, port), holder)
    for move in moved:
        means.report(str(move))
    return structs.replace(spec, ports=ports)


def _join(lab: LabDir, wish: Wish, means: Means) -> tuple[Outcome, LabStatus]:
    """It runs already: grow if that was asked, otherwise change nothing."""
    old = lab.read_spec()
    assert old is not None, "a running lab has a lab.json"
    spec = settle(wish, old, running=True, now=time.time(), created=old.created)
    if spec == old:
        return "unchanged", await_ready(lab, means.progress)
    prepare(lab, spec, choose(spec.stacks, means.stacks), means.locate, None)
    control.ask(lab, control.Refresh())
    return "grown", await_ready(lab, means.progress)


def await_ready(lab: LabDir, progress: Callable[[Event], None]) -> LabStatus:
    """Follow the supervisor until everything is ready; a unit it gave up on is an error."""
    spec = lab.read_spec()
    limit = READY_LIMIT_S + PER_NODE_S * (spec.nodes if spec else 0)
    deadline = time.monotonic() + limit
    status = control.read_status(lab)
    for answer in control.follow(lab, limit):
        progress(answer.event)
        status = answer.status
        for unit in status.units:
            if unit.state == "gave-up":
                raise TrimtabError(_why(lab, unit))
        if status.phase == "ready":
            return status
        if time.monotonic() > deadline:
            break
    waiting = [f"{u.name}: {u.message or u.state}" for u in status.units if u.state != "ready"]
    raise NotReady(f'lab "{lab.name}" is not ready after {limit:g} s: {"; ".join(waiting)}')


def _why(lab: LabDir, unit: UnitStatus) -> str:
    text = f"{unit.name}: {unit.message}; its log: {lab.log(unit.name)}"
    return _with_lines(text + _disk_hint(lab, unit.last_lines), unit.last_lines)


def _disk_hint(lab: LabDir, lines: tuple[str, ...]) -> str:
    full = any("no space left on device" in line for line in lines)
    if not full and shutil.disk_usage(lab.path).free >= 2**20:
        return ""
    return (
        f"; the disk of {lab.path} is full: make room, then: trimtab lab up{name_option(lab.name)}"
    )


def _with_lines(text: str, lines: tuple[str, ...]) -> str:
    return "\n  ".join((text, *lines))


@contextmanager
def _undone_on_failure(lab: LabDir) -> Iterator[None]:
    try:
        yield
    except BaseException:
        down(lab)
        raise


def _check_disk(home: Home) -> None:
    place = next(p for p in (home.path, *home.path.parents) if p.exists())
    free = shutil.disk_usage(place).free
    if free < NEEDED_DISK:
        raise TrimtabError(
            f"the disk of {home.path} has {free // 2**20} MB left, a lab needs "
            f"{NEEDED_DISK // 2**20}; make room there or set XDG_STATE_HOME"
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
