"""Carries out one step about one VM: the only place of the controller that writes.

Each write is conditional on what the decision was made from (a resourceVersion, a uid, a
tested value), so one that comes too late fails and the VM is looked at again.
"""

from contextlib import suppress
from typing import Literal

from msgspec import to_builtins

from trimtab import errors
from trimtab.kube.apply import apply
from trimtab.kube.client import Client, find
from trimtab.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound
from trimtab.kube.events import EventRecorder
from trimtab.kube.resources import PODS, Free, Key, ObjectMeta, Pod, metadata
from trimtab.kube.runtime.controller import After, Done, Outcome
from trimtab.kube.virtual_machines import (
    CANCEL_EVACUATION,
    FINISHED,
    MIGRATIONS,
    VMS,
    VirtualMachineMigration,
    VmStatus,
)
from trimtab.obs import get_logger
from trimtab.vm import metrics
from trimtab.vm.decide.lifecycle import name_taken, pod_refused
from trimtab.vm.decide.situation import VmSituation, is_foreign
from trimtab.vm.decide.steps import (
    AdoptMigration,
    ClearMark,
    CreateMigration,
    CreatePod,
    DecideAgain,
    DeleteMigration,
    DeletePod,
    DropCancel,
    EventNote,
    Lose,
    PatchPod,
    Rest,
    Start,
    Step,
    Wait,
    WriteMigration,
    WriteVmStatus,
)
from trimtab.vm.own_writes import OwnWrites
from trimtab.vm.status import (
    absence_ended,
    applied,
    applied_migration,
)

log = get_logger()
MANAGER = "trimtab-vm-controller"
NAMESPACE_ENDS_S = 10.0
AGAIN = After(0.0)
WHEN_SEEN = After(1.0)
"""A deletion leaves no version to wait for: its event brings the VM back, or else this does."""


