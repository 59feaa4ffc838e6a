"""Migrations of a cluster, KubeVirt's or trimtab's own: those under way and those just ended."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, NotFound
from trimtab.kube.machines import FINISHED, MIGRATIONS, VirtualMachineMigration
from trimtab.kube.resources import Kind, Object, Wire
from trimtab.web.feed.events import MoveState

T = TypeVar("T")
SHOWN_AFTER_S = 15.0
"""So long an ended move stays in the picture, so that everybody sees how it ended."""


class _State(Wire, frozen=True):
    source_node: str = ""
    target_node: str = ""
    start_timestamp: datetime | None = None
    end_timestamp: datetime | None = None
    failure_reason: str = ""


class _Spec(Wire, frozen=True):
    vmi_name: str = ""


class _Status(Wire, frozen=True):
    phase: str = ""
    migration_state: _State | None = None


class _KubeVirtMigration(Object, frozen=True):
    """A VirtualMachineInstanceMigration with its nodes, which the snapshot does not need."""

    spec: _Spec = _Spec()
    status: _Status = _Status()


_KUBEVIRT = Kind(
    "kubevirt.io",
    "v1",
    "virtualmachineinstancemigrations",
    "VirtualMachineInstanceMigration",
    _KubeVirtMigration,
)


class Moves(Struct, frozen=True):
    """The moves of the picture, and how many succeeded of those that are remembered."""

    shown: dict[str, MoveState] = {}
    succeeded: int = 0


async def read_moves(client: Client, now: float) -> Moves:
    """All migrations that the picture shows."""
    found = [_own(each) for each in await _optional(client, MIGRATIONS)]
    found += [_kubevirt(each) for each in await _optional(client, _KUBEVIRT)]
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


def _kubevirt(migration: _KubeVirtMigration) -> tuple[str, MoveState, float]:
    meta, state = migration.metadata, migration.status.migration_state or _State()
    move = MoveState(
        vm=f"{meta.namespace}/{migration.spec.vmi_name}",
        source=state.source_node,
        target=state.target_node,
        phase=migration.status.phase or "Pending",
        begun=_seconds(state.start_timestamp or meta.creation_timestamp),
        ended=migration.status.phase in FINISHED,
        reason=state.failure_reason,
    )
    return f"{meta.namespace}/{meta.name}", move, _seconds(state.end_timestamp)


async def _optional(client: Client, kind: Kind[T]) -> Sequence[T]:
    try:
        return await client.list(kind)
    except (NotFound, Forbidden):  # not installed, or not ours to see: the look says which
        return ()


def _seconds(moment: datetime | None) -> float:
    return round(moment.timestamp(), 1) if moment else 0.0
