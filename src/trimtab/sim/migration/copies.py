"""All pre-copies of a replica, as columns of numbers; the model is that of `virt.precopy`.

One copy that begins or ends changes the shares of others, so all of them are brought up to
date at each such moment. With 8,000 under way that takes 0.1 ms in columns; one `Copy` after
the other took 30 ms. Those that begin or end at one moment do so together, for the same reason.
"""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from trimtab.sim.fleet import Floats
from trimtab.sim.migration.marks import EvacuationMark, MigrationAttempt, targets_of
from trimtab.virt.attempts import PROGRESS_S

_FIRST_ROOM = 16


class PreCopies:
    """All pre-copies of one replica that are under way.

    A copy's place is `MigrationAttempt.copy`; when some end, the last ones take their places.
    """

    def __init__(self, nodes: int, bandwidth: float) -> None:
        self._bandwidth = bandwidth
        self._sending = np.zeros(nodes, dtype=np.int64)
        self._receiving = np.zeros(nodes, dtype=np.int64)
        self._marks: list[EvacuationMark] = []
        self._since_s = 0.0
        """`left` and `sent` hold at this moment, shares and rates from then on."""
        self._regrouped = False
        self._ends_first_s = inf
        self._places = np.zeros((3, _FIRST_ROOM), dtype=np.intp)
        self._figures = np.zeros((9, _FIRST_ROOM))
        self._name_columns()

    def _name_columns(self) -> None:
        self._vms, self._sources, self._targets = self._places
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
        return len(self._marks)

    @property
    def vms(self) -> NDArray[np.intp]:
        """The VMs that are being copied, in no order."""
        return self._vms[: len(self._marks)]

    @property
    def next_s(self) -> float:
        """When the first of them finishes or is given up, at the present rates."""
        return self._ends_first_s

    def begin(
        self, marks: Sequence[EvacuationMark], left: Floats, dirty_rate: Floats, deadline_s: Floats
    ) -> None:
        """A copy begins now for each mark; they have a share as soon as `share` is called."""
        first, end = len(self._marks), len(self._marks) + len(marks)
        while end > self._places.shape[1]:
            self._places = np.concatenate([self._places, np.zeros_like(self._places)], axis=1)
            self._figures = np.concatenate([self._figures, np.zeros_like(self._figures)], axis=1)
            self._name_columns()
        self._marks += marks
        for at, attempt in enumerate(_attempts(marks), first):
            attempt.copy = at
        new = slice(first, end)
        self._vms[new] = [mark.vm for mark in marks]
        self._sources[new] = [mark.source for mark in marks]
        self._targets[new] = targets_of(marks)
        self._figures[:5, new] = 0.0
        self._figures[6:, new] = inf
        self._left[new], self._dirty_rate[new] = left, dirty_rate
        self._deadline_s[new] = deadline_s
        np.add.at(self._sending, self._sources[new], 1)
        np.add.at(self._receiving, self._targets[new], 1)
        self._regrouped = True

    def end(self, marks: Sequence[EvacuationMark], now: float) -> list[float]:
        """Copies end now, one way or the other; the bytes that each has sent."""
        self.progress(now)
        attempts = _attempts(marks)
        places = np.array([attempt.copy for attempt in attempts], dtype=np.intp)
        sent: list[float] = self._sent[places].tolist()
        np.subtract.at(self._sending, self._sources[places], 1)
        np.subtract.at(self._receiving, self._targets[places], 1)
        for attempt in attempts:
            attempt.copy = None
        self._fill(places)
        self._regrouped = True
        return sent

    def _fill(self, free: NDArray[np.intp]) -> None:
        """The last ones take the places that became free."""
        count = len(self._marks) - len(free)
        stays = np.ones(len(free), dtype=np.bool_)
        stays[free[free >= count] - count] = False
        free, last = free[free < count], count + stays.nonzero()[0]
        moved = list(map(self._marks.__getitem__, last.tolist()))
        for at, mark, attempt in zip(free.tolist(), moved, _attempts(moved), strict=True):
            self._marks[at] = mark
            attempt.copy = at
        self._places[:, free] = self._places[:, last]
        self._figures[:, free] = self._figures[:, last]
        del self._marks[count:]

    def sent(self, attempt: MigrationAttempt) -> float:
        """The bytes that a copy had sent when all were brought up to date last."""
        return 0.0 if attempt.copy is None else self._sent.item(attempt.copy)

    def is_in_time(self, attempt: MigrationAttempt) -> bool:
        """Whether it finishes before it is given up."""
        at = attempt.copy
        return at is not None and self._finishes_s.item(at) <= self._given_up_s.item(at)

    def are_in_time(self, marks: Sequence[EvacuationMark]) -> bool:
        """Whether all of them are copied, and finish before they are given up."""
        places = [mark.attempt.copy for mark in marks if mark.attempt is not None]
        if None in places:
            return False
        at = np.array(places, dtype=np.intp)
        return bool((self._finishes_s[at] <= self._given_up_s[at]).all())

    def due(self, now: float) -> list[EvacuationMark]:
        """Those that finish or are given up by now, in no order."""
        if self._ends_first_s > now:
            return []
        count = len(self._marks)
        ended = (self._finishes_s[:count] <= now) | (self._given_up_s[:count] <= now)
        return [self._marks[at] for at in ended.nonzero()[0].tolist()]

    def progress(self, now: float) -> None:
        """Account for the time up to now at the rates that held."""
        passed, count = now - self._since_s, len(self._marks)
        self._since_s = now
        if passed and count:
            left, sent = self._left[:count], self._sent[:count]
            left -= self._rate[:count] * passed
            np.maximum(left, 0.0, out=left)
            sent += self._share[:count] * passed

    def share(self, now: float) -> None:
        """Give every copy its share of the bandwidth from now on."""
        self.progress(now)
        count = len(self._marks)
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


def _attempts(marks: Sequence[EvacuationMark]) -> list[MigrationAttempt]:
    """Of VMs that are being copied: each has one."""
    return [mark.attempt for mark in marks if mark.attempt is not None]
