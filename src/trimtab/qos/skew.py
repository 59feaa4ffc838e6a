"""The API server's clock, as far as it can be told from here.

The API says the time in whole seconds. One such answer, asked for at s and received at r, bounds
the difference: the server's clock is ahead by more than second - r and less than second + 1 - s.
Several answers narrow it down. Only a difference that is certain is corrected.
"""

from collections.abc import Callable

from msgspec import Struct

from trimtab.qos.ttv import SECOND

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
    """Nanoseconds since 1970 by the API server's clock; never goes back."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.skew = Skew()
        self._now = now
        self._last = 0

    def __call__(self) -> int:
        self._last = max(self._last, self._now() + self.skew.offset)
        return self._last

    def local(self) -> int:
        return self._now()
