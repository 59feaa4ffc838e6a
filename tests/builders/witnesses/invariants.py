"""What must hold of VMs at every moment, whatever is killed; seen by a watch of our own.

    with guarded(loop) as witness:
        loop.lab.kill("vm-controller")
        loop.await_quiet()
    witness.check()

The watch runs in its own thread with the administrator's rights; it knows nothing of the
controller but what the API shows.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import field

from builders.waiting import LIMIT_S
from trimtab.kube.client import Client
from trimtab.kube.resources import PODS, Kind, Pod, Wire
from trimtab.kube.resources import ObjectMeta as Meta
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.virtual_machines import APP_LABEL, GROUP, VERSION, VM_NAME_LABEL, VmSpec, VmStatus


class Entry(Wire, frozen=True):
    """One writer of an object, and what it wrote."""

    manager: str = ""
    subresource: str = ""
    fields_v1: dict[str, object] = field(default_factory=dict)


class OwnedMeta(Meta, frozen=True):
    managed_fields: tuple[Entry, ...] = ()


class OwnedVm(Wire, frozen=True):
    """A VirtualMachine with those who wrote it."""

    metadata: OwnedMeta = OwnedMeta()
    spec: VmSpec = VmSpec()
    status: VmStatus = VmStatus()


OWNED_VMS = Kind(GROUP, VERSION, "virtualmachines", "VirtualMachine", OwnedVm)
WEBHOOK = "trimtab-webhook"


class Witness:
    """Collects every breach; `check` fails with all of them."""

    def __init__(self, *, may_be_absent: bool = False) -> None:
        self.breaches: list[str] = []
        self.vm_events = 0
        self._may_be_absent = may_be_absent
        self._pods: dict[str, Pod] = {}
        self._ran: set[str] = set()

    def check(self) -> None:
        assert self.vm_events > 0, "the witness saw nothing"
        assert not self.breaches, "\n".join(self.breaches)

    def vm_changed(self, old: OwnedVm | None, new: OwnedVm | None) -> None:
        if new is None or new.metadata.deletion_timestamp is not None:
            return
        self.vm_events += 1
        self._check_presence(new)
        if old is not None and old.metadata.uid == new.metadata.uid:
            self._check_step(old, new)

    def _check_presence(self, vm: OwnedVm) -> None:
        status, uid = vm.status, vm.metadata.uid
        if status.phase in ("Running", "Migrating"):
            self._ran.add(uid)
            if not status.pod_name or not status.node_name:
                self._breach(vm, f"is {status.phase} without a pod or node")
        elif uid in self._ran and not self._may_be_absent:
            self._breach(vm, f"ran and is {status.phase} now")

    def _check_step(self, old: OwnedVm, new: OwnedVm) -> None:
        before, after = old.status, new.status
        if after.incarnation < before.incarnation:
            self._breach(new, f"went from incarnation {before.incarnation} to {after.incarnation}")
        moved = before.node_name and after.node_name and before.node_name != after.node_name
        if moved and before.pod_name == after.pod_name:
            self._breach(new, f"changed its node to {after.node_name} but not its pod")
        mark = after.evacuation_node_name
        if mark and mark != before.evacuation_node_name:
            self._check_mark(new, mark)
        if before.evacuation_node_name and not mark:
            self._check_unmark(new, before.evacuation_node_name)

    def _check_mark(self, vm: OwnedVm, mark: str) -> None:
        writers = [
            entry.manager
            for entry in vm.metadata.managed_fields
            if "f:evacuationNodeName" in str(entry.fields_v1)
        ]
        if writers != [WEBHOOK]:
            self._breach(vm, f"was marked by {writers or 'nobody'}")
        if mark != vm.status.node_name:
            self._breach(vm, f"was marked to leave {mark} while on {vm.status.node_name}")

    def _check_unmark(self, vm: OwnedVm, mark: str) -> None:
        if vm.status.node_name == mark and not self._may_be_absent:
            self._breach(vm, f"lost the mark of {mark} without leaving it")

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None:
            self._pods.pop(old.metadata.uid, None)
        if new is not None and is_alive(new):
            self._pods[new.metadata.uid] = new
            if new.metadata.controller is None:
                self.breaches.append(f"pod {new.metadata.name} belongs to no VM")
        alive = Counter(pod.metadata.labels.get(VM_NAME_LABEL, "") for pod in self._pods.values())
        self.breaches += [f"VM {vm} has {n} pods at once" for vm, n in alive.items() if n > 2]

    def _breach(self, vm: OwnedVm, text: str) -> None:
        self.breaches.append(f"VM {vm.metadata.name} {text}")


def is_alive(pod: Pod) -> bool:
    gone = pod.metadata.deletion_timestamp is not None
    return not gone and pod.status.phase not in ("Succeeded", "Failed")


@contextmanager
def guarded(kubeconfig: Path, *, may_be_absent: bool = False) -> Iterator[Witness]:
    """Watch from before the block to its end; `may_be_absent` where VMs are recreated or lost."""
    witness = Witness(may_be_absent=may_be_absent)
    synced, stop = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(_follow(kubeconfig, witness, synced, stop))
        except BaseException as error:
            failures.append(error)
            synced.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert synced.wait(LIMIT_S), "the witness cannot reach the API server"
    try:
        yield witness
    finally:
        stop.set()
        thread.join(LIMIT_S)
    assert not failures, failures


async def _follow(
    kubeconfig: Path, witness: Witness, synced: threading.Event, stop: threading.Event
) -> None:
    async with Client.from_kubeconfig(kubeconfig, manager="witness") as client:
        vms = Reflector(client, OWNED_VMS, name="witness-vms")
        pods = Reflector(client, PODS, labels="=".join(APP_LABEL), name="witness-pods")
        vms.store.subscribe(witness.vm_changed)
        pods.store.subscribe(witness.pod_changed)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.run()) for each in (vms, pods)]
            await vms.synced.wait()
            await pods.synced.wait()
            synced.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)
            for task in tasks:
                task.cancel()
