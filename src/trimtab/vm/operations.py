"""The operations that the pod-based simulation knows by name, on top of VirtualMachines.

There a program made and deleted virt-launcher pods itself. Here pods are made by the
controller only, so each operation writes a VirtualMachine or a migration and waits for what
follows. Names and meaning are kept; docs/guide/virtual-machines.md maps them.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.resources import Free
from trimtab.model.nodes_and_vms import (
    DEFAULT_CPU_UTILISATION,
    DEFAULT_MEMORY_UTILISATION,
    REFERENCE_CPU,
    REFERENCE_MEMORY,
)
from trimtab.vm.requests import VmRequests


class SimpleVm(Struct, frozen=True):
    """A VM as fractions of a reference node (32 cores, 128 GiB) that it uses."""

    id: str
    cpu_consumption: float
    memory_consumption: float


class Synced(Struct, frozen=True):
    created: tuple[str, ...]
    deleted: tuple[str, ...]


class VmOperations:
    """`PodManager` and `move_vm` of the pod-based simulation, for one namespace."""

    def __init__(
        self, client: Client, namespace: str = "default", *, timeout_s: float = 60.0
    ) -> None:
        self._requests = VmRequests(client, namespace, timeout_s=timeout_s)

    async def create_pod(self, vm: SimpleVm, node_name: str | None = None) -> str:
        """Create the VM and wait until its pod runs; the pod's name.

        The scheduler chooses the node, unless `node_name` is given.
        """
        await self._requests.create(vm.id, spec_of(vm), node=node_name or "")
        return (await self._requests.await_running(vm.id)).status.pod_name

    async def delete_pod(self, vm_id: str) -> None:
        """Delete the VM and wait until its pod is gone."""
        await self._requests.delete(vm_id)
        await self._requests.await_gone(vm_id)

    async def migrate_vm_pod(self, vm_id: str, from_node: str, to_node: str | None = None) -> str:
        """Migrate the VM away from `from_node`; the node where it runs then.

        With `to_node` only that node will do.
        """
        await self._check_node(vm_id, from_node)
        name = await self._requests.migrate(vm_id, to=to_node or "", force=bool(to_node))
        return (await self._requests.await_migrated(name)).status.target_node

    async def move_vm(self, vm_id: str, from_node: str, to_node: str = "") -> str:
        """The same, but `to_node` is a wish: the scheduler has the last word."""
        await self._check_node(vm_id, from_node)
        name = await self._requests.migrate(vm_id, to=to_node)
        return (await self._requests.await_migrated(name)).status.target_node

    async def get_pod_node_assignment(self, vm_id: str) -> str | None:
        """Where the VM's pod was placed; None as long as it has no node."""
        return (await self._requests.get(vm_id)).status.node_name or None

    async def update_vm_node_assignments(
        self, vm_ids: Iterable[str] | None = None
    ) -> dict[str, str | None]:
        """The nodes of these VMs, or of all in the namespace, in one request."""
        nodes = {vm.metadata.name: vm.status.node_name or None for vm in await self._requests.all()}
        return nodes if vm_ids is None else {name: nodes.get(name) for name in vm_ids}

    async def sync_pods_with_vms(self, vms: Sequence[SimpleVm]) -> Synced:
        """Make the namespace hold exactly these VMs: create what is missing, delete the rest."""
        wanted = {vm.id: vm for vm in vms}
        present = {vm.metadata.name for vm in await self._requests.all()}
        missing = sorted(wanted.keys() - present)
        for name in missing:
            await self._requests.create(name, spec_of(wanted[name]))
        for name in missing:
            await self._requests.await_running(name)
        surplus = sorted(present - wanted.keys())
        for name in surplus:
            await self.delete_pod(name)
        return Synced(tuple(missing), tuple(surplus))

    async def _check_node(self, vm_id: str, node: str) -> None:
        now = await self.get_pod_node_assignment(vm_id)
        if now != node:
            raise ConfigError(f'VM "{vm_id}" is on node {now or "(none)"}, not on {node}')


def spec_of(vm: SimpleVm) -> Free:
    """A VM that uses those fractions at the default utilisation of what it is given."""
    cpu = REFERENCE_CPU.times(_given(vm.cpu_consumption, DEFAULT_CPU_UTILISATION))
    memory = REFERENCE_MEMORY.times(_given(vm.memory_consumption, DEFAULT_MEMORY_UTILISATION))
    return {"resources": {"cpu": str(cpu), "memory": str(memory)}}


def _given(used: float, utilisation: float) -> Fraction:
    return Fraction(repr(used)) / Fraction(repr(utilisation))
