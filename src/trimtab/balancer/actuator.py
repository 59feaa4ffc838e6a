"""How moves are begun and withdrawn: as migrations of trimtab's own VMs, or of KubeVirt's."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from trimtab.balancer.next_move import StartMove
from trimtab.balancer.settings import BalancerSettings
from trimtab.balancer.wire import migration_name
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, Invalid, NotFound
from trimtab.kube.kubevirt import COOL_LABEL, HOSTNAME, VMIMS
from trimtab.kube.resources import Free
from trimtab.kube.virtual_machines import MIGRATIONS, PLAN_LABEL
from trimtab.kube.worlds import World
from trimtab.observe import wire


class MigrationReply(Struct, frozen=True):
    """What the API server said to a request for a migration."""

    created: bool
    """False also where it had been created before."""
    refusal: str = ""


class Actuator(Protocol):
    """Writes what one decision asks for."""

    async def label(self, wanted: Iterable[str], now: Iterable[str]) -> None:
        """Make `wanted` the nodes with the label of targets; `now` have it."""

    async def start(self, start: StartMove) -> MigrationReply:
        """Ask for a migration under the name that it must have: there can be only one."""

    async def withdraw(self, migration: str, namespace: str) -> None:
        """Delete a migration, which cancels it."""


def actuator_of(client: Client, world: World, settings: BalancerSettings) -> Actuator:
    """The one for the VMs of this world."""
    if world == "kubevirt":
        return _Kubevirt(client, exact=settings.exact_target)
    return _Own(client)


class _Own:
    """VirtualMachineMigrations of trimtab.dev: the target is a wish, and needs no label."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def label(self, wanted: Iterable[str], now: Iterable[str]) -> None:
        return

    async def start(self, start: StartMove) -> MigrationReply:
        meta, vm = _identity(start)
        spec = {"vmName": vm, "targetNode": start.move.target}
        try:
            await self._client.create(MIGRATIONS, {"metadata": meta, "spec": spec})
        except AlreadyExists:
            return MigrationReply(created=False)
        return MigrationReply(created=True)

    async def withdraw(self, migration: str, namespace: str) -> None:
        with suppress(NotFound):
            await self._client.delete(MIGRATIONS, migration, namespace)


class _Kubevirt:
    """VirtualMachineInstanceMigrations: one attempt each, refused where another is under way."""

    def __init__(self, client: Client, *, exact: bool) -> None:
        self._client, self._exact = client, exact

    async def label(self, wanted: Iterable[str], now: Iterable[str]) -> None:
        changes: dict[str, str | None] = dict.fromkeys(set(now) - set(wanted))
        changes.update(dict.fromkeys(set(wanted) - set(now), "true"))
        for node, value in sorted(changes.items()):
            patch = {"metadata": {"labels": {COOL_LABEL: value}}}
            with suppress(NotFound):  # a node that went has no label either
                await self._client.patch(wire.NODES, node, patch)

    async def start(self, start: StartMove) -> MigrationReply:
        meta, vmi = _identity(start)
        where = {HOSTNAME: start.move.target} if self._exact else {COOL_LABEL: "true"}
        spec = {"vmiName": vmi, "addedNodeSelector": where}
        try:
            await self._client.create(VMIMS, {"metadata": meta, "spec": spec})
        except AlreadyExists:
            return MigrationReply(created=False)
        except Invalid as error:
            # virt-api's own check: the VM cannot move, or another migration of it came first.
            return MigrationReply(created=False, refusal=error.message)
        return MigrationReply(created=True)

    async def withdraw(self, migration: str, namespace: str) -> None:
        with suppress(NotFound):
            await self._client.delete(VMIMS, migration, namespace)


def _identity(start: StartMove) -> tuple[Free, str]:
    """The metadata of the migration, and its VM's name."""
    namespace, _, vm = start.move.vm.partition("/")
    meta = {
        "name": migration_name(start.plan.spec.plan_id, start.move.vm),
        "namespace": namespace,
        "labels": {PLAN_LABEL: start.plan.metadata.name},
    }
    return meta, vm
