"""What only the process that leads knows: slots granted, copies under way, pods lost in a row.

All of it can be made again from the API, a little less exactly; a new leader begins with none.
"""

from collections.abc import Callable, Mapping

from trimtab.errors import ConfigError
from trimtab.kube.resources import Key
from trimtab.virt.copies import Copies, CopyOrder
from trimtab.virt.migration_backoff import completion_limit_s
from trimtab.virt.slots import MigrationLimits, MigrationPriority, MigrationRequest, granted
from trimtab.vm.amounts import machine, memory_in_use
from trimtab.vm.decide.finished_migrations import is_evacuation
from trimtab.vm.decide.situation import Losses, Precopy, VmSituation
from trimtab.vm.decide.steps import Start
from trimtab.vm.settings import VmControllerSettings

# The slots of migrations that the leader has granted; who gets one is `virt.slots`' to say.
#
# What runs is counted from the VMs themselves, plus what was granted a moment ago and is not
# in the store yet.


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


EVACUATION, REQUESTED = MigrationPriority.SYSTEM_MAINTENANCE, MigrationPriority.DEFAULT
"""A mark does not tell who caused it, so no evacuation is taken for an administrator's.

Whatever people and balancers ask for waits behind evacuations, so a drain never waits for it.
"""
FORGIVEN_S = 600.0
"""A pod that ran for so long (of the lab's time) was not lost in a row with the one before."""


class LeaderState:
    def __init__(
        self,
        settings: VmControllerSettings,
        migrating: Callable[[], Mapping[Key, str]],
        wake: Callable[[Key], None],
    ) -> None:
        """`migrating` reads the VMs under way from the store; `wake` has a VM looked at again."""
        self._settings = settings
        self.slots = Slots(settings.limits, migrating, wake)
        self._copies = Copies(settings.bandwidth, wake)
        self._losses: dict[Key, Losses] = {}

    def losses(self, key: Key) -> Losses:
        return self._losses.get(key, Losses())

    def count_loss(self, s: VmSituation) -> None:
        before = s.losses
        forgiven = before.at is None or s.left_s(before.at, FORGIVEN_S) <= 0
        self._losses[s.key] = Losses(1 if forgiven else before.count + 1, s.now)

    def take_slot(self, s: VmSituation, start: Start) -> bool:
        created = start.migration.metadata.creation_timestamp
        evacuation = is_evacuation(start.migration)
        request = MigrationRequest(
            EVACUATION if evacuation else REQUESTED,
            created=created.timestamp() if created else 0.0,
            key=s.key,
            node=start.source,
        )
        return self.slots.take(request)

    def precopy(self, s: VmSituation) -> Precopy | None:
        """How the copying of the VM's memory stands, if it is being copied."""
        current = s.current if s.vm else None
        if current is None or current.status.phase != "PreCopy":
            return None
        try:
            status, size = current.status, machine(s.the_vm)
        except ConfigError:  # somebody spoilt the spec meanwhile; `next_step` says so
            return None
        begun_s = s.clock.lab_s((status.precopy_start_time or s.now).timestamp())
        order = CopyOrder(
            migration=current.metadata.uid,
            source=status.source_node,
            target=status.target_node,
            size=memory_in_use(size, begun_s),
            dirty_rate=self._settings.dirty_rate,
            begun_s=begun_s,
            limit_s=completion_limit_s(float(size.memory)),
        )
        lab = self._copies.progress(s.key, order, s.clock.lab_s(s.now.timestamp()))
        return Precopy(s.clock.real_s(lab.left_s), lab.in_time)

    def tidy(self, s: VmSituation) -> None:
        """Give up what belongs to a migration that is over, or to a VM that is gone."""
        if s.vm is None or not s.status.migration_name:
            self.slots.release(s.key)
            self._copies.drop(s.key, s.clock.lab_s(s.now.timestamp()))
        if s.vm is None:
            self._losses.pop(s.key, None)
