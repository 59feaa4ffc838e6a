"""The VMs of a cluster and their migrations, KubeVirt's or trimtab's own, as the balancer reads."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct, structs

from trimtab.balancer.situation import MigrationSeen
from trimtab.balancer.wire import RebalancePlan
from trimtab.kube.client import Client
from trimtab.kube.clock import Clock
from trimtab.kube.kubevirt import MIGRATION_JOB_LABEL, VMIMS, MigrationState, Vmim, state_of
from trimtab.kube.resources import Key
from trimtab.kube.virtual_machines import MIGRATIONS, PLAN_LABEL, VMS, VirtualMachineMigration
from trimtab.kube.worlds import World
from trimtab.observe import wire
from trimtab.observe.vm_loads import Fate, kubevirt_fates, own_fates

MEASURABLE = timedelta(seconds=5)


class Machines(Struct, frozen=True):
    """What the VMs' own objects say."""

    fates: Mapping[Key, Fate]
    migrations: tuple[MigrationSeen, ...]
    evacuated: frozenset[str]
    """Nodes that some VM is marked to leave."""


async def read_machines(client: Client, world: World, clock: Clock) -> Machines:
    """List VMs and migrations of this world."""
    if world == "kubevirt":
        instances, moves = await asyncio.gather(client.list(wire.INSTANCES), client.list(VMIMS))
        latest = {vmi.metadata.key: vmi.status.migration_state for vmi in instances}
        return Machines(
            kubevirt_fates(instances, moves),
            tuple(kubevirt_migration(each, latest.get(each.vmi_key), clock) for each in moves),
            frozenset(each.status.evacuation_node_name for each in instances) - {""},
        )
    vms, own = await asyncio.gather(client.list(VMS), client.list(MIGRATIONS))
    return Machines(
        own_fates(vms),
        tuple(own_migration(each, clock) for each in own),
        frozenset(vm.status.evacuation_node_name for vm in vms) - {""},
    )


def own_migration(each: VirtualMachineMigration, clock: Clock) -> MigrationSeen:
    """A migration of trimtab's own VMs, by the lab's clock."""
    meta, status = each.metadata, each.status
    ended = status.completion_time or meta.creation_timestamp if each.finished else None
    copying = status.precopy_start_time
    return MigrationSeen(
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


def kubevirt_migration(each: Vmim, on_vmi: MigrationState | None, clock: Clock) -> MigrationSeen:
    """A migration of KubeVirt; one that never began copying has no state to tell of."""
    meta, state = each.metadata, state_of(each, on_vmi)
    copying = state.start_timestamp
    begun = copying or meta.creation_timestamp
    ended = (state.end_timestamp or begun) if each.finished else None
    return MigrationSeen(
        name=meta.name,
        uid=meta.uid,
        vm=str(each.vmi_key),
        source=state.source_node,
        target=state.target_node,
        begun=lab_seconds(begun, clock),
        copying=None if copying is None else lab_seconds(copying, clock),
        ended=None if ended is None else lab_seconds(ended, clock),
        is_timed=_is_timed(copying, ended),
        succeeded=each.status.phase == "Succeeded",
        reason=state.failure_reason,
        plan=meta.labels.get(PLAN_LABEL, ""),
        scheduled=bool(state.target_node),
    )


def located(
    migrations: Iterable[MigrationSeen], pods: Iterable[wire.Pod], plans: Iterable[RebalancePlan]
) -> tuple[MigrationSeen, ...]:
    """With the targets of migrations that KubeVirt tells none of.

    Between the scheduler's choice and the copy only the target pod knows its node; before
    that the plan says where the VM should end up, and it counts there.
    """
    nodes = {pod.metadata.labels.get(MIGRATION_JOB_LABEL, ""): pod.spec.node_name for pod in pods}
    planned = {
        (plan.metadata.name, move.vm): move.target for plan in plans for move in plan.spec.moves
    }

    def placed(each: MigrationSeen) -> MigrationSeen:
        if each.scheduled or (each.ended is not None and each.target):
            return each
        node = nodes.get(each.uid, "") if each.uid else ""
        if each.ended is not None:  # KubeVirt forgot where it ended, its pod is still there
            return structs.replace(each, target=node)
        target = node or planned.get((each.plan, each.vm), "")
        return structs.replace(each, target=target, scheduled=bool(node))

    return tuple(map(placed, migrations))


def lab_seconds(at: datetime | None, clock: Clock) -> float:
    return clock.lab_s(at.timestamp()) if at is not None else 0.0


def _is_timed(copying: datetime | None, ended: datetime | None) -> bool:
    """KubeVirt writes whole seconds: of a copy that took fewer than five they tell little."""
    return copying is not None and ended is not None and ended - copying >= MEASURABLE
