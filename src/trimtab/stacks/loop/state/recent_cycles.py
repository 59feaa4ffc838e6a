"""What a lab's descheduler says about its cycles, as far as a look at the loop needs it.

The newest cycles at the end of its log; a plugin that failed says so in between, and the
descheduler goes on as if nothing had happened.
"""

from pathlib import Path

from msgspec import Struct

from trimtab.lab.control import read_status
from trimtab.lab.files.layout import LabDir
from trimtab.observe.descheduler_log import LoggedCycle, parse_cycles
from trimtab.policy.cycle import PodOutcome

TAIL = 4 * 1024 * 1024


class Request(Struct, frozen=True):
    """A pod that was asked to go."""

    pod: str
    background: bool


class RecentCycle(Struct, frozen=True, kw_only=True):
    """One descheduling cycle, as the log has it."""

    pid: int
    ended: str
    """The time of the day at which it ended."""
    errors: tuple[str, ...] = ()
    classes: dict[str, str] = {}
    """What it called each node: underutilized, overutilized, appropriate."""
    requests: tuple[Request, ...] = ()
    evicted: int = 0

    @property
    def worked(self) -> bool:
        """Whether it could decide at all; it may have decided to do nothing."""
        return not self.errors


def read_cycles(log: Path, pid: int | None = None) -> list[RecentCycle]:
    """The whole cycles at the end of a log; with `pid` only those of that process."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - TAIL))
        text = file.read().decode(errors="replace")
    return [recent_cycle(c) for c in parse_cycles(text.splitlines()) if pid is None or c.pid == pid]


def current_cycle(lab: LabDir) -> RecentCycle | None:
    """The newest whole cycle of the descheduler's present process."""
    pids = {unit.name: unit.pid for unit in read_status(lab).units}
    found = read_cycles(lab.log("descheduler"), pids.get("descheduler"))
    return found[-1] if found else None


def recent_cycle(cycle: LoggedCycle) -> RecentCycle:
    """The cycle in short."""
    gone = {PodOutcome.BACKGROUND: True, PodOutcome.EVICTED: False}
    return RecentCycle(
        pid=cycle.pid,
        ended=cycle.ended.partition(" ")[2],
        errors=cycle.errors + ((cycle.skipped,) if cycle.skipped else ()),
        classes={r.node: r.category for run in cycle.runs for r in run.readings.values()},
        requests=tuple(Request(n.pod, gone[n.outcome]) for n in cycle.notes if n.outcome in gone),
        evicted=cycle.evicted,
    )
