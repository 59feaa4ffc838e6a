"""Copying memory: how far each migration is, while all of them share the nodes' networks.

The model is `virt.precopy`. It lives in memory; a new process begins again from the time at
which each copy started, as if those that share the network now had done so all along.
"""

from collections.abc import Callable, Hashable

from trimtab.kube.resources import Key
from trimtab.virt.precopy import Copy, share_network
from trimtab.vm.decide.situation import Precopy


class CopiesByVm:
    """All copies under way, by VM; times are the lab's."""

    def __init__(self, bandwidth: float, wake: Callable[[Key], None]) -> None:
        self._bandwidth = bandwidth
        self._wake = wake
        self._copies: dict[Key, tuple[str, Copy]] = {}
        self._nodes: dict[str, int] = {}

    def progress(
        self,
        key: Key,
        migration: str,
        source: str,
        target: str,
        *,
        size: float,
        dirty_rate: float,
        begun_s: float,
        limit_s: float,
        now_s: float,
    ) -> Precopy:
        """How the copy of this migration stands; it is begun if it is not known yet."""
        known = self._copies.get(key)
        if known is None or known[0] != migration:
            copy = Copy(
                source=self._node(source),
                target=self._node(target),
                left=size,
                dirty_rate=dirty_rate,
                deadline_s=begun_s + limit_s,
                begun_s=begun_s,
                since_s=now_s,
            )
            self._copies[key] = (migration, copy)
            self._changed(now_s, but=key)
            copy.since_s = begun_s  # what it has copied until now, it copied at this rate
        copy = self._copies[key][1]
        return Precopy(copy.ends_s - now_s, copy.is_in_time)

    def drop(self, key: Key, now_s: float) -> None:
        """This VM copies nothing (any more); the others become faster."""
        if self._copies.pop(key, None) is not None:
            self._changed(now_s)

    def _changed(self, now_s: float, but: Hashable = None) -> None:
        share_network([each for _, each in self._copies.values()], self._bandwidth, now_s)
        for key in self._copies:
            if key != but:
                self._wake(key)

    def _node(self, name: str) -> int:
        return self._nodes.setdefault(name, len(self._nodes))
