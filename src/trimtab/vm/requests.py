"""What people ask for: create, change, move, stop and delete VMs, and wait until it is so.

All of it is done by writing VirtualMachines and VirtualMachineMigrations; the controller does
the rest. The same requests can be made with kubectl.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar

from msgspec import to_builtins

from trimtab.errors import ConfigError, NotReady, TrimtabError
from trimtab.kube.apply import apply
from trimtab.kube.client import Client, find
from trimtab.kube.errors import Conflict, NotFound
from trimtab.kube.resources import EVENTS, PODS, Event, Free, Key, Kind, Pod
from trimtab.kube.virtual_machines import (
    CANCEL_EVACUATION,
    INITIAL_NODE,
    MIGRATIONS,
    VMS,
    VirtualMachine,
    VirtualMachineMigration,
)
from trimtab.vm.decide.situation import by_age, is_unfinished

POLL_S = 0.1
Say = Callable[[str], None]
KINDS: tuple[Kind[Any], ...] = (VMS, MIGRATIONS)


def _silent(_: str) -> None:
    """Progress that is not shown."""


class VmRequests:
    """Requests about the VMs of one namespace."""

    kind: ClassVar[Kind[Any]] = VMS

    def __init__(
        self,
        client: Client,
        namespace: str = "default",
        *,
        timeout_s: float = 300.0,
        say: Say = _silent,
    ) -> None:
        """`say` hears what is being waited for; no wait takes longer than `timeout_s`."""
        self.client = client
        self.namespace = namespace
        self._timeout_s = timeout_s
        self._say = say

    # Looking

    async def get(self, name: str) -> VirtualMachine:
        """The VM of that name, or an error that says how to find the others."""
        try:
            return await self.client.get(VMS, name, self.namespace)
        except NotFound as error:
            key = Key(self.namespace, name)
            raise ConfigError(f'there is no VM "{key}"; list them: trimtab vm list -A') from error

    async def all(self, *, everywhere: bool = False) -> Sequence[VirtualMachine]:
        vms = await self.client.list(VMS, None if everywhere else self.namespace)
        return sorted(vms, key=lambda vm: vm.metadata.key)

    async def pod(self, vm: VirtualMachine) -> Pod | None:
        """The active pod, if it exists already."""
        if not vm.status.pod_name:
            return None
        return await find(self.client, PODS, vm.status.pod_name, vm.metadata.namespace)

    async def migrations(self, name: str) -> list[VirtualMachineMigration]:
        """The VM's migrations, the oldest first."""
        found = await self.client.list(MIGRATIONS, self.namespace)
        return by_age([each for each in found if each.spec.vm_name == name])

    async def events(self, vm: VirtualMachine) -> list[Event]:
        """What was told about the VM, the latest last."""
        return await self._events_of(vm.metadata.uid)

    async def _events_of(self, *uids: str) -> list[Event]:
        found: list[Event] = []
        for uid in uids:
            fields = f"regarding.uid={uid}"
            found += await self.client.list(EVENTS, self.namespace, fields=fields)
        return sorted(found, key=lambda each: each.last_seen.timestamp() if each.last_seen else 0)

    # Asking

    async def create(self, name: str, spec: Free, *, node: str = "") -> VirtualMachine:
        """A new VM; `node` is where its first pod must go."""
        notes = {INITIAL_NODE: node} if node else {}
        meta = {"name": name, "namespace": self.namespace, "annotations": notes}
        return await self.client.create(VMS, {"metadata": meta, "spec": spec})

    async def apply(self, manifest: Free) -> VirtualMachine | VirtualMachineMigration:
        """Server-side apply of a VM or a migration as somebody wrote it."""
        known = {f"{each.api_version} {each.kind}": each for each in KINDS}
        found = f"{manifest.get('apiVersion')} {manifest.get('kind')}"
        if found not in known:
            raise ConfigError(f"cannot apply {found}; expected {' or '.join(known)}")
        meta = {"namespace": self.namespace} | manifest.get("metadata", {})
        written: VirtualMachine | VirtualMachineMigration = await apply(
            self.client, known[found], manifest | {"metadata": meta}, force=True
        )
        return written

    async def change(self, name: str, spec: Free) -> VirtualMachine:
        """Merge `spec` into the VM's."""
        await self.get(name)
        return await self.client.patch(VMS, name, {"spec": spec}, self.namespace)

    async def delete(self, name: str) -> None:
        """The VM with its migrations, also those that no controller has adopted."""
        await self.get(name)
        migrations = await self.migrations(name)
        await self.client.delete(VMS, name, self.namespace)
        for migration in migrations:
            meta = migration.metadata
            with suppress(NotFound, Conflict):  # the garbage collector was first
                await self.client.delete(MIGRATIONS, meta.name, self.namespace, uid=meta.uid)

    async def migrate(self, name: str, *, to: str = "", force: bool = False) -> str:
        """Ask for a migration; its name. `to` is a wish, with `force` a condition."""
        if force and not to:
            raise ConfigError("--force needs --to NODE")
        vm = await self.get(name)
        spec = {"vmName": name, "targetNode": to, "force": force}
        meta = {
            "generateName": f"move-{name[:200]}-",
            "namespace": vm.metadata.namespace,
            "ownerReferences": [to_builtins(VMS.owner(vm, controller=False))],
        }
        created = await self.client.create(MIGRATIONS, {"metadata": meta, "spec": spec})
        return created.metadata.name

    async def cancel(self, name: str) -> list[str]:
        """Let a VM stay: end its evacuation and its migrations. What was asked for, in words."""
        vm = await self.get(name)
        asked = []
        if mark := vm.status.evacuation_node_name:
            note = {"metadata": {"annotations": {CANCEL_EVACUATION: mark}}}
            await self.client.patch(VMS, name, note, self.namespace)
            asked.append(f"the evacuation from node {mark}")
        for migration in await self.migrations(name):
            mine = migration.metadata.controller is None
            if is_unfinished(migration) and mine:
                meta = migration.metadata
                await self.client.delete(MIGRATIONS, meta.name, self.namespace, uid=meta.uid)
                asked.append(f"migration {meta.name}")
        return asked

    # Waiting

    async def await_running(self, name: str) -> VirtualMachine:
        def runs(vm: VirtualMachine) -> bool:
            current = vm.status.observed_generation >= vm.metadata.generation
            return current and vm.status.phase == "Running"

        return await self._await_vm(name, runs)

    async def await_stopped(self, name: str) -> VirtualMachine:
        return await self._await_vm(name, lambda vm: vm.status.phase == "Stopped")

    async def await_unmarked(self, name: str) -> VirtualMachine:
        def is_free(vm: VirtualMachine) -> bool:
            asked = CANCEL_EVACUATION in vm.metadata.annotations
            return not (asked or vm.status.evacuation_node_name or vm.status.migration_name)

        return await self._await_vm(name, is_free)

    async def await_gone(self, name: str) -> None:
        """Until neither the VM nor a pod of it is left."""
        async with self._limit(f"VM {name} is still there"):
            while left := await self._left_of(name):
                self._say(f"{left} not gone yet")
                await asyncio.sleep(POLL_S)

    async def _left_of(self, name: str) -> str:
        """What is left of a VM that was deleted.

        KubeVirt's finalizer keeps the VM itself after its pods, and while it is there no VM
        of that name can be created.
        """
        label = f"vm.kubevirt.io/name={name[:63]}"
        if await self.client.list(PODS, self.namespace, labels=label):
            return "its pods are"
        left = await find(self.client, self.kind, name, self.namespace)
        return "" if left is None else "the VM is"

    async def await_migrated(self, migration: str) -> VirtualMachineMigration:
        """Until it is over; a migration that did not succeed is an error with its reason."""
        over = await self._await_end(migration)
        if over.status.phase != "Succeeded":
            raise TrimtabError(
                f"migration {migration} {over.status.phase.lower()}: {over.status.reason}"
            )
        return over

    async def _await_end(self, migration: str) -> VirtualMachineMigration:
        async with self._limit(f"migration {migration} is not over"):
            while True:
                try:
                    found = await self._get_migration(migration)
                except NotFound as error:
                    raise TrimtabError(f"migration {migration} was cancelled") from error
                if found.finished:
                    return found
                self._say(f"{found.status.phase or 'new'} {found.status.target_node}".strip())
                await asyncio.sleep(POLL_S)

    async def _get_migration(self, name: str) -> VirtualMachineMigration:
        return await self.client.get(MIGRATIONS, name, self.namespace)

    async def _await_vm(self, name: str, holds: Callable[[VirtualMachine], bool]) -> VirtualMachine:
        vm = await self.get(name)
        async with self._limit(f"VM {name} is not as wanted"):
            while not holds(vm):
                self._say(describe(vm))
                await asyncio.sleep(POLL_S)
                vm = await self.get(name)
        return vm

    @asynccontextmanager
    async def _limit(self, otherwise: str) -> AsyncIterator[None]:
        """A time limit that says what was not reached."""
        try:
            async with asyncio.timeout(self._timeout_s):
                yield
        except TimeoutError as late:
            raise NotReady(
                f"{otherwise} after {self._timeout_s:.0f} s; "
                "is the controller running? trimtab lab status"
            ) from late


def describe(vm: VirtualMachine) -> str:
    """Where a VM is in its life, and what holds it up, in a few words."""
    ready = next((each for each in vm.status.conditions if each.type == "Ready"), None)
    why = ready.message if ready and ready.status == "False" else ""
    return " ".join(filter(None, (vm.status.phase or "new", vm.status.node_name, why)))
