"""The slots of migrations that the leader has granted; who gets one is `virt.slots`' to say.

What runs is counted from the VMs themselves, plus what was granted a moment ago and is not
in the store yet.
"""

from collections.abc import Callable, Mapping

from trimtab.kube.resources import Key
from trimtab.virt.slots import MigrationLimits, MigrationRequest, granted


class Slots:
    """The slots of all VMs; `stored` reads from the store who migrates, and from where."""

    def __init__(
        self,
        limits: MigrationLimits,
        stored: Callable[[], Mapping[Key, str]],
        wake: Callable[[Key], None],
    ) -> None:
        self._limits = limits
        self._stored = stored
        self._wake = wake
        self._reserved: dict[Key, str] = {}
        self._waiting: dict[Key, MigrationRequest[Key]] = {}

    def take(self, request: MigrationRequest[Key]) -> bool:
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
        """Give the VM's slot back and wake the next in line."""
        if self._reserved.pop(key, None) is not None:
            self.wake_next()

    def wake_next(self) -> None:
        for key in granted(self.running(), self._waiting.values(), self._limits):
            self._wake(key)
