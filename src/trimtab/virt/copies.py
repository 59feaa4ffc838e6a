"""Memory that is being copied: how far each migration is, while all share the nodes' networks.

For the bodies that follow migrations one by one: the vm-controller and the player of KubeVirt's
handlers. It lives in memory: a new process begins again from the times at which the copies
started, as if those that share the network now had done so all along. A migration's own
bandwidth limit is kept beside the shares.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from msgspec import Struct

from trimtab.virt.precopy import Copy, share_network

K = TypeVar("K", bound=Hashable)


class Progress(Struct, frozen=True):
    """Of one copy, in lab time: when it ends, and whether it ends well."""

    left_s: float
    in_time: bool
    stuck: bool
    total: float
    left: float
    sent: float
    rate: float

    @property
    def is_half_done(self) -> bool:
        return self.left <= self.total / 2


class CopyOrder(Struct, frozen=True, kw_only=True):
    """A copy to be made: from where to where, how much, and within which limits."""

    migration: str
    source: str
    target: str
    size: float
    dirty_rate: float
    begun_s: float
    limit_s: float
    """It is given up if it takes longer."""
    bandwidth: float = 0.0
    """Bytes a second at most; 0 is no limit of its own."""


class _Known(Struct):
    order: CopyOrder
    copy: Copy


class Copies(Generic[K]):
    """All copies under way, by VM; times are the lab's. `wake` hears whose rate has changed."""

    def __init__(self, bandwidth: float, wake: Callable[[K], None]) -> None:
        self._bandwidth, self._wake = bandwidth, wake
        self._copies: dict[K, _Known] = {}
        self._nodes: dict[str, int] = {}

    def progress(self, key: K, order: CopyOrder, now_s: float) -> Progress:
        """How this copy stands now; it begins if it is not known yet."""
        known = self._copies.get(key)
        if known is None or known.order.migration != order.migration:
            known = self._begin(key, order, now_s)
        return self._progress(known, now_s)

    def look(self, key: K, now_s: float) -> Progress | None:
        """The same of a copy that is known, for those who only look."""
        known = self._copies.get(key)
        return self._progress(known, now_s) if known else None

    def drop(self, key: K, now_s: float) -> None:
        """This VM copies nothing (any more); the others become faster."""
        if self._copies.pop(key, None) is not None:
            self._share(now_s)
            self._wake_all(but=key)

    def _begin(self, key: K, order: CopyOrder, now_s: float) -> _Known:
        copy = Copy(
            source=self._number(order.source),
            target=self._number(order.target),
            left=order.size,
            dirty_rate=order.dirty_rate,
            deadline_s=order.begun_s + order.limit_s,
            begun_s=order.begun_s,
            since_s=now_s,
        )
        known = self._copies[key] = _Known(order, copy)
        self._share(now_s)
        copy.since_s = order.begun_s  # what it has copied until now, it copied at this rate
        self._wake_all(but=key)
        return known

    def _share(self, now_s: float) -> None:
        share_network([each.copy for each in self._copies.values()], self._bandwidth, now_s)
        for each in self._copies.values():
            if 0 < each.order.bandwidth < each.copy.share:
                each.copy.set_share(each.order.bandwidth, now_s)

    def _wake_all(self, but: K) -> None:
        for key in self._copies:
            if key != but:
                self._wake(key)

    def _number(self, node: str) -> int:
        return self._nodes.setdefault(node, len(self._nodes))

    @staticmethod
    def _progress(known: _Known, now_s: float) -> Progress:
        copy = known.copy
        passed = max(0.0, now_s - copy.since_s)
        shrinking = max(copy.share - copy.dirty_rate, 0.0)
        return Progress(
            left_s=copy.ends_s - now_s,
            in_time=copy.is_in_time,
            stuck=shrinking == 0.0,
            total=known.order.size,
            left=max(copy.left - shrinking * passed, 0.0),
            sent=copy.sent + copy.share * passed,
            rate=copy.share,
        )
