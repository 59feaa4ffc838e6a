"""What a VM's finished migrations tell: how often it failed, when to try again, what to keep."""

from datetime import datetime

from trimtab.kube.virtual_machines import EVACUATION_LABEL, VMS, VirtualMachineMigration
from trimtab.virt.migration_backoff import FINISHED_KEPT, backoff_s
from trimtab.vm.decide.situation import VmSituation, by_age, is_leaving
from trimtab.vm.decide.steps import (
    AdoptMigration,
    DeleteMigration,
    Wait,
)

ORPHAN_S = 600.0
"""How long a finished migration stays whose VM is gone and that no garbage collector takes."""


def is_evacuation(migration: VirtualMachineMigration) -> bool:
    return migration.metadata.labels.get(EVACUATION_LABEL) == "true"


def newest_first(s: VmSituation) -> list[VirtualMachineMigration]:
    """The finished migrations by the time they ended."""
    over = [each for each in reversed(by_age(s.migrations)) if each.finished]
    return sorted(over, key=_ended, reverse=True)


def _ended(migration: VirtualMachineMigration) -> float:
    at: datetime | None = migration.status.completion_time or migration.metadata.creation_timestamp
    return at.timestamp() if at else 0.0


def failures(s: VmSituation) -> tuple[int, datetime | None]:
    """Evacuations that failed in a row, and when the last one did."""
    last = next((each for each in newest_first(s) if is_evacuation(each)), None)
    if last is None or last.status.phase != "Failed":
        return 0, None
    return max(1, last.status.attempts), last.status.completion_time


def attempt_number(s: VmSituation, migration: VirtualMachineMigration) -> int:
    """Which attempt in a row this is; people's migrations are always the first."""
    return failures(s)[0] + 1 if is_evacuation(migration) else 1


def backoff_left_s(s: VmSituation) -> float:
    """Real seconds until an evacuation may be tried again."""
    count, at = failures(s)
    if not count:
        return 0.0
    return max(0.0, s.left_s(at, backoff_s(count)))


def adopt(s: VmSituation) -> AdoptMigration | None:
    """A migration that somebody wrote without an owner is made the VM's."""
    for migration in s.migrations:
        owners = migration.metadata.owner_references
        if is_leaving(migration) or any(owner.kind == VMS.kind for owner in owners):
            continue
        return AdoptMigration(migration, (*owners, VMS.owner(s.the_vm, controller=False)))
    return None


def forget_orphans(s: VmSituation) -> DeleteMigration | Wait | None:
    """Migrations of a VM that is not there: their reason can be read for a while."""
    waits = []
    for migration in newest_first(s):
        ended = migration.status.completion_time or migration.metadata.creation_timestamp
        left_s = s.left_s(ended, ORPHAN_S)
        if left_s <= 0 and not is_leaving(migration):
            return DeleteMigration(migration)
        waits.append(max(left_s, 1.0))
    return Wait(min(waits)) if waits else None


def forget_oldest(s: VmSituation) -> DeleteMigration | None:
    """Of the finished migrations the newest few are kept."""
    for migration in newest_first(s)[FINISHED_KEPT:]:
        return DeleteMigration(migration)
    return None
