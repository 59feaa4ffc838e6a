"""Watches that follow the plans: on each object that some decision looked at, and no other.

Definitions are looked at too, so nothing has to be restarted when one is installed or goes;
and a cluster with thousands of other objects of the same kinds costs nothing.
"""

import asyncio
from collections.abc import Callable, Iterable

from msgspec import Struct

from trimtab.advisor.cluster.objects import CRDS, Watched
from trimtab.advisor.kinds import MACHINE_CONFIG_POOLS
from trimtab.kube.client import Client
from trimtab.kube.resources import Key, Kind, Object
from trimtab.kube.runtime.backoff import Backoff
from trimtab.kube.runtime.reflector import Patience, Reflector

STATUS_COUNTS = (CRDS, MACHINE_CONFIG_POOLS)
"""Kinds whose status matters; of the others only what moves their generation."""
PATIENCE = Patience(backoff=Backoff(first_s=0.2, most_s=5.0))


class _Watch(Struct):
    task: asyncio.Task[None]
    keys: set[Key]


class Watches:
    """`changed(key)` is called for every config that wants to hear of a change."""

    def __init__(self, client: Client, changed: Callable[[Key], None]) -> None:
        self._client = client
        self._changed = changed
        self._watches: dict[Watched, _Watch] = {}
        self._group: asyncio.TaskGroup | None = None

    def __len__(self) -> int:
        return len(self._watches)

    async def run(self) -> None:
        """Own the watches until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None
                for watch in self._watches.values():
                    watch.task.cancel()
                self._watches.clear()

    def want(self, key: Key, watched: Iterable[Watched]) -> None:
        """From now on `key` hears of exactly these."""
        wanted = set(watched)
        for each in wanted:
            if each not in self._watches and self._group is not None:
                self._watches[each] = _Watch(self._group.create_task(self._follow(each)), set())
            if each in self._watches:
                self._watches[each].keys.add(key)
        for each in [other for other in self._watches if other not in wanted]:
            self._release(key, each)

    def _release(self, key: Key, each: Watched) -> None:
        watch = self._watches[each]
        watch.keys.discard(key)
        if not watch.keys:
            watch.task.cancel()
            del self._watches[each]

    async def _follow(self, each: Watched) -> None:
        reflector = Reflector(
            self._client,
            slim(each),
            namespace=each.namespace or None,
            fields=f"metadata.name={each.name}" if each.name else "",
            name=f"{each.resource.plural}/{each.name}" if each.name else each.resource.plural,
            patience=PATIENCE,
        )

        def told(old: Object | None, new: Object | None) -> None:
            if matters(each, old, new) and each in self._watches:
                for key in tuple(self._watches[each].keys):
                    self._changed(key)

        reflector.store.subscribe(told)
        await reflector.run()


def slim(each: Watched) -> Kind[Object]:
    """Metadata are enough to know that something changed."""
    r = each.resource
    return Kind(r.group, r.version, r.plural, r.kind, Object, r.namespaced)


def matters(each: Watched, old: Object | None, new: Object | None) -> bool:
    """Appeared, gone, or changed in what plans are about."""
    if old is None or new is None or each.resource in STATUS_COUNTS:
        return True
    generations = old.metadata.generation, new.metadata.generation
    return generations[0] != generations[1] or generations[1] == 0
