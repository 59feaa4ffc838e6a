"""What can be said about a lab at one moment. `trimtab lab status --json` prints exactly this."""

from typing import Literal

from msgspec import Struct, field

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


class Event(Struct, frozen=True, kw_only=True):
    """Something happened to a unit (or, with an empty `unit`, to the lab)."""

    at: float
    unit: str
    state: str
    message: str = ""
    last_lines: tuple[str, ...] = ()
