"""A controller whose keys are accounts: it begins with all of them when it gets the lease."""

from collections.abc import Callable, Iterable

from trimtab.kube.resources import Key
from trimtab.kube.runtime.controller import Controller, Reconcile
from trimtab.kube.runtime.queue import Queue


def account_key(uid: str) -> Key:
    return Key("", uid)


class Rounds(Controller):
    """`at_most_every_s` is the least time between two turns of one account."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        accounts: Callable[[], Iterable[str]],
        *,
        at_most_every_s: float,
    ) -> None:
        super().__init__(name, reconcile, queue=Queue(at_most_every_s=at_most_every_s))
        self._sources.append(lambda: (account_key(uid) for uid in accounts()))

    def nudge(self, uid: str) -> None:
        """Give an account a turn soon, if we lead."""
        if self._running:
            self.queue.add(account_key(uid))
