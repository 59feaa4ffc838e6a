"""The same requests where the VMs are KubeVirt's: written as KubeVirt's own objects.

Nothing of trimtab need be installed there. What KubeVirt has no word for is refused with a
sentence, or is a note for a lab's played handlers (use over time, whether it can migrate).
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.kube.apply import apply
from trimtab.kube.client import find
from trimtab.kube.errors import Conflict, NotFound
from trimtab.kube.kubevirt import HOSTNAME, KUBEVIRT_VMS, NOT_MIGRATABLE, VMIMS, VMIS, Vmi
from trimtab.kube.resources import PODS, Event, Free, Key
from trimtab.kube.translate import (
    ASKED_FOR,
    active_pod,
    kubevirt_vm,
    launcher_names,
    migration_view,
    migration_views,
    own_load,
    vm_view,
)
from trimtab.kube.virtual_machines import (
    LAUNCHER_LABEL,
    LOAD,
    VirtualMachine,
    VirtualMachineMigration,
    VmSpec,
    decode_load,
    encode_load,
)
from trimtab.model.load.curve import Constant
from trimtab.vm.decide.situation import by_age
from trimtab.vm.requests import VmRequests

_LAUNCHERS = "=".join(LAUNCHER_LABEL)


class KubevirtRequests(VmRequests):
    """Requests about the VMs of one namespace of a cluster with KubeVirt."""

    kind = KUBEVIRT_VMS

    # Looking

    async def get(self, name: str) -> VirtualMachine:
        try:
            vm = await self.client.get(KUBEVIRT_VMS, name, self.namespace)
        except NotFound as error:
            key = Key(self.namespace, name)
            raise ConfigError(f'there is no VM "{key}"; list them: trimtab vm list -A') from error
        vmi = await self._vmi(name)
        return vm_view(vm, vmi, await self._pod_name(vmi))

    async def all(self, *, everywhere: bool = False) -> Sequence[VirtualMachine]:
        where = None if everywhere else self.namespace
        vms = await self.client.list(KUBEVIRT_VMS, where)
        vmis = {vmi.metadata.key: vmi for vmi in await self.client.list(VMIS, where)}
        pods = launcher_names(await self.client.list(PODS, where, labels=_LAUNCHERS))
        seen = []
        for vm in sorted(vms, key=lambda each: each.metadata.key):
            vmi = vmis.get(vm.metadata.key)
            seen.append(vm_view(vm, vmi, active_pod(vmi, pods) if vmi else ""))
        return seen

    async def migrations(self, name: str) -> list[VirtualMachineMigration]:
        found = await self.client.list(VMIMS, self.namespace)
        vmi = await self._vmi(name)
        mine = (each for each in found if each.spec.vmi_name == name)
        return by_age(migration_views(mine, [vmi] if vmi else []))

    async def events(self, vm: VirtualMachine) -> list[Event]:
        """KubeVirt tells starts of the VM, and everything else of its VMI."""
        vmi = await self._vmi(vm.metadata.name)
        return await self._events_of(vm.metadata.uid, *([vmi.metadata.uid] if vmi else []))

    # Asking

    async def create(self, name: str, spec: Free, *, node: str = "") -> VirtualMachine:
        if node:
            raise ConfigError(
                "--node: KubeVirt would keep the VM on that node for good; create it, then: "
                f"trimtab vm migrate {name} --to {node} --force"
            )
        own = {"metadata": {"name": name, "namespace": self.namespace}, "spec": spec}
        created = await self.client.create(KUBEVIRT_VMS, kubevirt_vm(own))
        return vm_view(created, None)

    async def apply(self, manifest: Free) -> Any:
        known = {f"{each.api_version} {each.kind}": each for each in (KUBEVIRT_VMS, VMIMS)}
        found = f"{manifest.get('apiVersion')} {manifest.get('kind')}"
        if found not in known:
            raise ConfigError(f"cannot apply {found}; expected {' or '.join(known)}")
        meta = {"namespace": self.namespace} | manifest.get("metadata", {})
        kind = cast(Any, known[found])
        return await apply(self.client, kind, manifest | {"metadata": meta}, force=True)

    async def change(self, name: str, spec: Free) -> VirtualMachine:
        vm = await self.client.get(KUBEVIRT_VMS, name, self.namespace)
        patch: Free = {}
        if "running" in spec:
            patch["runStrategy"] = "Always" if spec["running"] else "Halted"
            patch["running"] = None
        if template := _template_changes(vm.spec.template.metadata.annotations, spec):
            patch["template"] = template
        if patch:
            await self.client.patch(KUBEVIRT_VMS, name, {"spec": patch}, self.namespace)
        if notes := patch.get("template", {}).get("metadata", {}).get("annotations"):
            await self._annotate_instance(name, notes)
        return await self.get(name)

    async def delete(self, name: str) -> None:
        await self.get(name)
        await self.client.delete(KUBEVIRT_VMS, name, self.namespace)

    async def migrate(self, name: str, *, to: str = "", force: bool = False) -> str:
        if force and not to:
            raise ConfigError("--force needs --to NODE")
        if to and not force:
            raise ConfigError(
                "--to: with KubeVirt a node is a condition, not a wish; add --force, or leave "
                "--to out and the scheduler chooses"
            )
        await self.get(name)
        spec: Free = {"vmiName": name}
        if to:
            spec["addedNodeSelector"] = {HOSTNAME: to}
        meta = {"generateName": f"move-{name[:200]}-", "namespace": self.namespace}
        created = await self.client.create(VMIMS, {"metadata": meta, "spec": spec})
        return created.metadata.name

    async def cancel(self, name: str) -> list[str]:
        """KubeVirt begins an evacuation again; only who asked for it can take it back."""
        asked = []
        for migration in await self.migrations(name):
            meta = migration.metadata
            if not migration.finished:
                with suppress(NotFound, Conflict):
                    await self.client.delete(VMIMS, meta.name, self.namespace, uid=meta.uid)
                    asked.append(f"migration {meta.name}")
        return asked

    # Waiting

    async def await_unmarked(self, name: str) -> VirtualMachine:
        return await self._await_vm(name, lambda vm: not vm.status.migration_name)

    async def _get_migration(self, name: str) -> VirtualMachineMigration:
        found = await self.client.get(VMIMS, name, self.namespace)
        vmi = await self._vmi(found.spec.vmi_name)
        return migration_view(found, vmi.status.migration_state if vmi else None)

    async def _vmi(self, name: str) -> Vmi | None:
        return await find(self.client, VMIS, name, self.namespace)

    async def _pod_name(self, vmi: Vmi | None) -> str:
        if vmi is None or not vmi.status.active_pods:
            return ""
        label = f"kubevirt.io/created-by={vmi.metadata.uid}"
        pods = await self.client.list(PODS, self.namespace, labels=label)
        return active_pod(vmi, launcher_names(pods))

    async def _annotate_instance(self, name: str, notes: Free) -> None:
        """What the played handlers read must reach the guest that runs, not only the next one."""
        with suppress(NotFound):
            patch = {"metadata": {"annotations": notes}}
            await self.client.patch(VMIS, name, patch, self.namespace)


def _template_changes(annotations: dict[str, str], spec: Free) -> Free:
    """Changes of a VM's template: KubeVirt takes size and strategy at the next start."""
    changes: Free = {}
    notes: Free = {}
    if "evictionStrategy" in spec:
        changes["evictionStrategy"] = spec["evictionStrategy"]
    if "liveMigratable" in spec:
        notes[NOT_MIGRATABLE] = None if spec["liveMigratable"] else ASKED_FOR
    if spec.get("resources") or spec.get("utilization"):
        notes[LOAD] = _changed_load(annotations.get(LOAD, ""), spec)
    template: Free = {}
    if changes:
        template["spec"] = changes
    if notes:
        template["metadata"] = {"annotations": notes}
    return template


def _changed_load(text: str, spec: Free) -> str:
    if spec.get("resources"):
        raise ConfigError("--cpu, --memory: change KubeVirt's VM itself, with kubectl edit vm")
    load = decode_load(text) if text else own_load(VmSpec())
    use = {name: Constant(value) for name, value in spec.get("utilization", {}).items()}
    return encode_load(structs.replace(load, **use))
