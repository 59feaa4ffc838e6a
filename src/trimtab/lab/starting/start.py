"""Starting a lab, or resuming it: decide, write it down, launch a supervisor, wait.

Whatever goes wrong on the way (an error, Ctrl-C), a lab that was not running before is not
running afterwards.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct, field, structs

from trimtab.errors import ConfigError, TrimtabError
from trimtab.files.lock import held
from trimtab.files.writing import make_private_dir
from trimtab.lab import control
from trimtab.lab.components.control_plane import PORTS
from trimtab.lab.components.scheduler import OWN_CONFIG_FILE
from trimtab.lab.components.stack import Stack, choose
from trimtab.lab.control import LabStatus, UnitEvent
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.inspection import is_running
from trimtab.lab.ports import (
    PortMover,
    PortRegister,
    check_address,
    choose_ports,
    choosing,
    holder,
    is_free,
    lost_ports,
)
from trimtab.lab.spec import LOOPBACK, LabSpec, name_option
from trimtab.lab.starting.launch import launching
from trimtab.lab.starting.resolve_request import LabRequest, resolve_request
from trimtab.lab.starting.wait_ready import await_ready
from trimtab.lab.stop import check_stopped, end_leftovers

NEEDED_DISK = 300 * 1024 * 1024
TURN_LIMIT_S = 120.0
REFRESH_LIMIT_S = 150.0

Outcome = Literal["created", "resumed", "grown", "repaired", "unchanged"]


class Means(Struct, frozen=True, kw_only=True):
    """What `up` needs from the layers around it.

    `port_shift` moves all usual ports, so that labs of the tests keep out of the way of others.
    """

    stacks: Mapping[str, Stack]
    locate: Callable[[str], Path]
    versions: Mapping[str, str] = field(default_factory=dict)
    report: Callable[[str], None] = lambda _text: None
    progress: Callable[[UnitEvent], None] = lambda _event: None
    port_shift: int = 0


class _Order(Struct, frozen=True):
    """A lab that was agreed on: `write` puts it on disk."""

    outcome: Outcome
    write: Callable[[], None]


def up(
    home: Home, request: LabRequest, means: Means, own_scheduler_config: str | None
) -> tuple[Outcome, LabStatus]:
    """Make or resume the lab and wait until it is ready."""
    lab = home.lab(request.name)
    with _turn(home, lab):
        if is_running(lab):
            return _join(home, lab, request, means, own_scheduler_config)
        end_leftovers(lab)
        order = _order(home, lab, request, means, own_scheduler_config)
        with _on_disk(lab), launching(lab) as supervisor:
            order.write()
            supervisor.go()
            return order.outcome, _await_ready(home, lab, means)


def _await_ready(home: Home, lab: LabDir, means: Means) -> LabStatus:
    mover = PortMover(lambda lines: _move_ports(home, lab, means, lines))
    return await_ready(lab, means.progress, mover.mend)


def stay_up(
    home: Home, request: LabRequest, means: Means, own_scheduler_config: str | None
) -> None:
    """Be the supervisor ourselves: make or resume the lab, tell what happens, until Ctrl-C."""
    from trimtab.lab.supervisor import supervise  # 0.15 s of imports

    lab = home.lab(request.name)
    with _turn(home, lab):
        check_stopped(lab)
        end_leftovers(lab)
        order = _order(home, lab, request, means, own_scheduler_config)
        with _on_disk(lab):
            order.write()
    mover = PortMover(lambda lines: _move_ports(home, lab, means, lines))

    def mend(event: UnitEvent) -> None:
        try:
            mover.mend(event)
        except TrimtabError as error:
            means.report(f"the ports of {event.unit} could not be moved: {error}")

    with ThreadPoolExecutor(1) as beside:  # the supervisor must go on while its plan is remade

        def watch(event: UnitEvent) -> None:
            means.progress(event)
            if event.last_lines:
                beside.submit(mend, event)

        supervise(lab, watch)


def _order(
    home: Home, lab: LabDir, request: LabRequest, means: Means, own_scheduler_config: str | None
) -> _Order:
    """Agree on the lab, or refuse before anything is touched."""
    old = lab.read_spec()
    spec = resolve_request(request, old, running=False, now=time.time(), created=_now())
    stacks = choose(spec.stacks, means.stacks)
    check_address(spec.listen)
    _check_disk(home)
    settings = {s.name: dict(s.settings) for s in stacks if s.settings}
    agreed = structs.replace(spec, versions=dict(means.versions), settings=settings)

    def write() -> None:
        with choosing(home) as register:
            complete = _with_ports(home, agreed, stacks, means, register)
            register.enter(lab, complete.ports)
            _prepare(lab, complete, stacks, means, own_scheduler_config)

    return _Order("resumed" if old else "created", write)


def _prepare(
    lab: LabDir, spec: LabSpec, stacks: tuple[Stack, ...], means: Means, own: str | None
) -> None:
    from trimtab.lab.files.prepare import prepare  # certificates: 0.05 s of imports

    prepare(lab, spec, stacks, means.locate, own)


def _with_ports(
    home: Home, spec: LabSpec, stacks: tuple[Stack, ...], means: Means, register: PortRegister
) -> LabSpec:
    """The lab's own ports from before, otherwise the usual ones; moved where somebody has them."""
    usual = {**PORTS, **{name: port for s in stacks for name, port in s.ports.items()}}
    wanted = {n: spec.ports.get(n, port + means.port_shift) for n, port in usual.items()}
    reserved = _reserved(home, spec, register)
    return structs.replace(spec, ports=_chosen(spec, wanted, reserved, means))


