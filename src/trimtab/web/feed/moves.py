"""Migrations of a cluster, KubeVirt's or trimtab's own: those under way and those just ended."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.kubevirt import VMIMS, MigrationState, Vmim, state_of
from trimtab.kube.resources import Kind
from trimtab.kube.virtual_machines import MIGRATIONS, VirtualMachineMigration
from trimtab.observe.wire import INSTANCES
from trimtab.web.feed.picture import MoveState

T = TypeVar("T")
SHOWN_AFTER_S = 15.0
"""So long an ended move stays in the picture, so that everybody sees how it ended."""


class Moves(Struct, frozen=True):
    """The moves of the picture, and how many succeeded of those that are remembered."""

    shown: dict[str, MoveState] = {}
    succeeded: int = 0


async def read_moves(client: Client, now: float) -> Moves:
    """All migrations that the picture shows."""
    found = [_own(each) for each in await list_optional(client, MIGRATIONS) or ()]
    if theirs := await list_optional(client, VMIMS):
        vmis = await list_optional(client, INSTANCES) or ()
        latest = {vmi.metadata.key: vmi.status.migration_state for vmi in vmis}
        found += [_kubevirt(each, latest.get(each.vmi_key)) for each in theirs]
    shown = {
        key: move for key, move, ended in found if not move.ended or now - ended < SHOWN_AFTER_S
    }
    return Moves(shown, sum(move.phase == "Succeeded" for _, move, _ in found))


def _own(migration: VirtualMachineMigration) -> tuple[str, MoveState, float]:
    meta, status = migration.metadata, migration.status
    move = MoveState(
        vm=f"{meta.namespace}/{migration.spec.vm_name}",
        source=status.source_node,
        target=status.target_node,
        phase=status.phase or "Pending",
        begun=_seconds(status.start_time or meta.creation_timestamp),
        ended=migration.finished,
        reason=status.reason,
    )
    return f"{meta.namespace}/{meta.name}", move, _seconds(status.completion_time)


def _kubevirt(migration: Vmim, on_vmi: MigrationState | None) -> tuple[str, MoveState, float]:
    meta, state = migration.metadata, state_of(migration, on_vmi)
    move = MoveState(
        vm=str(migration.vmi_key),
        source=state.source_node,
        target=state.target_node,
        phase=migration.status.phase or "Pending",
        begun=_seconds(state.start_timestamp or meta.creation_timestamp),
        ended=migration.finished,
        reason=state.failure_reason,
    )
    return f"{meta.namespace}/{meta.name}", move, _seconds(state.end_timestamp)


async def list_optional(client: Client, kind: Kind[T]) -> Sequence[T] | None:
    """All objects of a kind; None where it is not installed, or not ours to see."""
    try:
        return await client.list(kind)
    except (NotFound, Forbidden):
        return None


def _seconds(moment: datetime | None) -> float:
    return round(moment.timestamp(), 1) if moment else 0.0
