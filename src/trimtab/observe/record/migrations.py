"""The migrations of the recorded period, as far as their objects are still there.

KubeVirt keeps the five newest finished migrations of a VM, and trimtab does as well for its own:
where a VM moved more often, the metrics of its places know of more moves than this list does.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from trimtab.kube.client import Client
from trimtab.kube.kubevirt import (
    EVACUATION_ANNOTATION,
    UPDATE_ANNOTATION,
    VMIMS,
    VMIS,
    Vmi,
    Vmim,
    state_of,
)
from trimtab.kube.resources import Key, Kind, ObjectMeta
from trimtab.kube.virtual_machines import (
    EVACUATION_LABEL,
    MIGRATIONS,
    PLAN_LABEL,
    VirtualMachineMigration,
)
from trimtab.model.recorded.recording import RecordedMigration, RequestedBy
from trimtab.observe.look import list_if_allowed
from trimtab.virt.migration_backoff import FINISHED_KEPT

T = TypeVar("T")


async def read_migrations(
    client: Client, own: Sequence[VirtualMachineMigration] = ()
) -> tuple[list[RecordedMigration], tuple[str, ...]]:
    """All that there are, of either kind, and a note for each kind that may not be read.

    `own` are trimtab's own where they were read before: what is told must be told of the same.
    """
    notes: list[str] = []

    async def listed(kind: Kind[T]) -> Sequence[T]:
        without = "the recording has no migrations of them"
        return await list_if_allowed(client, kind, without, notes)

    # VMIs last: the state of a migration that ended in between is on its VMI
    migrations, own = await listed(VMIMS), own or await listed(MIGRATIONS)
    vmis = await listed(VMIS) if migrations else ()
    found = [*kubevirt_migrations(migrations, vmis), *own_migrations(own)]
    return sorted(found, key=lambda each: (each.asked, each.vm)), tuple(notes)


def kubevirt_migrations(
    migrations: Iterable[Vmim], vmis: Iterable[Vmi]
) -> Iterable[RecordedMigration]:
    """Those of KubeVirt; of a state that it did not write, nodes and times stay unknown."""
    on_vmi = {vmi.metadata.key: vmi.status.migration_state for vmi in vmis}
    for each in migrations:
        state = state_of(each, on_vmi.get(each.vmi_key))
        ended = state.end_timestamp or _transition(each, each.status.phase)
        yield RecordedMigration(
            vm=str(each.vmi_key),
            asked=_seconds(each.metadata.creation_timestamp) or 0.0,
            begun=_seconds(state.start_timestamp),
            ended=_seconds(ended) if each.finished else None,
            source=state.source_node,
            target=state.target_node,
            phase=each.status.phase or "Pending",
            by=_kubevirt_by(each.metadata),
        )


def own_migrations(
    migrations: Iterable[VirtualMachineMigration],
) -> Iterable[RecordedMigration]:
    """Those of trimtab's own VMs."""
    for each in migrations:
        meta, status = each.metadata, each.status
        yield RecordedMigration(
            vm=str(Key(meta.namespace, each.spec.vm_name)),
            asked=_seconds(meta.creation_timestamp) or 0.0,
            begun=_seconds(status.precopy_start_time),
            ended=_seconds(status.completion_time),
            source=status.source_node,
            target=status.target_node,
            phase=status.phase or "Pending",
            by=_own_by(meta),
        )


def of_period(migrations: Iterable[RecordedMigration], since: float) -> list[RecordedMigration]:
    """Those that had not ended before `since`."""
    return [
        each
        for each in migrations
        if not each.finished or (each.ended or each.begun or each.asked) >= since
    ]


def forgetful(migrations: Iterable[RecordedMigration]) -> int:
    """VMs of which as many are known as are kept at most: there may have been more."""
    kept = Counter(each.vm for each in migrations if each.finished)
    return sum(count >= FINISHED_KEPT for count in kept.values())


def _kubevirt_by(meta: ObjectMeta) -> RequestedBy:
    if EVACUATION_ANNOTATION in meta.annotations:
        return "eviction"
    if UPDATE_ANNOTATION in meta.annotations:
        return "update"
    return "balancer" if PLAN_LABEL in meta.labels else ""


def _own_by(meta: ObjectMeta) -> RequestedBy:
    if EVACUATION_LABEL in meta.labels:
        return "eviction"
    return "balancer" if PLAN_LABEL in meta.labels else ""


def _transition(migration: Vmim, phase: str) -> datetime | None:
    """When it came into the phase."""
    for each in migration.status.phase_transition_timestamps:
        if each.get("phase") == phase and each.get("phaseTransitionTimestamp"):
            return datetime.fromisoformat(each["phaseTransitionTimestamp"])
    return None


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
