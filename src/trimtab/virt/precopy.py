"""Pre-copy: how fast a migration goes while others use the same network cards.

A node sends for all its outgoing migrations and receives for all its incoming ones; each
gets an equal share, and a migration goes at the smaller of its two. The VM dirties memory
meanwhile, so what is left shrinks by the share minus the dirty rate, and without a
difference it never ends.

The simulator computes the same in columns of numbers (`sim.migration.copies`), because it has
thousands of copies at once; a property test holds the two equal to the bit.
"""

from collections.abc import Collection
from math import inf

from msgspec import Struct

from trimtab.virt.migration_backoff import GIB, PROGRESS_S

DEFAULT_BANDWIDTH = GIB
"""Bytes a second that a node sends or receives for migrations, unless told otherwise.

KubeVirt itself sets no limit; then the network card is the limit.
"""


class Copy(Struct, eq=False):
    """One pre-copy under way. `left`, `sent` hold at `since_s`; the rates from then on."""

    source: int
    target: int
    left: float
    dirty_rate: float
    deadline_s: float
    begun_s: float
    since_s: float
    sent: float = 0.0
    share: float = 0.0
    stuck_since_s: float = inf

    @property
    def ends_s(self) -> float:
        """When it finishes or is given up, at the present rate."""
        return min(self.finishes_s, self.deadline_s, self.stuck_since_s + PROGRESS_S)

    @property
    def finishes_s(self) -> float:
        rate = self.share - self.dirty_rate
        return self.since_s + self.left / rate if rate > 0 else inf

    @property
    def is_in_time(self) -> bool:
        return self.finishes_s <= min(self.deadline_s, self.stuck_since_s + PROGRESS_S)

    def progress(self, now: float) -> None:
        """Account for the time up to now at the rates that held."""
        passed = now - self.since_s
        self.left = max(self.left - max(self.share - self.dirty_rate, 0.0) * passed, 0.0)
        self.sent += self.share * passed
        self.since_s = now

    def set_share(self, share: float, now: float) -> None:
        self.progress(now)
        self.share = share
        if share > self.dirty_rate:
            self.stuck_since_s = inf
        elif self.stuck_since_s == inf:
            self.stuck_since_s = now


def share_network(copies: Collection[Copy], bandwidth: float, now: float) -> None:
    """Give every copy its share of the bandwidth from now on."""
    sending: dict[int, int] = {}
    receiving: dict[int, int] = {}
    for copy in copies:
        sending[copy.source] = sending.get(copy.source, 0) + 1
        receiving[copy.target] = receiving.get(copy.target, 0) + 1
    for copy in copies:
        copy.set_share(bandwidth / max(sending[copy.source], receiving[copy.target]), now)
