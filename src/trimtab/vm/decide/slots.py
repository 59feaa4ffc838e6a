"""KubeVirt's limits: so many migrations at a time, so many of them away from one node.

What runs is counted from the VMs themselves, plus what was granted a moment ago and is not
in the store yet. Those who wait are served in order; one that cannot start because of its
node does not hold up those behind it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from trimtab.kube.resources import Key
from trimtab.vm.settings import Limits


class Request(Struct, frozen=True, order=True):
    """A migration that could begin: smaller ones first."""

    evacuation: bool
    created: float
    key: Key
    node: str


def granted(running: Mapping[Key, str], waiting: Iterable[Request], limits: Limits) -> set[Key]:
    """Who of those waiting may begin now; `running` maps VMs to the nodes they leave."""
    total, leaving = len(running), Counter(running.values())
    lucky: set[Key] = set()
    for request in sorted(waiting):
        if total >= limits.cluster:
            break
        if request.key not in running and leaving[request.node] < limits.node:
            total, leaving[request.node] = total + 1, leaving[request.node] + 1
            lucky.add(request.key)
    return lucky


class Slots:
    """The slots of all VMs; `stored` reads from the store who migrates, and from where."""

    def __init__(
        self, limits: Limits, stored: Callable[[], Mapping[Key, str]], wake: Callable[[Key], None]
    ) -> None:
        self._limits = limits
        self._stored = stored
        self._wake = wake
        self._reserved: dict[Key, str] = {}
        self._waiting: dict[Key, Request] = {}

    def take(self, request: Request) -> bool:
        """A slot if it is this one's turn; otherwise it waits and is woken."""
        self._waiting[request.key] = request
        if request.key not in granted(self.running(), self._waiting.values(), self._limits):
            return False
        del self._waiting[request.key]
        self._reserved[request.key] = request.node
        return True

    def running(self) -> dict[Key, str]:
        return {**self._stored(), **self._reserved}

    def leave_queue(self, key: Key) -> None:
        """It asks again if it still wants one: who fails to ask must not block the others."""
        self._waiting.pop(key, None)

    def release(self, key: Key) -> None:
        """This VM does not migrate, as far as anybody knows."""
        if self._reserved.pop(key, None) is not None:
            self.wake_next()

    def wake_next(self) -> None:
        for key in granted(self.running(), self._waiting.values(), self._limits):
            self._wake(key)
