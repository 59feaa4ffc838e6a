"""What we wrote and have not seen in a store yet.

A store lags behind our own writes by a few milliseconds. A decision from such an old copy
would repeat the write, or worse: take a pod that was just created for nobody's. So a VM is
not looked at until every store shows what was written about it, or so much time has passed
that something else must be wrong.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from trimtab.kube.resources import Key, Object

PATIENCE_S = 2.0
Look = Callable[[Key], Object | None]
"""What a store has under a key."""


class Write(Struct, frozen=True):
    look: Look
    object: Key
    version: int
    created: bool
    at_s: float


class OwnWrites:
    """Remembers, for each VM, the newest version of each object that we wrote about it."""

    def __init__(self, stores: Mapping[type, Look], time: Callable[[], float]) -> None:
        self._stores = stores
        self._time = time
        self._writes: dict[Key, dict[tuple[type, Key], Write]] = {}

    def note(self, vm: Key, written: Object, *, created: bool = False) -> None:
        meta, look = written.metadata, self._stores[type(written)]
        write = Write(look, meta.key, int(meta.resource_version or 0), created, self._time())
        self._writes.setdefault(vm, {})[type(written), meta.key] = write

    def unseen_s(self, vm: Key) -> float | None:
        """For how long the oldest write about a VM has not been seen; None if all are."""
        left = {what: w for what, w in self._writes.get(vm, {}).items() if not is_seen(w)}
        if not left:
            self._writes.pop(vm, None)
            return None
        self._writes[vm] = left
        return self._time() - min(write.at_s for write in left.values())

    def forget(self, vm: Key) -> None:
        self._writes.pop(vm, None)


def is_seen(write: Write) -> bool:
    """The store has that version or a later one, or has lost an object that it had."""
    stored = write.look(write.object)
    if stored is None:
        return not write.created
    return int(stored.metadata.resource_version or 0) >= write.version
