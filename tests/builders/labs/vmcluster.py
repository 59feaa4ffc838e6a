"""Working with VMs in a running lab: what tests do, see, and start by themselves."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from builders.labs.lab import RunningLab
from builders.labs.processes import ServiceProcess
from builders.waiting import LIMIT_S, wait_until
from builders.witnesses.chronicle import Chronicle, complaints, unwanted
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import NAMESPACES, NODES, PODS, Free, Key, Pod, metadata
from trimtab.kube.virtual_machines import MIGRATIONS, VMS, VirtualMachine, VirtualMachineMigration

T = TypeVar("T")


class Cluster:
    """A lab with VMs, seen by its administrator: short words for what tests say all the time.

    Reading is from the chronicle, which is a few milliseconds behind; so tests wait for what
    they expect instead of asking once.
    """

    def __init__(self, lab: RunningLab) -> None:
        self.lab = lab
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.client = self.call(_admin(lab.kubeconfig))
        self.chronicle = Chronicle(self.client)
        self._following = asyncio.run_coroutine_threadsafe(self.chronicle.follow(), self._loop)
        wait_until(lambda: self.chronicle.synced == 3, "the chronicle has not begun")

    def close(self) -> None:
        self._following.cancel()
        wait_until(lambda: self._all_tasks() == 0, "the chronicle does not end")
        self.call(self.client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _all_tasks(self) -> int:
        return len(asyncio.all_tasks(self._loop))

    def call(self, what: Awaitable[T], timeout_s: float = LIMIT_S) -> T:
        async def run() -> T:
            return await what

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout_s)

    # Writing

    def new_namespace(self, name: str) -> str:
        self.call(self.client.create(NAMESPACES, {"metadata": {"name": name}}))
        account = Key(name, "default")
        wait_until(lambda: self._exists("serviceaccounts", account), f"no account in {name}")
        return name

    def _exists(self, plural: str, key: Key) -> bool:
        try:
            path = f"/api/v1/namespaces/{key.namespace}/{plural}/{key.name}"
            self.call(self.client.request("GET", path))
        except NotFound:
            return False
        return True

    def create_vm(
        self,
        namespace: str,
        name: str,
        *,
        node: str = "",
        cpu: str = "1",
        memory: str = "1Gi",
        **spec: Any,
    ) -> None:
        notes = {"trimtab.dev/initial-node": node} if node else {}
        meta = {"name": name, "namespace": namespace, "annotations": notes}
        body = {"metadata": meta, "spec": {"resources": {"cpu": cpu, "memory": memory}, **spec}}
        self.call(self.client.create(VMS, body))

    def start_vm(self, namespace: str, name: str, **options: Any) -> VirtualMachine:
        """Create a VM and wait until it runs."""
        self.create_vm(namespace, name, **options)
        return self.await_phase(namespace, name, "Running")

    def patch_vm(self, namespace: str, name: str, patch: Free) -> None:
        self.call(self.client.patch(VMS, name, patch, namespace))

    def patch_node(self, name: str, patch: Free) -> None:
        self.call(self.client.patch(NODES, name, patch))

    def migrate(self, namespace: str, vm: str, name: str = "move", **spec: Any) -> None:
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"vmName": vm, **spec},
        }
        self.call(self.client.create(MIGRATIONS, body))

    def evict(self, namespace: str, pod: str, *, dry_run: bool = False) -> None:
        self.call(self.client.evict(pod, namespace, dry_run=dry_run))

    def delete_pod(self, namespace: str, name: str, **options: Any) -> None:
        self.call(self.client.delete(PODS, name, namespace, **options))

    # Reading

    def vm(self, namespace: str, name: str) -> VirtualMachine:
        vm = self.chronicle.now.vm(Key(namespace, name))
        return vm if vm is not None else VirtualMachine()

    def pod(self, namespace: str, name: str) -> Pod | None:
        return self.chronicle.now.pod(namespace, name)

    def has_seen(self, namespace: str, name: str) -> bool:
        """Whether an object of that name was ever there; it may be gone by now."""
        known = (metadata(entry.object) for entry in tuple(self.chronicle.entries))
        return any((meta.namespace, meta.name) == (namespace, name) for meta in known)

    def active(self, namespace: str, vm: str) -> Pod | None:
        return self.pod(namespace, self.vm(namespace, vm).status.pod_name)

    def pods(self, namespace: str) -> list[Pod]:
        return self.chronicle.now.of(PODS, namespace)

    def migrations(self, namespace: str) -> list[VirtualMachineMigration]:
        found: list[VirtualMachineMigration] = self.chronicle.now.of(MIGRATIONS, namespace)
        return sorted(found, key=lambda each: int(each.metadata.resource_version))

    def events(self, namespace: str) -> list[Free]:
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        items: list[Free] = msgspec.json.decode(self.call(self.client.request("GET", path)))[
            "items"
        ]
        return items

    def await_events(self, namespace: str, *reasons: str) -> None:
        def missing() -> set[str]:
            return set(reasons) - {event["reason"] for event in self.events(namespace)}

        self.wait(lambda: not missing(), f"no events {reasons}")

    def await_phase(self, namespace: str, name: str, phase: str) -> VirtualMachine:
        self.wait(
            lambda: self.vm(namespace, name).status.phase == phase,
            f"VM {name} is not {phase}",
        )
        return self.vm(namespace, name)

    def wait(self, holds: Callable[[], bool], otherwise: str) -> None:
        wait_until(holds, otherwise)

    def complaints(self, namespace: str, **options: Any) -> list[str]:
        """What went wrong in a namespace, once every pod that nobody wants had time to go."""
        left = self._left_pods(namespace)
        found = complaints(self.chronicle, namespace, **options)
        return [*found, *(f"pod {name} is nobody's" for name in left)]

    def _left_pods(self, namespace: str) -> set[str]:
        """Pods that nobody wants and that stay.

        Once none is left, one that is seen later is not counted: each kind has a watch of its own,
        so a new target may be seen before the migration that wants it.
        """
        try:
            self.wait(lambda: not unwanted(self.chronicle.now, namespace), "pods are left")
        except AssertionError:
            return unwanted(self.chronicle.now, namespace)
        return set()


async def _admin(kubeconfig: Path) -> Client:
    return Client.from_kubeconfig(kubeconfig, manager="test", writes_per_s=500, burst=500)


@contextmanager
def cluster_of(lab: RunningLab) -> Iterator[Cluster]:
    cluster = Cluster(lab)
    try:
        yield cluster
    finally:
        cluster.close()


class ControllerProcess(ServiceProcess):
    """A vm-controller that a test starts, stops, pauses and kills itself."""

    def __init__(self, lab: RunningLab, *flags: str, kubeconfig: Path | None = None) -> None:
        super().__init__(lab, "vm-controller", *flags, kubeconfig=kubeconfig)


@contextmanager
def controller(lab: RunningLab, *flags: str) -> Iterator[ControllerProcess]:
    """A controller for the time of the block; it ends in order, so that the next may lead."""
    process = ControllerProcess(lab, *flags)
    try:
        yield process
        assert process.end() == 0
    finally:
        process.kill()
