"""What the handler of a VMI's node does next: start the guest, shut it down, migrate it.

A pure function of the VMI, its launchers and a few facts. Every answer is one change at most;
when it is written, the VMI comes back with it and the next step follows.
"""

from collections.abc import Iterable

from trimtab.kube.kubevirt import Vmi
from trimtab.kube.resources import Free
from trimtab.player.guests import guest_memory
from trimtab.player.launchers import PlayedLauncher, runs_the_guest
from trimtab.player.migratable import block_migration, migration_conditions
from trimtab.player.migration import NOTHING, MigrationFacts, PlayedStep, migration_step

MACHINE_TYPE = "q35"
_EVENTS = {"Running": "started", "Succeeded": "shut down", "Failed": "crashed"}
GUEST_OS = {
    "id": "trimtab",
    "name": "guest played by trimtab",
    "prettyName": "guest played by trimtab",
}


def next_step(vmi: Vmi, launchers: Iterable[PlayedLauncher], facts: MigrationFacts) -> PlayedStep:
    """The next write to this VMI."""
    phase = vmi.status.phase
    if phase not in ("Scheduled", "Running"):
        return NOTHING
    if _is_shutting_down(vmi, launchers):
        # the guest goes with its node: nobody is there to say that it shut down
        return _enter("Succeeded", vmi, facts.now, {}) if facts.source_answers else NOTHING
    if _has_crashed(vmi, launchers):
        return _enter("Failed", vmi, facts.now, {}) if facts.source_answers else NOTHING
    if phase == "Scheduled":
        return _started(vmi, facts.now) if facts.source_answers else NOTHING
    step = migration_step(vmi, facts)
    if step is not NOTHING or not facts.source_answers:
        return step
    return _keep_conditions(vmi)


def _is_shutting_down(vmi: Vmi, launchers: Iterable[PlayedLauncher]) -> bool:
    """The VMI was deleted, or the launcher under its guest was."""
    if vmi.metadata.deletion_timestamp is not None:
        return True
    return any(
        each.is_deleted and runs_the_guest(vmi, each)
        for each in launchers
        if each.metadata.labels.created_by == vmi.metadata.uid
    )


def _has_crashed(vmi: Vmi, launchers: Iterable[PlayedLauncher]) -> bool:
    """The launcher under the guest has ended, and nobody had asked for it.

    Launchers that it left stay where they were, and it may have come back to their node.
    """
    here = [
        each
        for each in launchers
        if each.metadata.labels.created_by == vmi.metadata.uid
        and each.spec.node_name == vmi.status.node_name
    ]
    return bool(here) and all(each.has_ended for each in here)


def _started(vmi: Vmi, now: str) -> PlayedStep:
    size = guest_memory(vmi)
    return _enter(
        "Running",
        vmi,
        now,
        {
            "conditions": _with_migration_conditions(vmi),
            "migrationMethod": "BlockMigration" if block_migration(vmi) else "LiveMigration",
            "selinuxContext": "none",  # without it virt-controller never makes a target pod
            "machine": {"type": MACHINE_TYPE},
            "memory": {"guestCurrent": size, "guestAtBoot": size, "guestRequested": size},
            "guestOSInfo": GUEST_OS,
        },
    )


def _enter(phase: str, vmi: Vmi, now: str, more: Free) -> PlayedStep:
    entered = {"phase": phase, "phaseTransitionTimestamp": now}
    status: Free = {
        "phase": phase,
        "phaseTransitionTimestamps": [*vmi.status.phase_transition_timestamps, entered],
        **more,
    }
    return PlayedStep({"status": status}, f"guest {_EVENTS[phase]}")


def _keep_conditions(vmi: Vmi) -> PlayedStep:
    """Whether it can migrate may change while it runs, as with a claim or an annotation."""
    wanted = _with_migration_conditions(vmi)
    if _facts_of(wanted) == _facts_of(vmi.status.conditions):
        return NOTHING
    return PlayedStep({"status": {"conditions": wanted}}, "conditions changed")


def _with_migration_conditions(vmi: Vmi) -> list[Free]:
    fresh = migration_conditions(vmi)
    kinds = {condition["type"] for condition in fresh}
    return [c for c in vmi.status.conditions if c.get("type") not in kinds] + fresh


def _facts_of(conditions: Iterable[Free]) -> set[tuple[str, ...]]:
    fields = ("type", "status", "reason", "message")
    return {tuple(str(c.get(name) or "") for name in fields) for c in conditions}
