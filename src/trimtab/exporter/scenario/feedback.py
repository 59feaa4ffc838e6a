"""Migrations that somebody asks for: one object each, of the kind that the cluster has.

The node is a hint to trimtab's own VMs. To KubeVirt it can only be a condition, so there a
migration that nobody can place is over with the answer, and the VM stays where it is.

The answer comes when the scheduler has placed every target, or when the time is up; the
migrations themselves go on either way.
"""

from collections.abc import Sequence

from msgspec import to_builtins

from trimtab.exporter.http.api import MigrationWish, Moved
from trimtab.exporter.nodes.cluster import ClusterFollower
from trimtab.exporter.nodes.wire import MACHINES, MOVES, MachineObject, MigrationObject
from trimtab.exporter.scenario.scenario_view import vm_key
from trimtab.kube.client import Client
from trimtab.kube.errors import ApiError
from trimtab.kube.kubevirt import HOSTNAME, PLACEMENT_LIMIT, VMIMS, Vmim
from trimtab.kube.resources import Free, Key
from trimtab.kube.scenario.writer import until
from trimtab.kube.translate import migration_view
from trimtab.kube.virtual_machines import FINISHED, VirtualMachineMigration
from trimtab.obs import get_logger

log = get_logger()
LONGEST_STEM = 200


class Mover:
    """Creates migrations in one namespace and follows them for at most `limit_s`."""

    def __init__(self, client: Client, cluster: ClusterFollower, limit_s: float) -> None:
        self._client, self._cluster, self._limit_s = client, cluster, limit_s

    async def migrate(self, wishes: Sequence[MigrationWish]) -> list[Moved]:
        begun: dict[int, str] = {}
        results: dict[int, Moved] = {}
        seen: set[Key] = set()
        for place, wish in enumerate(wishes):
            vm = vm_key(wish.vm_id, self._cluster.namespace)
            try:
                begun[place] = await self._begin(wish, vm, again=vm in seen)
            except (_Refusal, ApiError) as error:
                results[place] = self._unmoved(wish, vm, str(error))
            seen.add(vm)
        await until(lambda: all(map(self._is_decided, begun.values())), self._limit_s)
        results |= {place: self._outcome(wishes[place], name) for place, name in begun.items()}
        return [results[place] for place in range(len(wishes))]

    async def _begin(self, wish: MigrationWish, vm: Key, *, again: bool) -> str:
        """Create the migration; its name."""
        machine = self._cluster.vms.store.get(vm.name, vm.namespace)
        if machine is None:
            raise _Refusal(f'there is no VM "{wish.vm_id}"')
        if problem := self._problem(wish, vm):
            raise _Refusal(problem)
        if again:
            raise _Refusal(f'VM "{wish.vm_id}" is named twice')
        created: Vmim | MigrationObject
        if self._cluster.world == "kubevirt":
            created = await self._client.create(VMIMS, self._kubevirt_migration(wish, vm))
        else:
            created = await self._client.create(MOVES, _own_migration(wish, machine))
        log.info("migration requested", vm=str(vm), migration=created.metadata.name)
        return created.metadata.name

    def _kubevirt_migration(self, wish: MigrationWish, vm: Key) -> Free:
        metadata = _metadata(vm) | {"annotations": {PLACEMENT_LIMIT: f"{self._limit_s:.0f}"}}
        wanted = {"addedNodeSelector": {HOSTNAME: wish.to_node}} if wish.to_node else {}
        return {"metadata": metadata, "spec": {"vmiName": vm.name} | wanted}

    def _problem(self, wish: MigrationWish, vm: Key) -> str:
        cluster, node = self._cluster, self._cluster.node_of(vm)
        if vm.namespace != cluster.namespace:
            return f'VM "{wish.vm_id}" is not in namespace {cluster.namespace}'
        if node is None:
            return f'VM "{wish.vm_id}" has no node yet'
        if node != wish.from_node:
            return f'VM "{wish.vm_id}" is on node "{node}"'
        if wish.to_node == node:
            return f'VM "{wish.vm_id}" is on node "{node}" already'
        if wish.to_node and wish.to_node not in cluster.ledger.nodes:
            return f'there is no node "{wish.to_node}"'
        return ""

    def _move(self, name: str) -> MigrationObject | VirtualMachineMigration | None:
        assert self._cluster.migrations is not None
        move = self._cluster.migrations.store.get(name, self._cluster.namespace)
        return migration_view(move) if isinstance(move, Vmim) else move

    def _target(self, move: MigrationObject | VirtualMachineMigration) -> str:
        """The node that the scheduler chose; empty until then."""
        meta, pods = move.metadata, self._cluster.pods.store
        pod = pods.get(move.status.target_pod, meta.namespace)
        if pod is None and isinstance(move, VirtualMachineMigration):
            # KubeVirt names the pod when it runs; until then the pod names the migration
            vm = str(Key(meta.namespace, move.spec.vm_name))
            mine = (each for each in pods.by("vm", vm) if each.metadata.labels.job == meta.uid)
            pod = next(mine, None)
        return move.status.target_node or (pod.spec.node_name if pod else "")

    def _is_decided(self, name: str) -> bool:
        move = self._move(name)
        return move is not None and bool(move.status.phase in FINISHED or self._target(move))

    def _outcome(self, wish: MigrationWish, name: str) -> Moved:
        vm = vm_key(wish.vm_id, self._cluster.namespace)
        move = self._move(name)
        if move is None:
            return self._unmoved(wish, vm, f"migration {name} was deleted")
        if move.status.phase in ("Failed", "Cancelled"):
            return self._unmoved(wish, vm, move.status.reason or f"it was {move.status.phase}")
        if node := self._target(move):
            return Moved(wish.vm_id, wish.from_node, wish.to_node, node)
        waiting = f"no node within {self._limit_s:g} s; migration {name} goes on"
        return self._unmoved(wish, vm, waiting)

    def _unmoved(self, wish: MigrationWish, vm: Key, why: str) -> Moved:
        node = self._cluster.node_of(vm)
        return Moved(wish.vm_id, wish.from_node, wish.to_node, node, why)


def _own_migration(wish: MigrationWish, machine: MachineObject) -> Free:
    vm = machine.metadata.key
    owner = to_builtins(MACHINES.owner(machine, controller=False))
    wanted = {"targetNode": wish.to_node} if wish.to_node else {}
    return {
        "metadata": _metadata(vm) | {"ownerReferences": [owner]},
        "spec": {"vmName": vm.name} | wanted,
    }


def _metadata(vm: Key) -> Free:
    return {"generateName": f"{vm.name[:LONGEST_STEM]}-feedback-", "namespace": vm.namespace}


class _Refusal(Exception):
    """A wish that makes no sense as things are."""
