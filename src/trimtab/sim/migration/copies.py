"""All pre-copies of a replica, as columns of numbers; the model is that of `virt.precopy`.

One copy that begins or ends changes the shares of others, so all of them are brought up to
date at each such moment. With 8,000 under way that takes 0.1 ms in columns; one `Copy` after
the other took 30 ms. Those that begin or end at one moment do so together, for the same reason.
"""

from math import inf

import numpy as np

from trimtab.sim.fleet import Flags, Floats, Numbers
from trimtab.virt.migration_backoff import PROGRESS_S

_FIRST_ROOM = 16


class PreCopies:
    """All pre-copies of one replica that are under way, one for a VM at most.

    Each has a place in the columns; when some end, the last ones take their places.
    """

    def __init__(self, nodes: int, vms: int, bandwidth: float) -> None:
        self._bandwidth = bandwidth
        self._sending = np.zeros(nodes, dtype=np.int64)
        self._receiving = np.zeros(nodes, dtype=np.int64)
        self._count = 0
        self._behind = np.zeros(vms, dtype=np.intp)
        """By VM, one more than the place of its copy; 0 if it has none."""
        self._since_s = 0.0
        """`left` and `sent` hold at this moment, shares and rates from then on."""
        self._regrouped = False
        self._ends_first_s = inf
        self._places = np.zeros((4, _FIRST_ROOM), dtype=np.intp)
        self._figures = np.zeros((9, _FIRST_ROOM))
        self._name_columns()

    def _name_columns(self) -> None:
        self._vms, self._sources, self._targets, self._turns = self._places
        (
            self._left,
            self._sent,
            self._dirty_rate,
            self._share,
            self._rate,
            self._deadline_s,
            self._stuck_since_s,
            self._finishes_s,
            self._given_up_s,
        ) = self._figures

    def __len__(self) -> int:
        return self._count

    def __contains__(self, vm: int) -> bool:
        return bool(self._behind.item(vm))

    @property
    def vms(self) -> Numbers:
        """The VMs that are being copied, in no order."""
        return self._vms[: self._count]

    @property
    def next_s(self) -> float:
        """When the first of them finishes or is given up, at the present rates."""
        return self._ends_first_s

    def begin(
        self,
        vms: Numbers,
        sources: Numbers,
        targets: Numbers,
        turns: Numbers,
        left: Floats,
        dirty_rate: Floats,
        deadline_s: Floats,
    ) -> None:
        """Copies begin now; they have a share as soon as `share` is called.

        turns: of those that are due at one moment the smallest comes first.
        """
        first, end = self._count, self._count + len(vms)
        while end > self._places.shape[1]:
            self._places = np.concatenate([self._places, np.zeros_like(self._places)], axis=1)
            self._figures = np.concatenate([self._figures, np.zeros_like(self._figures)], axis=1)
            self._name_columns()
        self._count = end
        new = slice(first, end)
        self._vms[new], self._sources[new] = vms, sources
        self._targets[new], self._turns[new] = targets, turns
        self._behind[self._vms[new]] = np.arange(first + 1, end + 1)
        self._figures[:5, new] = 0.0
        self._figures[6:, new] = inf
        self._left[new], self._dirty_rate[new] = left, dirty_rate
        self._deadline_s[new] = deadline_s
        np.add.at(self._sending, self._sources[new], 1)
        np.add.at(self._receiving, self._targets[new], 1)
        self._regrouped = True

    def end(self, vms: Numbers, now: float) -> Floats:
        """The copies of these VMs end now, one way or the other; the bytes that each has sent."""
        self.progress(now)
        places = self._behind[vms] - 1
        sent = self._sent[places]
        np.subtract.at(self._sending, self._sources[places], 1)
        np.subtract.at(self._receiving, self._targets[places], 1)
        self._behind[vms] = 0
        self._fill(places)
        self._regrouped = True
        return sent

    def _fill(self, free: Numbers) -> None:
        """The last ones take the places that became free."""
        count = self._count - len(free)
        stays = np.ones(len(free), dtype=np.bool_)
        stays[free[free >= count] - count] = False
        free, last = free[free < count], count + stays.nonzero()[0]
        self._places[:, free] = self._places[:, last]
        self._figures[:, free] = self._figures[:, last]
        self._behind[self._vms[free]] = free + 1
        self._count = count

    def sent(self, vm: int) -> float:
        """The bytes that a copy had sent when all were brought up to date last."""
        behind = self._behind.item(vm)
        return self._sent.item(behind - 1) if behind else 0.0

    def in_time(self, vms: Numbers) -> Flags:
        """Which of those that are copied finish before they are given up."""
        at = self._behind[vms] - 1
        return np.asarray(self._finishes_s[at] <= self._given_up_s[at])

    def due(self, now: float) -> Numbers:
        """The VMs whose copies finish or are given up by now, by their turns."""
        if self._ends_first_s > now:
            return self._vms[:0]
        count = self._count
        ended = (self._finishes_s[:count] <= now) | (self._given_up_s[:count] <= now)
        at = ended.nonzero()[0]
        return self._vms[at[np.argsort(self._turns[at])]]

    def progress(self, now: float) -> None:
        """Account for the time up to now at the rates that held."""
        passed, count = now - self._since_s, self._count
        self._since_s = now
        if passed and count:
            left, sent = self._left[:count], self._sent[:count]
            left -= self._rate[:count] * passed
            np.maximum(left, 0.0, out=left)
            sent += self._share[:count] * passed

    def share(self, now: float) -> None:
        """Give every copy its share of the bandwidth from now on."""
        self.progress(now)
        count = self._count
        if not count:
            self._ends_first_s = inf
            return
        if self._regrouped:
            self._regroup(count, now)
        finishes, rate = self._finishes_s[:count], self._rate[:count]
        finishes.fill(inf)
        np.divide(self._left[:count], rate, out=finishes, where=rate > 0.0)
        finishes += now
        self._ends_first_s = float(min(finishes.min(), self._given_up_s[:count].min()))

    def _regroup(self, count: int, now: float) -> None:
        """Shares and time-outs after a copy has begun or ended."""
        sending = self._sending[self._sources[:count]]
        receiving = self._receiving[self._targets[:count]]
        share, dirty = self._share[:count], self._dirty_rate[:count]
        np.divide(self._bandwidth, np.maximum(sending, receiving), out=share)
        np.maximum(share - dirty, 0.0, out=self._rate[:count])
        stuck = self._stuck_since_s[:count]
        np.minimum(stuck, now, out=stuck)
        stuck[share > dirty] = inf
        given_up = self._given_up_s[:count]
        np.minimum(self._deadline_s[:count], stuck + PROGRESS_S, out=given_up)
        self._regrouped = False
