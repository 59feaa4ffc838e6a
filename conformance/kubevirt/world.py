"""A lab that scenarios are played in. What is asked of it and seen in it is the same in both
worlds; who keeps the VMs is the business of `ours` and `theirs`.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

from msgspec import Struct

from conformance.kubevirt.course import Record
from conformance.kubevirt.scenario import Machine
from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError, NotFound
from trimtab.kube.kubevirt import FINAL_PHASES
from trimtab.kube.resources import NODES, PODS, Free, Key, Pod
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.virtual_machines import LAUNCHER_LABEL
from trimtab.lab.components.kwok import NOT_READY_LABEL

MEMORY = "1Gi"
COPY_S = 15.0
"""How long one copy takes in real seconds, alone: long enough to do something meanwhile."""
RETRIES = 10
CRASHED: Free = {"status": {"phase": "Failed", "message": "the launcher crashed"}}
_CLASSES = (
    ("Evacuation in progress", "marked again"),
    ("Eviction triggered evacuation", "marked"),
    ("not live-migratable", "protected"),
    ("target Pod", "target"),
    ("disruption budget", "budget"),
    ("in-flight migration", "in flight"),
    ("Cannot migrate VMI", "cannot migrate"),
)


class Place(Struct, frozen=True):
    """A namespace whose pods go to these nodes only."""

    namespace: str
    nodes: tuple[str, ...]

    def vm(self, number: int) -> Key:
        """Names are unique in the cluster: KubeVirt counts migrations of a node by VM name."""
        return Key(self.namespace, f"{self.namespace}-{number}")


class Life(Struct):
    """How often a VM was started, and how often it moved."""

    starts: list[str]
    moved: int = 0


class Sight(Struct, frozen=True):
    """A VM at this moment."""

    wanted: bool
    running: bool
    marked: bool
    node: str = ""
    going: bool = False
    """It is being deleted."""


class World(ABC):
    """One lab, followed by watches."""

    name: str

    def __init__(self, client: Client) -> None:
        self.client = client
        self.records: dict[str, Record] = {}
        self.lives: dict[Key, Life] = {}
        self.pods = Reflector(client, PODS, labels="=".join(LAUNCHER_LABEL))

    # What the two worlds have of their own

    @abstractmethod
    def reflectors(self) -> tuple[Reflector[Any], ...]: ...

    @abstractmethod
    def sight(self, vm: Key) -> Sight | None:
        """The VM; None if there is none."""

    @abstractmethod
    def active_pod(self, vm: Key) -> str: ...

    @abstractmethod
    def target_pod(self, vm: Key) -> str: ...

    @abstractmethod
    def copy_began(self, vm: Key) -> datetime | None:
        """When the copy that is under way began, as the cluster tells it."""

    @abstractmethod
    def has_migrations(self, vm: Key) -> bool:
        """Whether there are any, in whatever phase."""

    @abstractmethod
    def kept(self, vm: Key) -> int:
        """Finished migrations that are still there."""

    @abstractmethod
    async def create(self, vm: Key, machine: Machine, node: str) -> None: ...

    @abstractmethod
    async def release(self, vm: Key) -> None:
        """The VM runs: it may start anywhere next time."""

    @abstractmethod
    async def migrate(self, vm: Key, to: str) -> None: ...

    @abstractmethod
    async def run(self, vm: Key, *, wanted: bool) -> None: ...

    @abstractmethod
    async def delete(self, vm: Key) -> None: ...

    @abstractmethod
    async def cancel(self, vm: Key) -> None:
        """Delete the migrations of the VM that are not over."""

    @abstractmethod
    async def clear(self, namespace: str) -> None:
        """Delete everything in a namespace."""

    # What they share

    def of_vm(self, vm: Key) -> list[Record]:
        """The VM's migrations, in the order in which they appeared."""
        return [each for each in self.records.values() if each.vm == str(vm)]

    def launchers(self, vm: Key) -> list[Pod]:
        """Pods of the VM that run or will."""
        return [
            pod
            for pod in self.pods.store
            if pod.metadata.namespace == vm.namespace
            and pod.metadata.name.startswith(f"virt-launcher-{vm.name}-")
            and pod.status.phase not in FINAL_PHASES
        ]

    def forget(self, namespace: str) -> None:
        self.lives = {vm: life for vm, life in self.lives.items() if vm.namespace != namespace}
        begins = f"{namespace}/"
        self.records = {u: r for u, r in self.records.items() if not r.vm.startswith(begins)}

    def is_settled(self, vm: Key) -> bool:
        sight, pods = self.sight(vm), len(self.launchers(vm))
        if any(record.is_unfinished for record in self.of_vm(vm)):
            return False
        if sight is None:
            return pods == 0 and self.kept(vm) == 0  # migrations go with their VM
        if not sight.wanted:
            return pods == 0 and not sight.going
        return sight.running and not sight.marked and pods == 1

    async def evict(self, vm: Key, *, target: bool = False) -> str:
        pod = await self._pod(vm, target=target)
        if not pod:
            return "no pod"
        answer, busy = "", False
        for _ in range(RETRIES):
            answer = await _answer(self.client.evict(pod, vm.namespace))
            if not answer.startswith("500"):
                break
            busy = True  # the machine: no webhook answers so
        return "429 marked" if busy and answer == "429 marked again" else answer

    async def _pod(self, vm: Key, *, target: bool) -> str:
        """Our watch of pods may be a little behind the others."""
        for _ in range(RETRIES):
            if pod := self.target_pod(vm) if target else self.active_pod(vm):
                return pod
            await asyncio.sleep(0.2)
        return ""

    async def kill(self, vm: Key, *, target: bool = False) -> str:
        """The launcher crashes, as its kubelet would tell it."""
        pod = await self._pod(vm, target=target)
        if not pod:
            return "no pod"
        return await answered(
            lambda: self.client.patch(PODS, pod, CRASHED, vm.namespace, subresource="status")
        )

    async def cordon(self, node: str, *, closed: bool) -> None:
        await self.client.patch(NODES, node, {"spec": {"unschedulable": closed or None}})

    async def lose(self, node: str, *, lost: bool) -> None:
        label = {NOT_READY_LABEL: "true" if lost else None}
        await self.client.patch(NODES, node, {"metadata": {"labels": label}})

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Watch for the time of the block."""
        every = (*self.reflectors(), self.pods)
        tasks = [asyncio.create_task(each.run()) for each in every]
        try:
            async with asyncio.timeout(60.0):
                for each in every:
                    await each.synced.wait()
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task


async def answered(request: Callable[[], Awaitable[object]]) -> str:
    """What the API server said, in a word or two; asked again when a webhook was too slow."""
    answer = ""
    for _ in range(RETRIES):
        answer = await _answer(request())
        if not answer.startswith("500"):
            break
    return answer


async def _answer(request: Awaitable[object]) -> str:
    try:
        await request
    except NotFound:
        return "not found"
    except ApiError as error:
        text = next((name for part, name in _CLASSES if part in error.message), error.message)
        return f"{error.code} {text}"
    return "done"


async def delete_all(client: Client, kind: Any, things: Sequence[Any]) -> None:
    for thing in things:
        with suppress(NotFound):
            await client.delete(kind, thing.metadata.name, thing.metadata.namespace)


def manifest(vm: Key, machine: Machine) -> Free:
    """The VM as one of trimtab's own; KubeVirt's is made from it."""
    return {
        "metadata": {"name": vm.name, "namespace": vm.namespace},
        "spec": {
            "resources": {"cpu": "1", "memory": MEMORY},
            "evictionStrategy": machine.strategy,
            "liveMigratable": machine.migratable,
        },
    }


def now() -> float:
    return time.monotonic()
