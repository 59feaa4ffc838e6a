"""What there is to see of VMs: kept by reflectors, or read from the API when that matters."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from trimtab.kube.client import Client, find
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.clock import NAMESPACE, Clock, ClockReader
from trimtab.kube.resources import CONFIG_MAPS, PODS, Key, Pod
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.virtual_machines import (
    APP_LABEL,
    DOMAIN,
    MIGRATIONS,
    VM_NAME_LABEL,
    VMS,
    VirtualMachine,
    VirtualMachineMigration,
)
from trimtab.model.names import is_object_name
from trimtab.vm.decide.situation import named, owner_uid
from trimtab.vm.launcher import label_value
from trimtab.vm.own_writes import Look


class Objects(Struct, frozen=True):
    """A VM, the pods that carry its name, its migrations."""

    vm: VirtualMachine | None
    pods: tuple[Pod, ...]
    migrations: tuple[VirtualMachineMigration, ...]


class Stores:
    """Pods and migrations are indexed by their VM."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.vms = Reflector(client, VMS, indexes={"migrating": migrating_index})
        self.pods = Reflector(client, PODS, labels="=".join(APP_LABEL), indexes={"vm": pod_index})
        self.migrations = Reflector(client, MIGRATIONS, indexes={"vm": migration_index})
        self.clocks = Reflector(
            client, CONFIG_MAPS, namespace=NAMESPACE, fields=f"metadata.name={CLOCK}"
        )
        self._clock_reader = ClockReader()

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        return [self.vms, self.pods, self.migrations, self.clocks]

    def looks(self) -> dict[type, Look]:
        """How to find an object of each type, to see whether a write has arrived."""
        kept: tuple[Reflector[Any], ...] = (self.vms, self.pods, self.migrations)
        return {each.kind.type: looking(each) for each in kept}

    def seen(self, key: Key) -> Objects:
        """As the stores show it, perhaps a moment late."""
        return Objects(
            self.vms.store.get(key.name, key.namespace),
            tuple(self.pods.store.by("vm", str(key))),
            tuple(self.migrations.store.by("vm", str(key))),
        )

    async def fresh(self, key: Key) -> Objects:
        """From the API itself: the VM, its pods, and the migration under way."""
        if not is_object_name(key.name):  # a migration may name anything; no VM is called so
            return Objects(None, (), tuple(self.migrations.store.by("vm", str(key))))
        vm = await find(self._client, VMS, key.name, key.namespace)
        label = f"{VM_NAME_LABEL}={label_value(key.name)}"
        listed = await self._client.list(PODS, key.namespace, labels=label)
        pods = [pod for pod in listed if key in keys_of_pod(pod)]
        migrations = self.migrations.store.by("vm", str(key))
        if vm is not None:
            pods += await self._get_active(vm, pods)
            migrations = await self._with_current(vm, migrations)
        return Objects(vm, tuple(pods), tuple(migrations))

    async def _get_active(self, vm: VirtualMachine, found: Iterable[Pod]) -> list[Pod]:
        """The active pod even if somebody has taken its labels away."""
        name = vm.status.pod_name
        if not name or named(found, name):
            return []
        pod = await find(self._client, PODS, name, vm.metadata.namespace)
        return [] if pod is None else [pod]

    async def _with_current(
        self, vm: VirtualMachine, stored: list[VirtualMachineMigration]
    ) -> list[VirtualMachineMigration]:
        name = vm.status.migration_name
        if not name:
            return stored
        others = [each for each in stored if each.metadata.name != name]
        current = await find(self._client, MIGRATIONS, name, vm.metadata.namespace)
        return others if current is None else [*others, current]

    def clock(self) -> Clock:
        """The lab's clock; a missing or invalid one is logged once, and the last one kept."""
        return self._clock_reader.read(self.clocks.store.get(CLOCK, NAMESPACE))

    def migrating(self) -> Mapping[Key, str]:
        """The VMs that migrate, and the nodes that they leave."""
        return {vm.metadata.key: self._source(vm) for vm in self.vms.store.by("migrating", "yes")}

    def _source(self, vm: VirtualMachine) -> str:
        """Not where the VM is: one that is recreated is nowhere already."""
        name, namespace = vm.status.migration_name, vm.metadata.namespace
        migration = self.migrations.store.get(name, namespace)
        return migration.status.source_node if migration else vm.status.node_name


def keys_of_pod(pod: Pod) -> Iterable[Key]:
    """The VM of a pod: whose it is, or else whose name it carries."""
    owner = pod.metadata.controller
    name = owner.name if owner and owner_uid(pod) else pod.metadata.annotations.get(DOMAIN, "")
    return (Key(pod.metadata.namespace, name),) if name else ()


def keys_of_migration(migration: VirtualMachineMigration) -> Iterable[Key]:
    return (Key(migration.metadata.namespace, migration.spec.vm_name),)


def pod_index(pod: Pod) -> Iterable[str]:
    return map(str, keys_of_pod(pod))


def migration_index(migration: VirtualMachineMigration) -> Iterable[str]:
    return map(str, keys_of_migration(migration))


def migrating_index(vm: VirtualMachine) -> Iterable[str]:
    return ("yes",) if vm.status.migration_name else ()


def looking(reflector: Reflector[Any]) -> Look:
    return lambda key: reflector.store.get(key.name, key.namespace)
