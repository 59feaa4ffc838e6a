"""The vm-controller: stores in, one decision, one write, again.

The key is always the VM. Changes of its pods and migrations lead to it, so everything that
is written about one VM is written by one worker at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.controller import After, Controller, Outcome
from trimtab.kube.errors import NotFound
from trimtab.kube.events import Recorder
from trimtab.kube.reflector import Reflector
from trimtab.kube.resources import CONFIG_MAPS, PODS, ConfigMap, Key, Pod
from trimtab.kube.virt import (
    APP_LABEL,
    DOMAIN,
    MIGRATIONS,
    VM_NAME_LABEL,
    VMS,
    VirtualMachine,
    VirtualMachineMigration,
)
from trimtab.obs import get_logger
from trimtab.vm import metrics
from trimtab.vm.amounts import machine, memory_in_use
from trimtab.vm.history import is_evacuation
from trimtab.vm.launcher import label_value
from trimtab.vm.lifecycle import next_step
from trimtab.vm.own_writes import PATIENCE_S, Look, OwnWrites
from trimtab.vm.perform import Hands
from trimtab.vm.precopy import Copies
from trimtab.vm.settings import GIB, TIMEOUT_S_PER_GIB, Clock, Settings, clock_from
from trimtab.vm.situation import Losses, Precopy, Situation, named, owner_uid
from trimtab.vm.slots import Request, Slots
from trimtab.vm.steps import Check, Lose, Start, Step

log = get_logger()
NAMESPACE, CLOCK = "trimtab-system", "clock"
NO_SLOT_S = 5.0
FORGIVEN_S = 600.0
"""A pod that ran for so long (of the lab's time) was not lost in a row with the one before."""


class _Loop(Controller):
    """Tells when it begins, which is each time that this process begins to lead."""

    begin: Callable[[], None] = staticmethod(lambda: None)

    async def run(self) -> None:
        self.begin()
        await super().run()


class VmController:
    """`reconcile` for VMs, and the stores that it decides from."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        settings: Settings,
        *,
        reading: Client | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        workers: int = 8,
    ) -> None:
        """`client` writes, perhaps only while it leads; `reading` always may."""
        self._client = reading = reading or client
        self.vms = Reflector(reading, VMS, indexes={"migrating": migrating_index})
        self.pods = Reflector(reading, PODS, labels="=".join(APP_LABEL), indexes={"vm": pod_index})
        self.migrations = Reflector(reading, MIGRATIONS, indexes={"vm": migration_index})
        self.clocks = Reflector(
            reading, CONFIG_MAPS, namespace=NAMESPACE, fields=f"metadata.name={CLOCK}"
        )
        self.controller = _Loop("vm", self.reconcile, workers=workers)
        self.controller.begin = self._forget
        self.controller.follow(self.vms).follow(self.pods, keys_of_pod)
        self.controller.follow(self.migrations, keys_of_migration)
        self.controller.follow(self.clocks, lambda _: self.vms.store.keys())
        self._settings = settings
        self._now = now
        stores = {each.kind.type: _looking(each) for each in (self.vms, self.pods, self.migrations)}
        self._own = OwnWrites(stores, lambda: now().timestamp())
        self._hands = Hands(client, recorder, self._own)
        self._bad_clock = ""
        self._forget()
        metrics.watch_phases(lambda: Counter(vm.status.phase for vm in self.vms.store))
        metrics.running.set_function(lambda: len(self.slots.running()))

    @property
    def reflectors(
        self,
    ) -> tuple[
        Reflector[VirtualMachine],
        Reflector[Pod],
        Reflector[VirtualMachineMigration],
        Reflector[ConfigMap],
    ]:
        return self.vms, self.pods, self.migrations, self.clocks

    async def reconcile(self, key: Key) -> Outcome:
        """One decision about one VM, and what follows from it."""
        self.slots.leave_queue(key)
        unseen_s = self._own.unseen_s(key)
        if unseen_s is not None and unseen_s < PATIENCE_S:
            return After(PATIENCE_S - unseen_s)
        if unseen_s is not None:
            log.warning("stores lag behind", seconds=round(unseen_s, 1))
            self._own.forget(key)
        s = await self.checked(key) if unseen_s is not None else self.look(key)
        self._tidy(s)
        step = next_step(s)
        if isinstance(step, Check):
            log.debug("checking", why=step.why)
            s = await self.checked(key)
            step = next_step(s)
        return await self._carry_out(s, step)

    async def _carry_out(self, s: Situation, step: Step) -> Outcome:
        if isinstance(step, Start) and not self.slots.take(_request(s.key, step)):
            return After(NO_SLOT_S)
        try:
            outcome = await self._hands.do(s, step)
        except BaseException:
            if isinstance(step, Start):
                self.slots.release(s.key)
            raise
        if isinstance(step, Lose):
            self._count_loss(s)
        return outcome

    # Looking

    def look(self, key: Key) -> Situation:
        """The situation as the stores show it."""
        return self._situation(
            key,
            self.vms.store.get(key.name, key.namespace),
            self.pods.store.by("vm", str(key)),
            self.migrations.store.by("vm", str(key)),
        )

    async def checked(self, key: Key) -> Situation:
        """The same from the API itself: the VM, its pods, the migration under way."""
        vm = await self._get_vm(key)
        label = f"{VM_NAME_LABEL}={label_value(key.name)}"
        listed = await self._client.list(PODS, key.namespace, labels=label)
        pods = [pod for pod in listed if key in keys_of_pod(pod)]
        migrations = self.migrations.store.by("vm", str(key))
        if vm is not None:
            pods += await self._get_pod(vm, pods)
            migrations = await self._with_current(vm, migrations)
        return structs.replace(self._situation(key, vm, pods, migrations), checked=True)

    async def _get_vm(self, key: Key) -> VirtualMachine | None:
        try:
            return await self._client.get(VMS, key.name, key.namespace)
        except NotFound:
            return None

    async def _get_pod(self, vm: VirtualMachine, found: Iterable[Pod]) -> list[Pod]:
        """The active pod even if somebody has taken its labels away."""
        name = vm.status.pod_name
        if not name or named(found, name):
            return []
        try:
            return [await self._client.get(PODS, name, vm.metadata.namespace)]
        except NotFound:
            return []

    async def _with_current(
        self, vm: VirtualMachine, stored: list[VirtualMachineMigration]
    ) -> list[VirtualMachineMigration]:
        name = vm.status.migration_name
        if not name:
            return stored
        others = [each for each in stored if each.metadata.name != name]
        try:
            return [*others, await self._client.get(MIGRATIONS, name, vm.metadata.namespace)]
        except NotFound:
            return others

    def _situation(
        self,
        key: Key,
        vm: VirtualMachine | None,
        pods: Iterable[Pod],
        migrations: Iterable[VirtualMachineMigration],
    ) -> Situation:
        s = Situation(
            key=key,
            now=self._now(),
            vm=vm,
            pods=tuple(pods),
            migrations=tuple(migrations),
            clock=self.clock(),
            settings=self._settings,
            losses=self._losses.get(key, Losses()),
        )
        return structs.replace(s, precopy=self._precopy(s))

    def clock(self) -> Clock:
        """The lab's clock; one that makes no sense is told once and ignored."""
        try:
            clock = clock_from(self.clocks.store.get(CLOCK, NAMESPACE))
        except ConfigError as error:
            if str(error) != self._bad_clock:
                log.warning("clock ignored", error=str(error))
            self._bad_clock = str(error)
            return Clock()
        self._bad_clock = ""
        return clock

    # What only this process knows

    def _forget(self) -> None:
        """Begin to lead: what we knew when we last did may be about VMs that are gone."""
        wake = self.controller.queue.add
        self.slots = Slots(self._settings.limits, self._migrating, wake)
        self._copies = Copies(self._settings.bandwidth, wake)
        self._losses: dict[Key, Losses] = {}

    def _precopy(self, s: Situation) -> Precopy | None:
        current = s.current if s.vm else None
        if current is None or current.status.phase != "PreCopy":
            return None
        try:
            status, size = current.status, machine(s.the_vm)
        except ConfigError:  # somebody spoilt the spec meanwhile; `next_step` says so
            return None
        begun_s = s.clock.lab_s(status.precopy_start_time or s.now)
        lab = self._copies.progress(
            s.key,
            current.metadata.uid,
            status.source_node,
            status.target_node,
            size=memory_in_use(size, begun_s),
            dirty_rate=self._settings.dirty_rate,
            begun_s=begun_s,
            limit_s=TIMEOUT_S_PER_GIB * float(size.memory) / GIB,
            now_s=s.clock.lab_s(s.now),
        )
        return Precopy(s.clock.real_s(lab.ends_in_s), lab.in_time)

    def _tidy(self, s: Situation) -> None:
        """Give up what belongs to a migration that is over, or to a VM that is gone."""
        if s.vm is None or not s.status.migration_name:
            self.slots.release(s.key)
            self._copies.drop(s.key, s.clock.lab_s(s.now))
        if s.vm is None:
            self._losses.pop(s.key, None)

    def _count_loss(self, s: Situation) -> None:
        before = s.losses
        forgiven = before.at is None or s.left_s(before.at, FORGIVEN_S) <= 0
        self._losses[s.key] = Losses(1 if forgiven else before.count + 1, s.now)

    def _migrating(self) -> Mapping[Key, str]:
        """The VMs that migrate, and the nodes that they leave."""
        return {vm.metadata.key: self._source(vm) for vm in self.vms.store.by("migrating", "yes")}

    def _source(self, vm: VirtualMachine) -> str:
        """Not where the VM is: one that is recreated is nowhere already."""
        name, namespace = vm.status.migration_name, vm.metadata.namespace
        migration = self.migrations.store.get(name, namespace)
        return migration.status.source_node if migration else vm.status.node_name


def _request(key: Key, step: Start) -> Request:
    created = step.migration.metadata.creation_timestamp
    return Request(
        evacuation=is_evacuation(step.migration),
        created=created.timestamp() if created else 0.0,
        key=key,
        node=step.source,
    )


def keys_of_pod(pod: Pod) -> Iterable[Key]:
    """The VM of a pod: whose it is, or else whose name it carries."""
    owner = pod.metadata.controller
    name = owner.name if owner and owner_uid(pod) else pod.metadata.annotations.get(DOMAIN, "")
    return (Key(pod.metadata.namespace, name),) if name else ()


def keys_of_migration(migration: VirtualMachineMigration) -> Iterable[Key]:
    return (Key(migration.metadata.namespace, migration.spec.vm_name),)


def migrating_index(vm: VirtualMachine) -> Iterable[str]:
    return ("yes",) if vm.status.migration_name else ()


def pod_index(pod: Pod) -> Iterable[str]:
    return map(str, keys_of_pod(pod))


def migration_index(migration: VirtualMachineMigration) -> Iterable[str]:
    return map(str, keys_of_migration(migration))


def _looking(reflector: Reflector[Any]) -> Look:
    return lambda key: reflector.store.get(key.name, key.namespace)
