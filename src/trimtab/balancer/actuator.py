"""How moves are begun and withdrawn: as migrations of trimtab's own VMs, or of KubeVirt's."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar

from msgspec import Struct

from trimtab.balancer.next_move import StartMove
from trimtab.balancer.settings import BalancerSettings
from trimtab.balancer.wire import migration_name
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, Invalid, NotFound
from trimtab.kube.kubevirt import COOL_LABEL, HOSTNAME, VMIMS
from trimtab.kube.resources import Free, Kind
from trimtab.kube.virtual_machines import MIGRATIONS, PLAN_LABEL
from trimtab.kube.worlds import World
from trimtab.observe import wire


class MigrationReply(Struct, frozen=True):
    """What the API server said to a request for a migration."""

    created: bool
    """False also where it had been created before."""
    refusal: str = ""


class Actuator:
    """Writes what one decision asks for, as VirtualMachineMigrations of trimtab.dev.

    There the target is a wish, and needs no label.
    """

    kind: ClassVar[Kind[Any]] = MIGRATIONS

    def __init__(self, client: Client) -> None:
        self._client = client

    async def label(self, wanted: Iterable[str], now: Iterable[str]) -> None:
        """Make `wanted` the nodes with the label of targets; `now` have it."""

    async def start(self, start: StartMove) -> MigrationReply:
        """Ask for a migration under the name that it must have: there can be only one."""
        namespace, _, vm = start.move.vm.partition("/")
        meta = {
            "name": migration_name(start.plan.spec.plan_id, start.move.vm),
            "namespace": namespace,
            "labels": {PLAN_LABEL: start.plan.metadata.name},
        }
        spec = self._spec(vm, start.move.target)
        try:
            await self._client.create(self.kind, {"metadata": meta, "spec": spec})
        except AlreadyExists:
            return MigrationReply(created=False)
        return MigrationReply(created=True)

    def _spec(self, vm: str, target: str) -> Free:
        return {"vmName": vm, "targetNode": target}

    async def withdraw(self, migration: str, namespace: str) -> None:
        """Delete a migration, which cancels it."""
        with suppress(NotFound):
            await self._client.delete(self.kind, migration, namespace)


def actuator_of(client: Client, world: World, settings: BalancerSettings) -> Actuator:
    """The one for the VMs of this world."""
    if world == "kubevirt":
        return _Kubevirt(client, exact=settings.exact_target)
    return Actuator(client)


class _Kubevirt(Actuator):
    """VirtualMachineInstanceMigrations: one attempt each, refused where another is under way."""

    kind = VMIMS

    def __init__(self, client: Client, *, exact: bool) -> None:
        super().__init__(client)
        self._exact = exact

    async def label(self, wanted: Iterable[str], now: Iterable[str]) -> None:
        changes: dict[str, str | None] = dict.fromkeys(set(now) - set(wanted))
        changes.update(dict.fromkeys(set(wanted) - set(now), "true"))
        for node, value in sorted(changes.items()):
            patch = {"metadata": {"labels": {COOL_LABEL: value}}}
            with suppress(NotFound):  # a node that went has no label either
                await self._client.patch(wire.NODES, node, patch)

    async def start(self, start: StartMove) -> MigrationReply:
        try:
            return await super().start(start)
        except Invalid as error:
            # virt-api's own check: the VM cannot move, or another migration of it came first.
            return MigrationReply(created=False, refusal=error.message)

    def _spec(self, vm: str, target: str) -> Free:
        where = {HOSTNAME: target} if self._exact else {COOL_LABEL: "true"}
        return {"vmiName": vm, "addedNodeSelector": where}
