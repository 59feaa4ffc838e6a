"""An independent witness: every version of every VM, pod and migration, in the API's own order.

It watches with a client of its own and believes nobody. Afterwards `complaints` replays what
happened, version by version, and says where the promises about VMs were broken.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError
from trimtab.kube.resources import PODS, Key, Kind, Pod, metadata
from trimtab.kube.virtual_machines import (
    APP_LABEL,
    CANCEL_EVACUATION,
    MIGRATIONS,
    VMS,
    VirtualMachine,
    VirtualMachineMigration,
)
from trimtab.vm.decide.situation import is_over, is_running, owner_uid

ABSENT_S = 60.0
"""For how long a VM that lost its pod may be without one, on a busy machine."""


class Entry(Struct, frozen=True):
    """One version of one object; `at` is when we heard of it."""

    version: int
    at: float
    kind: str
    gone: bool
    object: Any


class State:
    """Everything as of one version."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], Any] = {}

    def take(self, entry: Entry) -> None:
        key = (entry.kind, metadata(entry.object).key)
        if entry.gone:
            self.objects.pop(key, None)
        else:
            self.objects[key] = entry.object

    def of(self, kind: Kind[Any], namespace: str = "") -> list[Any]:
        return [
            obj
            for (plural, key), obj in list(self.objects.items())
            if plural == kind.plural and namespace in ("", key.namespace)
        ]

    def vm(self, key: Key) -> VirtualMachine | None:
        return self.objects.get((VMS.plural, key))

    def pod(self, namespace: str, name: str) -> Pod | None:
        return self.objects.get((PODS.plural, Key(namespace, name)))

    def migration(self, namespace: str, name: str) -> VirtualMachineMigration | None:
        return self.objects.get((MIGRATIONS.plural, Key(namespace, name)))


class Chronicle:
    """Writes down what it sees; `now` is the latest state."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.entries: list[Entry] = []
        self.now = State()
        self.synced = 0

    async def follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            for kind in (VMS, PODS, MIGRATIONS):
                group.create_task(self._follow(kind))

    async def _follow(self, kind: Kind[Any]) -> None:
        labels = {"labelSelector": "=".join(APP_LABEL)} if kind is PODS else {}
        version = ""
        while True:
            try:
                if not version:
                    version = await self._list(kind, labels)
                params: dict[str, str | int] = {"resourceVersion": version, "timeoutSeconds": 300}
                async for batch in self._client.watch(kind, None, params | labels, 310):
                    for event in batch:
                        self._note(kind, event.object, gone=event.type == "DELETED")
                        version = event.object.metadata.resource_version
            except ApiError:  # the API server is away: that is part of some tests
                await asyncio.sleep(0.1)

    async def _list(self, kind: Kind[Any], params: dict[str, str]) -> str:
        version = ""
        async for page in self._client.pages(kind, None, params):
            for obj in page.items:
                self._note(kind, obj, gone=False)
            version = page.metadata.resource_version
        self.synced += 1
        return version

    def _note(self, kind: Kind[Any], obj: Any, *, gone: bool) -> None:
        version = int(obj.metadata.resource_version)
        entry = Entry(version, time.monotonic(), kind.plural, gone, obj)
        self.entries.append(entry)
        self.now.take(entry)

    def replay(self, namespace: str) -> Iterator[tuple[Entry, State, State]]:
        """Each entry of a namespace with the state before and after it."""
        before, after = State(), State()
        for entry in sorted(self.entries, key=lambda each: each.version):
            if metadata(entry.object).namespace == namespace:
                after.take(entry)
                yield entry, before, after
                before.take(entry)


def complaints(chronicle: Chronicle, namespace: str, *, recreate: bool = False) -> list[str]:
    """Every broken promise in a namespace; an empty list is what tests want to see."""
    return [
        *_active_pods(chronicle, namespace, recreate),
        *_marks(chronicle, namespace, recreate),
        *(
            f"{key} had no running pod for {seconds:.1f} s"
            for key, seconds in absences(chronicle, namespace)
            if seconds > ABSENT_S
        ),
    ]


def _active_pods(chronicle: Chronicle, namespace: str, recreate: bool) -> Iterator[str]:
    """The active pod changes only when it is lost, or to one that runs."""
    for entry, before, after in chronicle.replay(namespace):
        if entry.kind != VMS.plural or entry.gone:
            continue
        old_vm, new_vm = before.vm(entry.object.metadata.key), entry.object
        if old_vm is None or not old_vm.status.pod_name or not new_vm.spec.running:
            continue
        was, is_ = old_vm.status.pod_name, new_vm.status.pod_name
        if was == is_:
            continue
        source, target = after.pod(namespace, was), after.pod(namespace, is_)
        lost = source is None or is_over(source)
        if not (lost or is_running(target) or recreate):
            yield f"{entry.version}: {was} was alive when {is_ or 'nothing'} became active"


def _marks(chronicle: Chronicle, namespace: str, recreate: bool) -> Iterator[str]:
    """A mark goes only when the VM has left, lost its pod, is stopped, or was told to stay."""
    for entry, before, after in chronicle.replay(namespace):
        if entry.kind != VMS.plural or entry.gone or recreate:
            continue
        vm, old = entry.object, before.vm(entry.object.metadata.key)
        mark = old.status.evacuation_node_name if old else ""
        if not mark or vm.status.evacuation_node_name or not vm.spec.running:
            continue
        pod = after.pod(namespace, vm.status.pod_name)
        stays = pod is not None and not is_over(pod) and pod.spec.node_name == mark
        told = vm.metadata.annotations.get(CANCEL_EVACUATION) == mark
        if stays and not told:
            yield f"{entry.version}: the mark {mark} of {vm.metadata.key} was lost"


def unwanted(state: State, namespace: str) -> set[str]:
    """Living pods of VMs that are neither active nor a target."""
    wanted = {name for vm in state.of(VMS, namespace) for name in _wanted(state, vm)}
    owned = [pod for pod in state.of(PODS, namespace) if owner_uid(pod)]
    return {pod.metadata.name for pod in owned if not is_over(pod)} - wanted


def _wanted(state: State, vm: VirtualMachine) -> Iterator[str]:
    yield vm.status.pod_name
    migration = state.migration(vm.metadata.namespace, vm.status.migration_name)
    if migration is not None:
        yield migration.status.target_pod


def absences(chronicle: Chronicle, namespace: str) -> list[tuple[Key, float]]:
    """For how long VMs that had run, and were to, had no running active pod."""
    since: dict[Key, float] = {}
    found: list[tuple[Key, float]] = []
    for entry, before, after in chronicle.replay(namespace):
        for vm in after.of(VMS, namespace):
            key = vm.metadata.key
            if _runs(after, vm) or not vm.spec.running:
                if key in since:
                    found.append((key, entry.at - since.pop(key)))
            elif (old := before.vm(key)) and _runs(before, old):
                since[key] = entry.at
    return found


def _runs(state: State, vm: VirtualMachine) -> bool:
    return is_running(state.pod(vm.metadata.namespace, vm.status.pod_name))
