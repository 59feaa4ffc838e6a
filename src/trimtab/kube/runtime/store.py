"""A copy of the objects of one kind, with indexes, and word of every change.

Only its reflector writes to it. Reads are plain dictionary look-ups, so deciding from a store
costs no request. Subscribers hear `(old, new)`: created `(None, new)`, changed, deleted
`(old, None)`. An object that was deleted and created again under its name, even unseen, is
reported as both. A subscriber that raises ends the reflector, and with it the service: what
it derives from the store would be wrong from then on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from trimtab.kube.resources import Key, metadata

T = TypeVar("T")
Index = Callable[[T], Iterable[str]]
Subscriber = Callable[[T | None, T | None], None]


class Store(Generic[T]):
    def __init__(self, indexes: Mapping[str, Index[T]] | None = None) -> None:
        self._objects: dict[Key, T] = {}
        self._index_by = dict(indexes or {})
        self._indexes: dict[str, dict[str, dict[Key, T]]] = {name: {} for name in self._index_by}
        self._subscribers: list[Subscriber[T]] = []

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(Key(namespace, name))

    def __getitem__(self, key: Key) -> T:
        return self._objects[key]

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """All objects, as they are at this moment."""
        return iter(list(self._objects.values()))

    def keys(self) -> list[Key]:
        return list(self._objects)

    def by(self, index: str, value: str) -> list[T]:
        """The objects for which the index gives `value`."""
        return list(self._indexes[index].get(value, {}).values())

    def values_of(self, index: str) -> list[str]:
        """The values for which there is at least one object."""
        return list(self._indexes[index])

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Hear every change from now on, beginning with what is already here as created."""
        self._subscribers.append(subscriber)
        for obj in self:
            subscriber(None, obj)

    # For the reflector

    def put(self, obj: T) -> None:
        key = metadata(obj).key
        old = self._objects.get(key)
        self._objects[key] = obj
        self._reindex(key, old, obj)
        self._notify(old, obj)

    def discard(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._reindex(key, old, None)
            self._notify(old, None)

    def swap(self, objects: Iterable[T]) -> None:
        """Become exactly `objects`; subscribers hear the differences once all is in place."""
        before, self._objects = self._objects, {metadata(obj).key: obj for obj in objects}
        changes: list[tuple[T | None, T | None]] = [
            (old, None) for key, old in before.items() if key not in self._objects
        ]
        changes += [
            (old, new)
            for key, new in self._objects.items()
            if (old := before.get(key)) is None or not same_version(old, new)
        ]
        for old, new in changes:
            self._reindex(metadata(old if new is None else new).key, old, new)
        for old, new in changes:
            self._notify(old, new)

    def _reindex(self, key: Key, old: T | None, new: T | None) -> None:
        for name, values_for in self._index_by.items():
            index = self._indexes[name]
            if old is not None:
                for value in values_for(old):
                    entries = index[value]
                    entries.pop(key, None)
                    if not entries:
                        del index[value]
            if new is not None:
                for value in values_for(new):
                    index.setdefault(value, {})[key] = new

    def _notify(self, old: T | None, new: T | None) -> None:
        if not self._subscribers:
            return
        reborn = old is not None and new is not None and metadata(old).uid != metadata(new).uid
        steps = [(old, None), (None, new)] if reborn else [(old, new)]
        for before, after in steps:
            for subscriber in self._subscribers:
                subscriber(before, after)


def same_version(old: object, new: object) -> bool:
    return metadata(old).resource_version == metadata(new).resource_version
