"""The API server's clock, as far as it can be told from here.

The API says the time in whole seconds. One such answer, asked for at s and received at r, bounds
the difference: the server's clock is ahead by more than second - r and less than second + 1 - s.
Several answers narrow it down. Only a difference that is certain is corrected.
"""

import time
from collections.abc import Callable

from msgspec import Struct

from trimtab.qos.ledger.time_to_violation import SECOND

WIDEST = 10 * SECOND  # an answer that took longer says nothing


class Skew(Struct):
    """Bounds of the server's clock minus ours, in nanoseconds."""

    least: int = -(2**62)
    most: int = 2**62
    samples: int = 0

    def learn(self, sent: int, received: int, second: int) -> None:
        """The server said `second` (nanoseconds, whole seconds) between these two moments."""
        if received - sent > WIDEST:
            return
        least, most = second - received, second + SECOND - sent
        if least > self.most or most < self.least:  # one of the clocks was set: begin anew
            self.least, self.most = least, most
        else:
            self.least, self.most = max(self.least, least), min(self.most, most)
        self.samples += 1

    @property
    def offset(self) -> int:
        """What to add to our clock: nothing, unless both bounds say otherwise."""
        if not self.samples or self.least <= 0 <= self.most:
            return 0
        return (self.least + self.most) // 2


class ServerTime:
    """Nanoseconds since 1970 by the API server's clock.

    Between two answers of the server a steady clock goes on, so it does not matter if somebody
    sets this computer's clock, or sets it and corrects that at once. A small correction never
    makes time go back; a large one says that the server's own clock was set, and is followed.
    """

    def __init__(self, now: Callable[[], int], steady: Callable[[], int] | None = None) -> None:
        self.skew = Skew()
        self._wall = now
        self._steady = steady or now
        self._start = now() - self._steady()
        self._last = 0

    def __call__(self) -> int:
        now = self.local() + self.skew.offset
        if not 0 < self._last - now < WIDEST:
            self._last = now
        return self._last

    def local(self) -> int:
        """Our own time, whoever sets the clock."""
        return self._start + self._steady()

    def of_wall(self) -> int:
        """What to add to a time that this computer's clock said a moment ago."""
        return self.local() - self._wall() + self.skew.offset


def steady() -> int:
    """Nanoseconds of a clock that nobody sets, sleep of the computer included."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
