"""The states of all units: each unit posts its own, and others wait for them.

All in one event loop, so posting is a plain function: waiters look again after every post.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import structs

from trimtab.lab.control import Phase, UnitEvent, UnitStatus
from trimtab.obs import get_logger

log = get_logger()


class UnitStates:
    """The newest status of each unit, and every change of it for those who follow."""

    def __init__(self) -> None:
        self.units: dict[str, UnitStatus] = {}
        self.warnings: dict[str, str] = {}
        self.stopping = False
        self.refreshing = False
        self._was_ready = False
        self._changed = asyncio.Event()
        self._followers: set[asyncio.Queue[UnitEvent | None]] = set()
        self._watchers: list[Callable[[UnitEvent], None]] = []

    def add(self, unit: UnitStatus) -> None:
        self.units[unit.name] = unit

    def remove(self, name: str) -> None:
        del self.units[name]
        self.touch()

    def post(self, name: str, **changes: Any) -> None:
        """Change a unit's status; a new state or message is an event."""
        old = self.units[name]
        new = structs.replace(old, **changes)
        if new == old:
            return
        if new.state != old.state:
            new = structs.replace(new, since=time.time())
        self.units[name] = new
        if (new.state, new.message) != (old.state, old.message):
            self._publish(new)
        self.touch()

    def warn(self, topic: str, text: str) -> None:
        """Set, or with an empty text remove, the warning on a topic."""
        if text and topic not in self.warnings:
            log.warning(text, topic=topic)
        self.warnings = {k: v for k, v in {**self.warnings, topic: text}.items() if v}

    def touch(self) -> None:
        self._was_ready = self._was_ready or phase_of(self.units.values(), False, False) == "ready"
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    @property
    def phase(self) -> Phase:
        """The lab as a whole; never ready while units are exchanged, for some are missing."""
        phase = phase_of(self.units.values(), self.stopping, self._was_ready)
        return "degraded" if self.refreshing and phase == "ready" else phase

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds()`, looking again after every post."""
        while not holds():
            await self._changed.wait()

    def ready(self, names: Iterable[str]) -> bool:
        return all(n in self.units and self.units[n].state == "ready" for n in names)

    def watch(self, watcher: Callable[[UnitEvent], None]) -> None:
        """Call `watcher` with every event, in this process."""
        self._watchers.append(watcher)

    def follow(self) -> asyncio.Queue[UnitEvent | None]:
        """Every event from now on, after the newest one of each unit."""
        queue: asyncio.Queue[UnitEvent | None] = asyncio.Queue(maxsize=10_000)
        for unit in self.units.values():
            queue.put_nowait(_event(unit))
        self._followers.add(queue)
        return queue

    @property
    def has_followers(self) -> bool:
        return bool(self._followers)

    def unfollow(self, queue: asyncio.Queue[UnitEvent | None]) -> None:
        self._followers.discard(queue)

    def end_following(self) -> None:
        """No more events will come: every queue gets its None."""
        for queue in list(self._followers):
            self._put(queue, None)

    def _put(self, queue: asyncio.Queue[UnitEvent | None], event: UnitEvent | None) -> None:
        try:
            queue.put_nowait(event)
        except asyncio.QueueFull:  # it stopped reading: let its connection end
            self._followers.discard(queue)
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(None)

    def _publish(self, unit: UnitStatus) -> None:
        event = _event(unit)
        say = log.warning if unit.state in ("backing-off", "gave-up", "unhealthy") else log.info
        say("state changed", unit=unit.name, state=unit.state, message=unit.message, pid=unit.pid)
        for watcher in self._watchers:
            watcher(event)
        for queue in list(self._followers):
            self._put(queue, event)


def phase_of(units: Iterable[UnitStatus], stopping: bool, was_ready: bool) -> Phase:
    """The lab as a whole: degraded means that something needs time, or someone's help."""
    states = {unit.state for unit in units}
    if stopping:
        return "stopping"
    if "gave-up" in states:
        return "degraded"
    if states <= {"ready"}:
        return "ready"
    return "degraded" if was_ready else "starting"


def _event(unit: UnitStatus) -> UnitEvent:
    return UnitEvent(
        at=unit.since,
        unit=unit.name,
        state=unit.state,
        message=unit.message,
        last_lines=unit.last_lines,
    )
