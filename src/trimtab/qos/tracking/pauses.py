"""Whether this process was looking: one that is paused or starved hears of things late.

What it then hears is as old as the pause at most. Most of it says when it happened; the removal
of an object does not.
"""

from trimtab.qos.ledger.time_to_violation import SECOND

EVERY_S = 1.0
STALL = 3 * SECOND
"""Whoever looks every second and has not for so long was kept from it."""
BACKLOG = 5 * SECOND
"""For so long after a pause what is heard may be from before its end."""


class PauseDetector:
    def __init__(self) -> None:
        self._last: int | None = None
        self._from = self._until = 0

    def look(self, now: int) -> None:
        """The process is there; whoever calls this once must go on."""
        self._note(now)
        self._last = now

    def unseen(self, now: int) -> int:
        """For how many nanoseconds before `now` something may have happened unseen."""
        self._note(now)
        return now - self._from if now - self._until < BACKLOG else 0

    def _note(self, now: int) -> None:
        if self._last is not None and now - self._last > STALL:
            self._from, self._until = self._last, now
            self._last = now
