"""Talking to a lab's supervisor: one JSON request per connection on a unix socket, JSON lines back.

The socket is reached through /proc/self/fd, because a unix socket's path may have 107 bytes
and a state directory can be deeper than that.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec
from msgspec import Struct, field

from trimtab.errors import NotReady, TrimtabError, Unavailable
from trimtab.lab.files.layout import LabDir
from trimtab.lab.spec import name_option

# What can be said about a lab at one moment. `trimtab lab status --json` prints exactly this.
Phase = Literal["stopped", "died", "starting", "ready", "degraded", "stopping"]
State = Literal["waiting", "starting", "ready", "unhealthy", "backing-off", "gave-up", "stopped"]


class UnitStatus(Struct, frozen=True, kw_only=True):
    """A component or a task. `message` says what it waits for or why it died."""

    name: str
    kind: Literal["component", "task"]
    state: State
    since: float
    pid: int | None = None
    restarts: int = 0
    message: str = ""
    last_lines: tuple[str, ...] = ()
    url: str = ""


class LabStatus(Struct, frozen=True, kw_only=True):
    """A lab. `died` means that its supervisor was killed: nothing runs, `up` resumes."""

    name: str
    phase: Phase
    dir: str
    message: str = ""
    supervisor_pid: int | None = None
    stacks: tuple[str, ...] = ()
    nodes: int = 0
    scale: int = 1
    server: str = ""
    ports: dict[str, int] = field(default_factory=dict)
    units: tuple[UnitStatus, ...] = ()
    warnings: tuple[str, ...] = ()


class UnitEvent(Struct, frozen=True, kw_only=True):
    """Something happened to a unit (or, with an empty `unit`, to the lab)."""

    at: float
    unit: str
    state: str
    message: str = ""
    last_lines: tuple[str, ...] = ()


SOCKET = "control.sock"


class GetStatus(Struct, frozen=True, tag=True):
    """Answered with one LabStatus."""


class RestartComponent(Struct, frozen=True, tag=True):
    """Stop it in order, start it again, answer when it is ready."""

    component: str


class ReloadComponent(Struct, frozen=True, tag=True):
    """SIGHUP or a restart, as the component's description says; answer when done."""

    component: str


class Refresh(Struct, frozen=True, tag=True):
    """Read `plan.json` again: start, stop and restart only what differs from before."""


class Repair(Struct, frozen=True, tag=True):
    """Try again what was given up or stays unhealthy; answered with Repaired at once."""


class Follow(Struct, frozen=True, tag=True):
    """Answered with the newest event of each unit, then every event as it happens."""


class Stop(Struct, frozen=True, tag=True):
    """Stop everything in order, then end; answered when all children are gone."""


Request = GetStatus | RestartComponent | ReloadComponent | Refresh | Repair | Follow | Stop


class RequestDone(Struct, frozen=True, tag="Done"):
    """The request was carried out."""


class Failed(Struct, frozen=True, tag=True):
    """It was not, and why."""

    message: str


class Repaired(Struct, frozen=True, tag=True):
    """What was found broken and is being repaired, in words."""

    found: tuple[str, ...] = ()


class StatusAnswer(Struct, frozen=True, tag=True):
    status: LabStatus


class EventAnswer(Struct, frozen=True, tag=True):
    event: UnitEvent
    status: LabStatus


Answer = RequestDone | Failed | Repaired | StatusAnswer | EventAnswer

_ANSWERS = msgspec.json.Decoder(Answer)


def ask(lab: LabDir, request: Request, timeout_s: float = 60.0) -> Answer:
    """One request, one answer; a refusal by the supervisor is raised."""
    with _connected(lab, timeout_s) as connection:
        connection.sendall(msgspec.json.encode(request) + b"\n")
        with connection.makefile("rb") as stream:
            line = stream.readline()
    if not line:
        raise Unavailable(f'lab "{lab.name}": the supervisor ended before it answered')
    return _checked(_ANSWERS.decode(line))


def read_status(lab: LabDir, timeout_s: float = 5.0) -> LabStatus:
    """The status as the running supervisor sees it."""
    answer = ask(lab, GetStatus(), timeout_s)
    if not isinstance(answer, StatusAnswer):
        raise Unavailable(f'lab "{lab.name}": expected a status, got {type(answer).__name__}')
    return answer.status


def follow(lab: LabDir, silence_s: float = 600.0) -> Iterator[EventAnswer]:
    """Events until the supervisor ends; a silence longer than `silence_s` is an error."""
    with _connected(lab, silence_s) as connection:
        connection.sendall(msgspec.json.encode(Follow()) + b"\n")
        with connection.makefile("rb") as stream:
            for line in stream:
                answer = _checked(_ANSWERS.decode(line))
                if isinstance(answer, EventAnswer):
                    yield answer


def _checked(answer: Answer) -> Answer:
    if isinstance(answer, Failed):
        raise TrimtabError(answer.message)
    return answer


@contextmanager
def _connected(lab: LabDir, timeout_s: float) -> Iterator[socket.socket]:
    directory = os.open(lab.path, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(f"/proc/self/fd/{directory}/{SOCKET}")
            yield connection
    except TimeoutError as error:
        raise Unavailable(
            f'lab "{lab.name}": the supervisor did not answer within {timeout_s:g} s; '
            f"see {lab.log('supervisor')}"
        ) from error
    except (FileNotFoundError, ConnectionError) as error:
        raise NotReady(
            f'lab "{lab.name}" is not running; start it: trimtab lab up{name_option(lab.name)}'
        ) from error
    finally:
        os.close(directory)
