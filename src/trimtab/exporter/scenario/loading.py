"""A scenario into a cluster: its VMs are created in place of those of the scenario before.

VMs that nobody's scenario made are never touched. A scenario is refused as a whole before
anything changes; VMs that are already as it wants them stay as they run, so that loading it
again after a failure goes on where it was left.
"""

import asyncio
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from trimtab.errors import Conflict, NotReady
from trimtab.exporter.http.problems import Refused
from trimtab.exporter.nodes.cluster import ClusterFollower
from trimtab.kube.client import Client
from trimtab.kube.resources import Free, Key
from trimtab.kube.scenario.kinds import VmKind, kind_of
from trimtab.kube.scenario.objects import first_vms, is_of_scenario, starting_node, vm_object
from trimtab.kube.scenario.writer import ScenarioVms, VmRefused, until
from trimtab.kube.worlds import World
from trimtab.model.load.pressure_curve import PressureCurve
from trimtab.model.scenarios.scenario import Migration, Scenario
from trimtab.obs import get_logger

log = get_logger()


class Loader:
    """Writes the VMs of one namespace; no wait is longer than `limit_s`."""

    def __init__(self, client: Client, cluster: ClusterFollower, limit_s: float) -> None:
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
            # what KubeVirt's launchers ask the scheduler for is written into the VM
            kind = kind_of(self._cluster.world, scenario.requests)
            await self._replace(wanted, kind, resume=resume)
            await self._placed(wanted)
            log.info("scenario loaded", scenario=scenario.name, vms=len(wanted))
            stay = [f'VM "{name}" was made by hand: it is left as it is' for name in sorted(kept)]
            left_out = warnings(scenario, nodes, self._cluster.pressure, self._cluster.world)
            return [*stay, *left_out]

    async def _placed(self, names: Iterable[str]) -> None:
        waiting = list(names)

        def all_placed() -> bool:
            waiting[:] = [name for name in waiting if self._node_of(name) is None]
            return not waiting

        await until(all_placed, self._limit_s)

    async def _replace(self, wanted: dict[str, Free], kind: VmKind, *, resume: bool) -> None:
        vms = ScenarioVms(self._client, kind, self._cluster.namespace)
        there = {vm.metadata.name: vm for vm in await vms.everyones()}
        ours = {name: vm for name, vm in there.items() if is_of_scenario(vm)}
        self._check_foreign(wanted, there.keys() - ours.keys())
        new = {
            name: vm
            for name, vm in wanted.items()
            if name not in ours
            or not kind.is_same(ours[name], vm)
            or not (resume or starting_node(vm) in (None, self._node_of(name)))
        }
        try:
            await vms.rehearse(new.values())
        except VmRefused as error:
            raise Refused(422, "The API server refuses it", str(error), error.field) from error
        old = [vm for name, vm in ours.items() if name not in wanted or name in new]
        await self._remove(vms, old)
        await vms.create(new.values())

    def _check_foreign(self, wanted: Iterable[str], foreign: Container[str]) -> None:
        for name in wanted:
            key = Key(self._cluster.namespace, name)
            if name in foreign:
                raise Conflict(
                    f'VM "{key}" exists and is not of a scenario; delete it, or rename the other'
                )

    async def _remove(self, vms: ScenarioVms, old: Sequence[Any]) -> None:
        await vms.delete(old)
        left = await until(lambda: not any(map(self._is_there, old)), self._limit_s)
        if not (left and await vms.await_gone(old, self._limit_s)):
            raise NotReady(
                "the VMs of the scenario before are still being deleted; load it again later"
            )

    def _is_there(self, vm: Any) -> bool:
        """The VM, or a pod of it that still uses its node."""
        key = vm.metadata.key
        return key in self._cluster.vms.store or self._cluster.node_of(key) is not None

    def _node_of(self, name: str) -> str | None:
        return self._cluster.node_of(Key(self._cluster.namespace, name))


def warnings(
    scenario: Scenario, nodes: Collection[str], pressure: PressureCurve, world: World = "trimtab"
) -> list[str]:
    """What of a scenario a cluster does not take from it, one line each."""
    missing = sorted({vm.node for vm in scenario.vms if vm.node is not None} - set(nodes))
    lines = [
        f'node "{node}" is not in this cluster; the scheduler places its VMs' for node in missing
    ]
    return [*lines, *_unused(scenario, pressure, world)]


def _unused(scenario: Scenario, pressure: PressureCurve, world: World) -> Iterator[str]:
    theirs = world == "kubevirt"
    copier = "virt-handler-player" if theirs else "vm-controller"
    if scenario.events:
        yield "events: nothing happens later; only the VMs of the start are created"
    if any(vm.priority for vm in scenario.vms):
        yield "vms.priority: a VirtualMachine has none; it is left out"
    if any(vm.constraints for vm in scenario.vms):
        yield "vms.constraints: a VirtualMachine has none; of them only notMovable is kept"
    if any(node.ground for node in scenario.nodes):
        yield "nodes.ground: other pods are those that the cluster has"
    if any(vm.dirty_rate.nano for vm in scenario.vms):
        yield f"vms.dirtyRate: it is an option of the {copier} (--dirty-rate)"
    if scenario.migration != Migration():
        whose = "the KubeVirt object and by " if theirs else ""
        yield f"migration: it is set by {whose}options of the {copier}"
    if scenario.requests != "consumption" and not theirs:
        yield "requests: it is an option of the vm-controller (--requests)"
    if scenario.pressure != pressure:
        yield "pressure: it is an option of the exporter (--pressure)"
