"""Labs as a person sees them: what happens while one starts, tables of how it is."""

import time
from collections.abc import Sequence
from pathlib import Path

from trimtab.lab.control import LabStatus, UnitEvent, UnitStatus
from trimtab.lab.spec import name_option
from trimtab.stacks.loop.settings import PAGE_TOKEN_FILE, STACK
from trimtab.view.terminal import ProgressSteps, err, out, show_table

# The stacks' and a service's names; importing them would load every profile for `lab status`
ADVISOR, QOS = "advisor", "qos"
PAGE = "page"

_QUIET = ("waiting", "stopped")


class StartDisplay:
    """Tells on stderr how a start goes: a line beside a spinner, or a line per change."""

    def __init__(self, steps: ProgressSteps | None = None) -> None:
        self._steps, self._begin = steps, time.monotonic()
        self._last: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Something worth a line of its own."""
        err.print(text, markup=False)

    def show(self, event: UnitEvent) -> None:
        """A unit changed; only its new states are told, not each probe on the way."""
        if event.state in _QUIET or self._last.get(event.unit) == event.state:
            return
        self._last[event.unit] = event.state
        text = f"{event.unit} {event.state}"
        if event.state in ("backing-off", "gave-up", "unhealthy"):
            text += f": {event.message}"
        if self._steps is not None:
            self._steps.note(text)
        else:
            err.print(f"{time.monotonic() - self._begin:6.1f} s  {text}", markup=False)


def show_started(outcome: str, status: LabStatus) -> None:
    """The table of endpoints and what to try next."""
    head = {
        "created": f"lab {status.name} is ready",
        "resumed": f"lab {status.name} is ready again, with its data",
        "grown": f"lab {status.name} has {status.nodes} nodes now",
        "repaired": f"lab {status.name} is running and was repaired",
        "unchanged": f"lab {status.name} is running already; nothing was changed",
    }[outcome]
    err.print(head, markup=False)
    for text in _notes(status):
        err.print(text, markup=False)
    show_table(("endpoint", "where"), _endpoints(status))
    err.print("\nTry next:")
    for command in _next_commands(status):
        err.print(f"  {command}", markup=False)
    if address := page_address(status):
        err.print("\nSee it; whoever has this address may look:")
        err.print(f"  {address}", markup=False, soft_wrap=True)


def page_address(status: LabStatus) -> str:
    """Where the lab's page is, with the token that opens it; empty where the lab serves none.

    The token is not part of the status, which ends up in bug reports.
    """
    url = next((unit.url for unit in status.units if unit.name == PAGE), "")
    try:
        token = (Path(status.dir) / PAGE_TOKEN_FILE).read_text().strip()
    except OSError:
        return url
    return f"{url}/#{token}" if url else ""


def show_status(status: LabStatus, pace: str = "") -> None:
    """Every unit, then whether the loop keeps up, warnings and the last lines of what died."""
    line = f"lab {status.name}: {status.phase}"
    out.print(f"{line}; {status.message}" if status.message else line, markup=False)
    if not status.units:
        return
    rows = [
        (u.name, _state(u), u.pid, u.restarts or None, _age(u.since), u.url, u.message)
        for u in status.units
    ]
    columns = ("unit", "state", "pid", "restarts", "for", "url", "message")
    right, drop = ("pid", "restarts", "for"), ("pid", "for", "restarts")
    show_table(columns, rows, right=right, whole=("state", "url"), drop=drop)
    if address := page_address(status):
        out.print(f"page: {address}", markup=False, soft_wrap=True)
    if pace:
        out.print(pace, markup=False)
    for text in status.warnings:
        out.print(f"warning: {text}", markup=False)
    for unit in status.units:
        if unit.state in ("backing-off", "gave-up") and unit.last_lines:
            out.print(f"\nlast lines of {unit.name}:", markup=False)
            for line in unit.last_lines:
                out.print(f"  {line}", markup=False)


def show_labs(labs: Sequence[LabStatus]) -> None:
    """One line per lab."""
    rows = [(s.name, s.phase, " ".join(s.stacks), s.nodes, s.server, s.dir) for s in labs]
    columns = ("lab", "phase", "with", "nodes", "API server", "directory")
    whole, drop = ("phase", "API server"), ("directory", "with", "API server")
    show_table(columns, rows, right=("nodes",), whole=whole, drop=drop)


def _endpoints(status: LabStatus) -> list[tuple[str, str]]:
    found = [(unit.name, unit.url) for unit in status.units if unit.url]
    return [*found, ("kubeconfig", f"{status.dir}/kubeconfig"), ("logs", f"{status.dir}/logs")]


def _next_commands(status: LabStatus) -> tuple[str, str, str]:
    option = name_option(status.name)
    if STACK in status.stacks:
        return (
            f"trimtab lab watch{option}",
            f"trimtab lab test{option}",
            f"trimtab lab algorithm cpu_focused{option}",
        )
    if ADVISOR in status.stacks:
        return (
            f"trimtab advisor plan --lab {status.name}",
            f"trimtab advisor apply --lab {status.name}",
            f"trimtab lab kubectl{option} get virtplatformconfig",
        )
    if QOS in status.stacks:
        return (
            f"trimtab lab kubectl{option} create deployment web --image=web --replicas=10",
            f"trimtab qos top --lab {status.name}",
            f"trimtab lab kubectl{option} get qos",
        )
    return (
        f"trimtab lab kubectl{option} get nodes",
        f"trimtab lab kubectl{option} create deployment web --image=web --replicas=10",
        f"trimtab lab status{option}",
    )


def _notes(status: LabStatus) -> list[str]:
    notes = [f"{u.name}: {u.message}" for u in status.units if u.message]
    if status.scale > 1 and STACK in status.stacks:
        notes.append(
            f"time goes {status.scale} times as fast; not faster are API calls, leases, and the "
            "10 minutes after which the descheduler forgets an eviction under way"
        )
    return notes + [f"warning: {text}" for text in status.warnings]


def _state(unit: UnitStatus) -> str:
    return "done" if unit.kind == "task" and unit.state == "ready" else unit.state


def _age(since: float) -> str:
    seconds = int(time.time() - since)
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
