"""A scenario into a cluster: its VMs are created in place of those of the scenario before.

VMs that nobody's scenario made are never touched. A scenario is refused as a whole before
anything changes; VMs that are already as it wants them stay as they run, so that loading it
again after a failure goes on where it was left.
"""

import asyncio
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from msgspec import json

from trimtab.errors import Conflict, NotReady
from trimtab.exporter.http.problems import Refused
from trimtab.exporter.nodes.cluster import Cluster
from trimtab.exporter.nodes.wire import MANAGED_BY
from trimtab.exporter.scenario.backends import each, until
from trimtab.exporter.scenario.objects import first_vms, is_same, starting_node, vm_object, warnings
from trimtab.kube.client import Client
from trimtab.kube.errors import Invalid, NotFound
from trimtab.kube.machines import VMS, VirtualMachine
from trimtab.kube.resources import Free, Key
from trimtab.model.scenarios.scenario import Scenario
from trimtab.obs import get_logger

log = get_logger()


class Loader:
    """Writes the VMs of one namespace; no wait is longer than `limit_s`."""

    def __init__(self, client: Client, cluster: Cluster, limit_s: float) -> None:
        self._client, self._cluster, self._limit_s = client, cluster, limit_s
        self._busy = asyncio.Lock()

    async def load(
        self, scenario: Scenario, *, resume: bool = False, by_hand: AbstractSet[str] = frozenset()
    ) -> list[str]:
        """Create and delete VMs, then wait until each has a node, or the time is up.

        A VM that has left the node where the scenario starts it is made anew, except to
        `resume` a scenario after a restart of the exporter. VMs made `by_hand` are left as
        they are.
        """
        if self._busy.locked():
            raise Conflict("another scenario is being loaded; try again when it is done")
        async with self._busy:
            nodes = {node.metadata.name for node in self._cluster.nodes.store}
            where = self._cluster.namespace
            kept = {name for name in by_hand if not self._cluster.is_of_scenario(Key(where, name))}
            wanted = {
                vm.name: vm_object(vm, where, nodes)
                for vm in first_vms(scenario)
                if vm.name not in kept
            }
            await self._replace(wanted, resume=resume)
            await self._placed(wanted)
            log.info("scenario loaded", scenario=scenario.name, vms=len(wanted))
            stay = [f'VM "{name}" was made by hand: it is left as it is' for name in sorted(kept)]
            return [*stay, *warnings(scenario, nodes, self._cluster.pressure)]

    async def _placed(self, names: Iterable[str]) -> None:
        waiting = list(names)

        def all_placed() -> bool:
            waiting[:] = [name for name in waiting if self._node_of(name) is None]
            return not waiting

        await until(all_placed, self._limit_s)

    async def _replace(self, wanted: dict[str, Free], *, resume: bool) -> None:
        where = self._cluster.namespace
        found = await self._client.list(VMS, where, labels="=".join(MANAGED_BY))
        ours = {vm.metadata.name: vm for vm in found}
        self._check_foreign(wanted, ours)
        new = {
            name: vm
            for name, vm in wanted.items()
            if name not in ours
            or not is_same(ours[name], vm)
            or not (resume or starting_node(vm) in (None, self._node_of(name)))
        }
        await self._rehearse(new.values())
        await self._remove([vm for name, vm in ours.items() if name not in wanted or name in new])
        await each(new.values(), self._create)

    def _check_foreign(self, wanted: dict[str, Free], ours: dict[str, VirtualMachine]) -> None:
        for name in wanted:
            key = Key(self._cluster.namespace, name)
            if name not in ours and key in self._cluster.vms.store:
                raise Conflict(
                    f'VM "{key}" exists and is not of a scenario; delete it, or rename the other'
                )

    async def _rehearse(self, vms: Iterable[Free]) -> None:
        """Let the API server look at every distinct spec: if one is bad, nothing is created."""
        distinct = {json.encode(vm["spec"], order="sorted"): vm for vm in vms}
        await each(distinct.values(), self._dry_run)

    async def _dry_run(self, vm: Free) -> None:
        metadata = {field: value for field, value in vm["metadata"].items() if field != "name"}
        other = vm | {"metadata": metadata | {"generateName": "rehearsal-"}}
        try:
            await self._client.create(VMS, other, dry_run=True)
        except Invalid as error:
            field = error.causes[0].field if error.causes else ""
            detail = f'VM "{vm["metadata"]["name"]}": {error.message}'
            raise Refused(422, "The API server refuses it", detail, field) from error

    async def _create(self, vm: Free) -> None:
        await self._client.create(VMS, vm)

    async def _remove(self, vms: list[VirtualMachine]) -> None:
        await each(vms, self._delete)
        if not await until(lambda: not any(map(self._is_there, vms)), self._limit_s):
            raise NotReady(
                "the VMs of the scenario before are still being deleted; load it again later"
            )

    async def _delete(self, vm: VirtualMachine) -> None:
        meta = vm.metadata
        try:
            await self._client.delete(VMS, meta.name, meta.namespace, uid=meta.uid)
        except NotFound:
            log.debug("VM was gone already", vm=str(meta.key))

    def _is_there(self, vm: VirtualMachine) -> bool:
        """The VM, or a pod of it that still uses its node."""
        key = vm.metadata.key
        return key in self._cluster.vms.store or self._cluster.node_of(key) is not None

    def _node_of(self, name: str) -> str | None:
        return self._cluster.node_of(Key(self._cluster.namespace, name))