class Executor:
    """Writes as one client, and notes what was written."""

    def __init__(self, client: Client, recorder: EventRecorder, own: OwnWrites) -> None:
        self._client = client
        self._recorder = recorder
        self._own = own

    async def do(self, s: VmSituation, step: Step) -> Outcome:
        """Carry out `step`; afterwards the VM is looked at again."""
        if isinstance(step, CreatePod):
            return await self._create_pod(s, step)
        try:
            outcome = await self._write(s, step)
        except NotFound as error:
            raise errors.Conflict(f"{s.key} changed meanwhile: {error}") from error
        self._record_events(s, getattr(step, "news", ()))
        return outcome

    async def _write(self, s: VmSituation, step: Step) -> Outcome:
        match step:
            case Rest() | DecideAgain() | CreatePod():  # nothing to write; pods are made above
                return Done()
            case Wait(seconds=seconds):
                return After(seconds)
            case WriteVmStatus() | Lose() | Start():
                await self._write_status(s, step.status)
            case PatchPod(pod=pod, metadata=change):
                await self._patch_pod(s, pod, change)
            case DeletePod(pod=pod):
                await self._delete_pod(pod)
                return WHEN_SEEN
            case ClearMark():
                await self._clear_mark(s, step)
            case DropCancel(node=node):
                await self._drop_cancel(s, node)
            case CreateMigration(migration=migration):
                return await self._create_migration(s, migration)
            case WriteMigration():
                await self._write_migration(s, step)
            case AdoptMigration():
                await self._adopt(s, step)
            case DeleteMigration(migration=migration):
                await self._delete_migration(migration)
                return WHEN_SEEN
        return AGAIN

    # The VM

    async def _write_status(self, s: VmSituation, status: VmStatus) -> None:
        vm = s.the_vm
        body = {"metadata": identity(vm.metadata), "status": applied(status)}
        written = await apply(
            self._client, VMS, body, manager=MANAGER, force=True, subresource="status"
        )
        self._own.note(s.key, written)
        log.info(
            "vm status written",
            phase=status.phase,
            node=status.node_name,
            pod=status.pod_name,
            migration=status.migration_name,
        )
        if since := absence_ended(vm, status):
            metrics.absence.observe((s.now - since).total_seconds())

    async def _clear_mark(self, s: VmSituation, step: ClearMark) -> None:
        path = "/status/evacuationNodeName"
        await self._patch_vm(s, [*test(path, step.node), {"op": "remove", "path": path}], "status")
        log.info("evacuation mark cleared", node=step.node)

    async def _drop_cancel(self, s: VmSituation, node: str) -> None:
        path = "/metadata/annotations/" + CANCEL_EVACUATION.replace("/", "~1")
        await self._patch_vm(s, [*test(path, node), {"op": "remove", "path": path}])

    async def _patch_vm(self, s: VmSituation, patch: list[Free], subresource: str = "") -> None:
        """The version is tested too: the same mark may have been set again meanwhile."""
        name, namespace = s.key.name, s.key.namespace
        same = test("/metadata/resourceVersion", s.the_vm.metadata.resource_version)
        patch = [*same, *patch]
        try:
            written = await self._client.patch(VMS, name, patch, namespace, subresource=subresource)
        except Invalid as error:  # a test failed: it is not what we thought any more
            raise errors.Conflict(f"{s.key} changed meanwhile: {error}") from error
        self._own.note(s.key, written)

    # Pods

    async def _create_pod(self, s: VmSituation, step: CreatePod) -> Outcome:
        meta = metadata(step.pod)
        try:
            created = await self._client.create(PODS, step.pod)
        except AlreadyExists:
            return await self._meet(s, step, meta.key)
        except Forbidden as error:
            if any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                return After(NAMESPACE_ENDS_S)
            return await self._refused(s, step, error)
        except Invalid as error:
            return await self._refused(s, step, error)
        self._own.note(s.key, created, created=True)
        log.info("pod created", pod=meta.name, target=step.target)
        self._record_events(s, step.news)
        return AGAIN

    async def _refused(self, s: VmSituation, step: CreatePod, error: ApiError) -> Outcome:
        """The API server does not take the pod: say so, and try again ever later."""
        self._record_events(s, (EventNote("PodRefused", error.message, warning=True),))
        if said := pod_refused(s, error.message, target=step.target):
            return await self.do(s, said)
        raise error

    async def _meet(self, s: VmSituation, step: CreatePod, key: Key) -> Outcome:
        """A pod of that name exists: ours from before the last crash, or somebody else's."""
        pod = await find(self._client, PODS, key.name, key.namespace)
        if pod is None:
            return AGAIN
        if not is_foreign(pod, s.the_vm):
            self._own.note(s.key, pod, created=True)
            return AGAIN
        return await self.do(s, name_taken(s, key.name, target=step.target))

    async def _patch_pod(self, s: VmSituation, pod: Pod, change: Free) -> None:
        meta = pod.metadata
        patch = {"metadata": change | {"uid": meta.uid}}
        written = await self._client.patch(PODS, meta.name, patch, meta.namespace)
        self._own.note(s.key, written)
        log.debug("pod metadata patched", pod=meta.name, change=change)

    async def _delete_pod(self, pod: Pod) -> None:
        meta = pod.metadata
        with suppress(NotFound, Conflict):  # gone already, or another one has its name by now
            await self._client.delete(PODS, meta.name, meta.namespace, uid=meta.uid)
            log.info("pod deleted", pod=meta.name, node=pod.spec.node_name)

    # Migrations

    async def _create_migration(self, s: VmSituation, migration: Free) -> Outcome:
        try:
            created = await self._client.create(MIGRATIONS, migration)
        except AlreadyExists:
            return WHEN_SEEN  # made before the last crash; the store will show it
        self._own.note(s.key, created, created=True)
        log.info("migration created", migration=created.metadata.name)
        return AGAIN

    async def _write_migration(self, s: VmSituation, step: WriteMigration) -> None:
        meta, status = step.migration.metadata, step.status
        body = {"metadata": identity(meta), "status": applied_migration(status)}
        written = await apply(
            self._client, MIGRATIONS, body, manager=MANAGER, force=True, subresource="status"
        )
        self._own.note(s.key, written)
        log.info("migration written", migration=meta.name, phase=status.phase, why=status.reason)
        if status.phase in FINISHED:
            metrics.count_migration(status)

    async def _adopt(self, s: VmSituation, step: AdoptMigration) -> None:
        meta = step.migration.metadata
        owners = {"ownerReferences": [to_builtins(owner) for owner in step.owners]}
        patch = {"metadata": identity(meta) | owners}
        written = await self._client.patch(MIGRATIONS, meta.name, patch, meta.namespace)
        self._own.note(s.key, written)
        log.info("migration adopted", migration=meta.name)

    async def _delete_migration(self, migration: VirtualMachineMigration) -> None:
        meta = migration.metadata
        with suppress(NotFound, Conflict):
            await self._client.delete(MIGRATIONS, meta.name, meta.namespace, uid=meta.uid)

    def _record_events(self, s: VmSituation, news: tuple[EventNote, ...]) -> None:
        for each in news:
            kind: Literal["Normal", "Warning"] = "Warning" if each.warning else "Normal"
            pod = PODS.reference(each.pod) if each.pod else None
            if s.vm is not None:
                about = VMS.reference(s.vm)
                self._recorder.record(about, each.reason, each.note, type=kind, related=pod)
            if pod is not None:
                self._recorder.record(pod, each.reason, each.note, type=kind)


def test(path: str, value: str) -> list[Free]:
    return [{"op": "test", "path": path, "value": value}]


def identity(meta: ObjectMeta) -> Free:
    """What ties a write to the object and the version that were read."""
    return {
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
