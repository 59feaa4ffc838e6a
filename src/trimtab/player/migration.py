"""What a migration's two handlers write next into the VMI.

virt-controller makes the target pod and hands over: it names the nodes and pods in
`status.migrationState` and labels the VMI. From there the target's handler says where it
listens, the source's begins to copy, the target's takes the guest over and completes. Each
step is one write, as with the real ones, so that everybody who watches sees the same phases.
"""

from msgspec import Struct

from trimtab.kube.kubevirt import (
    EVICTION_SOURCE,
    FAIL_MIGRATION,
    MIGRATION_TARGET_LABEL,
    NODE_NAME_LABEL,
    MigrationState,
    Vmi,
)
from trimtab.kube.resources import Free
from trimtab.player.guests import guest_memory
from trimtab.virt.copies import Progress
from trimtab.virt.migration_backoff import completion_limit_s

CREATE_TARGET = "kubevirt.io/createMigrationTarget"
OUTDATED_LAUNCHER = "kubevirt.io/outdatedLauncherImage"
GONE_AFTER_MIGRATION = ("MigrationRequired", "HotVCPUChange", "HotMemoryChange")
"""Conditions that ask for a migration, and are fulfilled by one."""
PORTS = {"49152": 49152, "49153": 49153}


class MigrationFacts(Struct, frozen=True, kw_only=True):
    """What the handlers know besides the VMI."""

    now: str
    source_answers: bool
    target_answers: bool
    target_address: str
    target_lives: bool = True
    """The launcher that the guest is to come to has not ended."""
    copy: Progress | None = None


class PlayedStep(Struct, frozen=True):
    """A write, or nothing; `again_s` is when to look again, in the lab's time."""

    patch: Free | None = None
    event: str = ""
    again_s: float | None = None


NOTHING = PlayedStep()


def migration_step(vmi: Vmi, facts: MigrationFacts) -> PlayedStep:
    """The next step of the VMI's migration, if it has one."""
    state = vmi.status.migration_state
    if state is None:
        return NOTHING
    if MIGRATION_TARGET_LABEL not in vmi.metadata.labels:
        return NOTHING  # not handed over yet, or cleaned up
    if state.ended:
        return _clean_up()
    if state.end_timestamp is not None:
        return _complete(vmi)
    if state.abort_requested:
        return _failed(facts.now, "Live migration aborted ", aborted=True)
    if state.start_timestamp is None:
        return _before_the_copy(state, facts)
    return _during_the_copy(vmi, state, facts)


def _before_the_copy(state: MigrationState, facts: MigrationFacts) -> PlayedStep:
    if not facts.target_answers:
        return NOTHING
    if not state.target_node_address:
        told = {"targetNodeAddress": facts.target_address, "targetDirectMigrationNodePorts": PORTS}
        return PlayedStep(_migration(told), "target prepared")
    if not facts.source_answers:
        return NOTHING
    return PlayedStep(_migration({"startTimestamp": facts.now, "mode": "PreCopy"}), "copy begun")


def _during_the_copy(vmi: Vmi, state: MigrationState, facts: MigrationFacts) -> PlayedStep:
    copy = facts.copy
    if not facts.source_answers or copy is None:
        return NOTHING
    if not facts.target_answers:
        reason = f"Live migration failed: node {state.target_node} does not answer"
        return _failed(facts.now, reason)
    if not facts.target_lives:
        return _failed(facts.now, f"Live migration failed: pod {state.target_pod} has ended")
    wanted = vmi.metadata.annotations.get(FAIL_MIGRATION, "")
    if wanted and copy.is_half_done:
        return _failed(facts.now, wanted)
    if copy.left_s > 0:
        # the moment of half the copy is not known exactly once the network is shared anew
        return PlayedStep(again_s=copy.left_s / 2 if wanted else copy.left_s)
    if not copy.in_time:
        return _failed(facts.now, _too_late(state, copy), aborted=True)
    return _hand_over(vmi, state, facts.now)


def _too_late(state: MigrationState, copy: Progress) -> str:
    settings = state.migration_configuration
    if copy.stuck:
        return f"Live migration stuck for {settings.progress_timeout} seconds and has been aborted"
    limit = round(completion_limit_s(copy.total, settings.completion_timeout_per_gi_b))
    return f"Live migration is not completed after {limit} seconds and has been aborted"


def _hand_over(vmi: Vmi, state: MigrationState, now: str) -> PlayedStep:
    """The guest runs on the target: the VMI is there from now on."""
    conditions = [c for c in vmi.status.conditions if c.get("type") not in GONE_AFTER_MIGRATION]
    patch: Free = {
        "metadata": {
            "labels": {NODE_NAME_LABEL: state.target_node, OUTDATED_LAUNCHER: None},
            "annotations": {EVICTION_SOURCE: None},
        },
        "status": {
            "nodeName": state.target_node,
            "evacuationNodeName": None,
            "launcherContainerImageVersion": None,
            "migrationTransport": "Unix",
            "conditions": conditions,
            "migrationState": {
                "targetNodeDomainDetected": True,
                "targetNodeDomainReadyTimestamp": now,
                "endTimestamp": now,
            },
        },
    }
    return PlayedStep(patch, "guest handed over")


def _complete(vmi: Vmi) -> PlayedStep:
    """What a hotplug asked for holds from now on, and the migration is over."""
    cpu = vmi.spec.domain.cpu
    topology = {"cores": cpu.cores, "sockets": cpu.sockets, "threads": cpu.threads}
    status: Free = {"migrationState": {"completed": True}}
    if cpu.cores:
        status["currentCPUTopology"] = {name: count for name, count in topology.items() if count}
    status["memory"] = {"guestCurrent": guest_memory(vmi)}
    return PlayedStep({"status": status}, "migration completed")


def _failed(now: str, reason: str, *, aborted: bool = False) -> PlayedStep:
    told: Free = {
        "failed": True,
        "completed": True,
        "endTimestamp": now,
        "failureReason": reason,
    }
    if aborted:
        told["abortStatus"] = "Succeeded"
    return PlayedStep(_migration(told), "migration failed")


def _clean_up() -> PlayedStep:
    patch: Free = {
        "metadata": {
            "labels": {MIGRATION_TARGET_LABEL: None},
            "annotations": {CREATE_TARGET: None},
        }
    }
    return PlayedStep(patch, "migration cleaned up")


def _migration(fields: Free) -> Free:
    return {"status": {"migrationState": fields}}
