"""trimtab's own VMs: the vm-controller and the webhook."""

from datetime import datetime
from functools import partial
from typing import Any

from conformance.kubevirt.course import Cause, Record
from conformance.kubevirt.scenario import Machine
from conformance.kubevirt.world import Life, Sight, World, delete_all, manifest, now
from trimtab.kube.client import Client
from trimtab.kube.resources import Free, Key
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.virtual_machines import (
    INITIAL_NODE,
    MIGRATIONS,
    VMS,
    VirtualMachine,
    VirtualMachineMigration,
)
from trimtab.vm.decide.finished_migrations import is_evacuation

_PHASES = {"": "Pending", "PreCopy": "Copying"}


class Ours(World):
    name = "trimtab"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.vms = Reflector(client, VMS)
        self.migrations = Reflector(client, MIGRATIONS)
        self._targets: set[str] = set()
        self.migrations.store.subscribe(self._migration)
        self.vms.store.subscribe(self._vm)

    def reflectors(self) -> tuple[Reflector[Any], ...]:
        return self.migrations, self.vms

    def _migration(
        self, old: VirtualMachineMigration | None, new: VirtualMachineMigration | None
    ) -> None:
        seen = new or old
        assert seen is not None
        meta = seen.metadata
        cause: Cause = "eviction" if is_evacuation(seen) else "person"
        record = self.records.setdefault(
            meta.uid, Record(str(Key(meta.namespace, seen.spec.vm_name)), cause)
        )
        record.asked_to_end |= meta.deletion_timestamp is not None
        record.source = seen.status.source_node or record.source
        if seen.status.target_pod:
            self._targets.add(seen.status.target_pod)
        if new is None:
            record.gone(now())
        else:
            record.note(now(), _PHASES.get(seen.status.phase, seen.status.phase))

    def _vm(self, old: VirtualMachine | None, new: VirtualMachine | None) -> None:
        if new is None or not (pod := new.status.pod_name):
            return
        life = self.lives.setdefault(new.metadata.key, Life([]))
        if life.starts[-1:] == [pod]:
            return
        if pod in self._targets and life.starts:
            life.starts[-1], life.moved = pod, life.moved + 1
            for record in self.of_vm(new.metadata.key):
                if record.last == "Copying":
                    record.left = now()
        else:
            life.starts.append(pod)

    def sight(self, vm: Key) -> Sight | None:
        found = self.vms.store.get(vm.name, vm.namespace)
        if found is None:
            return None
        status = found.status
        return Sight(
            wanted=found.spec.running and found.metadata.deletion_timestamp is None,
            running=status.phase == "Running",
            marked=bool(status.evacuation_node_name),
            going=found.metadata.deletion_timestamp is not None,
            node=status.node_name,
        )

    def active_pod(self, vm: Key) -> str:
        found = self.vms.store.get(vm.name, vm.namespace)
        return self._existing(vm, found.status.pod_name) if found else ""

    def target_pod(self, vm: Key) -> str:
        named = (each.status.target_pod for each in self._unfinished(vm))
        return next((name for name in map(partial(self._existing, vm), named) if name), "")

    def _existing(self, vm: Key, name: str) -> str:
        """Our pods are named before they exist."""
        return name if any(pod.metadata.name == name for pod in self.launchers(vm)) else ""

    def _unfinished(self, vm: Key) -> list[VirtualMachineMigration]:
        return [
            each
            for each in self.migrations.store
            if each.metadata.namespace == vm.namespace
            and each.spec.vm_name == vm.name
            and not each.finished
        ]

    def copy_began(self, vm: Key) -> datetime | None:
        copies = (each.status.precopy_start_time for each in self._unfinished(vm))
        return next((began for began in copies if began is not None), None)

    def has_migrations(self, vm: Key) -> bool:
        every = self.migrations.store
        return any((e.metadata.namespace, e.spec.vm_name) == vm for e in every)

    def kept(self, vm: Key) -> int:
        return sum(
            each.finished and each.spec.vm_name == vm.name
            for each in self.migrations.store
            if each.metadata.namespace == vm.namespace
        )

    async def create(self, vm: Key, machine: Machine, node: str) -> None:
        body = manifest(vm, machine)
        body["metadata"]["annotations"] = {INITIAL_NODE: node}
        await self.client.create(VMS, body)

    async def release(self, vm: Key) -> None:
        """The annotation holds for the first pod only."""

    async def migrate(self, vm: Key, to: str) -> None:
        spec: Free = {"vmName": vm.name}
        if to:
            spec |= {"targetNode": to, "force": True}
        meta = {"generateName": f"move-{vm.name}-", "namespace": vm.namespace}
        await self.client.create(MIGRATIONS, {"metadata": meta, "spec": spec})

    async def run(self, vm: Key, *, wanted: bool) -> None:
        await self.client.patch(VMS, vm.name, {"spec": {"running": wanted}}, vm.namespace)

    async def delete(self, vm: Key) -> None:
        await self.client.delete(VMS, vm.name, vm.namespace)

    async def cancel(self, vm: Key) -> None:
        await delete_all(self.client, MIGRATIONS, self._unfinished(vm))

    async def clear(self, namespace: str) -> None:
        vms = [each for each in self.vms.store if each.metadata.namespace == namespace]
        await delete_all(self.client, VMS, vms)
        moves = [each for each in self.migrations.store if each.metadata.namespace == namespace]
        await delete_all(self.client, MIGRATIONS, moves)