def _move_ports(home: Home, lab: LabDir, means: Means, lines: tuple[str, ...]) -> bool:
    """Other ports for those that could not be bound, and a running lab that uses them."""
    with choosing(home) as register:
        spec = lab.read_spec()
        lost = lost_ports(spec.ports, lines) if spec else []
        if spec is None or not lost:
            return False
        kept = {name: port for name, port in spec.ports.items() if name not in lost}
        reserved = _reserved(home, spec, register) | dict.fromkeys(kept.values(), "this lab")
        moved = _chosen(spec, {name: spec.ports[name] for name in lost}, reserved, means)
        ports = {name: moved.get(name, port) for name, port in spec.ports.items()}
        if ports == spec.ports:
            return False  # it is free again: the next try will have it
        register.enter(lab, ports)
        stacks = choose(spec.stacks, means.stacks)
        _prepare(lab, structs.replace(spec, ports=ports), stacks, means, None)
    control.ask(lab, control.Refresh(), REFRESH_LIMIT_S)
    return True


def _reserved(home: Home, spec: LabSpec, register: PortRegister) -> dict[int, str]:
    """Ports of this home's other labs, stopped ones included, and of this user's other labs."""
    here = {
        port: f'lab "{name}"'
        for name, ports in home.all_ports().items()
        if name != spec.name
        for port in ports.values()
    }
    return register.others(home.lab(spec.name)) | here


def _chosen(
    spec: LabSpec, wanted: Mapping[str, int], reserved: Mapping[int, str], means: Means
) -> dict[str, int]:
    addresses = {spec.listen, LOOPBACK}
    ports, moved = choose_ports(
        wanted, reserved, lambda port: all(is_free(a, port) for a in addresses), holder
    )
    for move in moved:
        means.report(str(move))
    return ports


def _join(
    home: Home, lab: LabDir, request: LabRequest, means: Means, own_scheduler_config: str | None
) -> tuple[Outcome, LabStatus]:
    """It runs already: grow if that was asked, repair what is broken, change nothing else."""
    old = lab.read_spec()
    assert old is not None, "a running lab has a lab.json"
    spec = resolve_request(request, old, running=True, now=time.time(), created=old.created)
    _refuse_other_config(lab, own_scheduler_config)
    repaired = control.ask(lab, control.Repair())
    found = repaired.found if isinstance(repaired, control.Repaired) else ()
    for text in found:
        means.report(text)
    if spec == old:
        return "repaired" if found else "unchanged", _await_ready(home, lab, means)
    _prepare(lab, spec, choose(spec.stacks, means.stacks), means, None)
    control.ask(lab, control.Refresh())
    return "grown", _await_ready(home, lab, means)


def _refuse_other_config(lab: LabDir, own_scheduler_config: str | None) -> None:
    file = lab.path / OWN_CONFIG_FILE
    if own_scheduler_config is not None and own_scheduler_config != file.read_text():
        raise ConfigError(
            f"lab {lab.name} is running with another scheduler configuration; "
            f"stop it first: trimtab lab down{name_option(lab.name)}"
        )


@contextmanager
def _turn(home: Home, lab: LabDir) -> Iterator[None]:
    """One `up` at a time for each lab."""
    with held(home.turn_lock(lab), wait_s=TURN_LIMIT_S):
        yield


@contextmanager
def _on_disk(lab: LabDir) -> Iterator[None]:
    """A full disk becomes an error of one line; a lab without its `lab.json` leaves no files."""
    try:
        make_private_dir(lab.logs)
        yield
    except BaseException as error:
        if not lab.spec_file.exists():
            shutil.rmtree(lab.path, ignore_errors=True)
        if isinstance(error, OSError):
            where = error.filename or lab.path
            raise TrimtabError(f"cannot write {where}: {error.strerror}") from error
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
