"""The VMs of a cluster and their migrations, KubeVirt's or trimtab's own, as the balancer reads."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from trimtab.balancer.situation import Migration
from trimtab.balancer.wire import PLAN_LABEL
from trimtab.kube.client import Client
from trimtab.kube.clock import Clock
from trimtab.kube.machines import MIGRATIONS, VMS, VirtualMachineMigration
from trimtab.kube.resources import Key
from trimtab.kube.worlds import World
from trimtab.observe import wire
from trimtab.observe.vm_loads import Fate, kubevirt_fates, own_fates


class Machines(Struct, frozen=True):
    """What the VMs' own objects say."""

    fates: Mapping[Key, Fate]
    migrations: tuple[Migration, ...]
    evacuated: frozenset[str]
    """Nodes that some VM is marked to leave."""


async def read_machines(client: Client, world: World, clock: Clock) -> Machines:
    """List VMs and migrations of this world."""
    if world == "kubevirt":
        instances, moves = await asyncio.gather(
            client.list(wire.INSTANCES), client.list(wire.INSTANCE_MIGRATIONS)
        )
        return Machines(
            kubevirt_fates(instances, moves),
            tuple(kubevirt_migration(each, clock) for each in moves),
            frozenset(each.status.evacuation_node_name for each in instances) - {""},
        )
    vms, own = await asyncio.gather(client.list(VMS), client.list(MIGRATIONS))
    return Machines(
        own_fates(vms),
        tuple(own_migration(each, clock) for each in own),
        frozenset(vm.status.evacuation_node_name for vm in vms) - {""},
    )


def own_migration(each: VirtualMachineMigration, clock: Clock) -> Migration:
    """A migration of trimtab's own VMs, by the lab's clock."""
    meta, status = each.metadata, each.status
    ended = status.completion_time or meta.creation_timestamp if each.finished else None
    copying = status.precopy_start_time
    return Migration(
        name=meta.name,
        vm=f"{meta.namespace}/{each.spec.vm_name}",
        source=status.source_node,
        target=status.target_node or each.spec.target_node,
        begun=lab_seconds(status.start_time or meta.creation_timestamp, clock),
        copying=None if copying is None else lab_seconds(copying, clock),
        ended=None if ended is None else lab_seconds(ended, clock),
        succeeded=status.phase == "Succeeded",
        reason=status.reason,
        plan=meta.labels.get(PLAN_LABEL, ""),
    )


def kubevirt_migration(each: wire.InstanceMigration, clock: Clock) -> Migration:
    """A migration of KubeVirt; one that never began copying has no state to tell of."""
    meta, state = each.metadata, each.status.migration_state or wire.MigrationState()
    begun = _moment(state.start_timestamp) or meta.creation_timestamp
    ended = (_moment(state.end_timestamp) or begun) if each.finished else None
    return Migration(
        name=meta.name,
        vm=f"{meta.namespace}/{each.spec.vmi_name}",
        source=state.source_node,
        target=state.target_node,
        begun=lab_seconds(begun, clock),
        ended=None if ended is None else lab_seconds(ended, clock),
        succeeded=each.status.phase == "Succeeded",
        plan=meta.labels.get(PLAN_LABEL, ""),
    )


def lab_seconds(at: datetime | None, clock: Clock) -> float:
    return clock.lab_s(at.timestamp()) if at is not None else 0.0


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
