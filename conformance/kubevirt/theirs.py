"""KubeVirt's VMs: virt-api and virt-controller as they are, their handlers played."""

from datetime import datetime
from typing import Any

from conformance.kubevirt.course import Cause, Record
from conformance.kubevirt.scenario import Machine
from conformance.kubevirt.world import Life, Sight, World, delete_all, manifest, now
from trimtab.kube.client import Client
from trimtab.kube.kubevirt import (
    CREATED_BY_LABEL,
    EVACUATION_ANNOTATION,
    HOSTNAME,
    KUBEVIRT_VMS,
    MIGRATION_JOB_LABEL,
    VMIMS,
    VMIS,
    Vmi,
    Vmim,
)
from trimtab.kube.resources import Free, Key
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.translate import kubevirt_vm, migration_view
from trimtab.kube.virtual_machines import INITIAL_NODE


class Theirs(World):
    name = "KubeVirt"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.vms = Reflector(client, KUBEVIRT_VMS)
        self.vmis = Reflector(client, VMIS)
        self.migrations = Reflector(client, VMIMS)
        self.migrations.store.subscribe(self._migration)
        self.vmis.store.subscribe(self._vmi)

    def reflectors(self) -> tuple[Reflector[Any], ...]:
        return self.vms, self.vmis, self.migrations

    def _migration(self, old: Vmim | None, new: Vmim | None) -> None:
        seen = new or old
        assert seen is not None
        meta = seen.metadata
        vm = seen.vmi_key
        cause: Cause = "eviction" if EVACUATION_ANNOTATION in meta.annotations else "person"
        record = self.records.setdefault(meta.uid, Record(str(vm), cause))
        record.asked_to_end |= meta.deletion_timestamp is not None and record.is_unfinished
        if not record.source and (vmi := self.vmis.store.get(vm.name, vm.namespace)):
            record.source = vmi.status.node_name
        if new is None:
            record.gone(now())
        else:
            phase = migration_view(seen).status.phase
            record.note(now(), "Copying" if phase == "PreCopy" else phase)

    def _vmi(self, old: Vmi | None, new: Vmi | None) -> None:
        if new is None:
            return
        life = self.lives.setdefault(new.metadata.key, Life([]))
        if life.starts[-1:] != [new.metadata.uid]:
            life.starts.append(new.metadata.uid)
        elif old is not None and old.status.node_name and old.metadata.uid == new.metadata.uid:
            life.moved += old.status.node_name != new.status.node_name

    def sight(self, vm: Key) -> Sight | None:
        found = self.vms.store.get(vm.name, vm.namespace)
        vmi = self.vmis.store.get(vm.name, vm.namespace)
        if found is None:
            return None
        wanted = found.spec.wanted and found.metadata.deletion_timestamp is None
        deleted = found.metadata.deletion_timestamp is not None
        if vmi is None:
            return Sight(wanted, running=False, marked=False, going=deleted)
        going = vmi.metadata.deletion_timestamp is not None
        return Sight(
            wanted=wanted,
            running=vmi.status.phase == "Running" and not going,
            marked=bool(vmi.status.evacuation_node_name),
            node=vmi.status.node_name,
            going=deleted,
        )

    def active_pod(self, vm: Key) -> str:
        vmi = self.vmis.store.get(vm.name, vm.namespace)
        if vmi is None:
            return ""
        return next(
            (
                pod.metadata.name
                for pod in self.launchers(vm)
                if pod.metadata.labels.get(CREATED_BY_LABEL) == vmi.metadata.uid
                and pod.spec.node_name == vmi.status.node_name
            ),
            "",
        )

    def target_pod(self, vm: Key) -> str:
        jobs = {each.metadata.uid for each in self._unfinished(vm)}
        return next(
            (
                pod.metadata.name
                for pod in self.launchers(vm)
                if pod.metadata.labels.get(MIGRATION_JOB_LABEL) in jobs
            ),
            "",
        )

    def _unfinished(self, vm: Key) -> list[Vmim]:
        return [each for each in self.migrations.store if each.vmi_key == vm and not each.finished]

    def copy_began(self, vm: Key) -> datetime | None:
        vmi = self.vmis.store.get(vm.name, vm.namespace)
        state = vmi.status.migration_state if vmi else None
        return state.start_timestamp if state and not state.ended else None

    def has_migrations(self, vm: Key) -> bool:
        return any(each.vmi_key == vm for each in self.migrations.store)

    def kept(self, vm: Key) -> int:
        """One that was taken back is Failed for a moment before it goes."""
        return sum(
            each.finished and not each.metadata.deletion_timestamp
            for each in self.migrations.store
            if each.vmi_key == vm
        )

    async def create(self, vm: Key, machine: Machine, node: str) -> None:
        body = kubevirt_vm(manifest(vm, machine))
        body["spec"]["template"]["metadata"]["annotations"][INITIAL_NODE] = node
        await self.client.create(KUBEVIRT_VMS, body)

    async def release(self, vm: Key) -> None:
        notes = {"annotations": {INITIAL_NODE: None}}
        patch = {"spec": {"template": {"metadata": notes}}}
        await self.client.patch(KUBEVIRT_VMS, vm.name, patch, vm.namespace)

    async def migrate(self, vm: Key, to: str) -> None:
        spec: Free = {"vmiName": vm.name}
        if to:
            spec["addedNodeSelector"] = {HOSTNAME: to}
        meta = {"generateName": f"move-{vm.name}-", "namespace": vm.namespace}
        await self.client.create(VMIMS, {"metadata": meta, "spec": spec})

    async def run(self, vm: Key, *, wanted: bool) -> None:
        strategy = "Always" if wanted else "Halted"
        patch = {"spec": {"runStrategy": strategy}}
        await self.client.patch(KUBEVIRT_VMS, vm.name, patch, vm.namespace)

    async def delete(self, vm: Key) -> None:
        await self.client.delete(KUBEVIRT_VMS, vm.name, vm.namespace)

    async def cancel(self, vm: Key) -> None:
        await delete_all(self.client, VMIMS, self._unfinished(vm))

    async def clear(self, namespace: str) -> None:
        vms = [each for each in self.vms.store if each.metadata.namespace == namespace]
        await delete_all(self.client, KUBEVIRT_VMS, vms)
