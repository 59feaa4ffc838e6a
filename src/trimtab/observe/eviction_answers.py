"""What VMs add to their pods: how an eviction would be answered, and whether one is under way.

KubeVirt's webhook and ours answer from the VM, not from the pod: a VM that cannot migrate is
refused, one without an eviction strategy is simply stopped, a migration's target stays.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from trimtab.kube.kubevirt import LIVE_MIGRATABLE, MigrationState, Vmim
from trimtab.kube.resources import Key
from trimtab.kube.virtual_machines import DOMAIN, VirtualMachine
from trimtab.model.snapshot import MIGRATIONS, SnapshotVm
from trimtab.observe import wire
from trimtab.truth.explain.outcome_texts import EVACUATING, EVICTION_ANSWER
from trimtab.virt.eviction import EvictionVerdict, judge_eviction

_ANSWERS = {
    EvictionVerdict.WITHOUT_STRATEGY: "evicted: the VM has no eviction strategy, so it is stopped",
    EvictionVerdict.NOT_MIGRATABLE: (
        "evicted: the VM cannot migrate and does not insist, so it is stopped"
    ),
    EvictionVerdict.PROTECTED: "refused: the VM is not live-migratable",
    EvictionVerdict.TARGET_POD: "refused: it is the target of a migration",
}
"""What an eviction leads to if it is not the evacuation that everybody expects."""
_FINISHED = ("Succeeded", "Failed")
NOT_MIGRATABLE = "NotMigratable"
"""KubeVirt's reason where it names no other."""


class Machine(Struct, frozen=True):
    """A VM of either kind, as far as an eviction of its pod is concerned."""

    strategy: str
    migratable: bool
    active: str
    """The node of KubeVirt's active pod, or the name of ours."""
    evacuating: str = ""
    migrations: tuple[str, ...] = ()
    """Intervals, oldest first."""
    reason: str = ""
    """Why it cannot migrate, as its condition names it."""


def kubevirt_machines(
    instances: Iterable[wire.Instance],
    default_strategy: str | None,
    migrations: Iterable[Vmim] = (),
) -> dict[Key, Machine]:
    """VirtualMachineInstances by namespace and name."""
    succeeded: dict[Key, set[str]] = {}
    for each in migrations:
        if each.status.phase == "Succeeded" and each.status.migration_state:
            succeeded.setdefault(each.vmi_key, set()).add(_interval(each.status.migration_state))
    return {
        each.metadata.key: Machine(
            strategy=each.spec.eviction_strategy or default_strategy or "None",
            migratable=any(
                c.type == LIVE_MIGRATABLE and c.status == "True" for c in each.status.conditions
            ),
            active=each.status.node_name,
            evacuating=each.status.evacuation_node_name,
            migrations=_intervals(each, succeeded.get(each.metadata.key, set())),
            reason=_reason(each),
        )
        for each in instances
    }


def _reason(instance: wire.Instance) -> str:
    """Empty for a VM that can migrate, and for one that does not say yet."""
    for condition in instance.status.conditions:
        if condition.type == LIVE_MIGRATABLE and condition.status == "False":
            return condition.reason or NOT_MIGRATABLE
    return ""


def _intervals(instance: wire.Instance, succeeded: set[str]) -> tuple[str, ...]:
    """What its own status says of the last one, and the finished ones that are still kept."""
    state = instance.status.migration_state
    return tuple(sorted({*succeeded, _interval(state) if state else ""} - {""}))


def _interval(state: MigrationState) -> str:
    """`BEGIN/END`, `BEGIN/` while it is under way, empty before it began."""
    began, ended = (
        at and f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (state.start_timestamp, state.end_timestamp)
    )
    return f"{began}/{ended or ''}" if began else ""


def own_machines(vms: Iterable[VirtualMachine]) -> dict[Key, Machine]:
    """VirtualMachines of trimtab.dev by namespace and name."""
    return {
        vm.metadata.key: Machine(
            strategy=vm.spec.eviction_strategy if vm.spec.running else "None",
            migratable=vm.spec.live_migratable,
            active=vm.status.pod_name,
            evacuating=vm.status.evacuation_node_name,
            reason="" if vm.spec.live_migratable else NOT_MIGRATABLE,
        )
        for vm in vms
    }


def observed_on(pod: wire.Pod, machines: Mapping[Key, Machine]) -> dict[str, str]:
    """Annotations with what is known of the pod's VM; none for other pods."""
    meta = pod.metadata
    machine = machines.get(Key(meta.namespace, meta.annotations.get(DOMAIN, "")))
    if machine is None or pod.status.phase in _FINISHED:
        return {}
    found = {}
    if answer := _answer(pod, machine):
        found[EVICTION_ANSWER] = answer
    if machine.evacuating and machine.evacuating == pod.spec.node_name:
        found[EVACUATING] = machine.evacuating
    if machine.migrations:
        found[MIGRATIONS] = " ".join(machine.migrations)
    return found


def _answer(pod: wire.Pod, machine: Machine) -> str:
    names = (pod.spec.node_name, pod.metadata.name)
    active = not machine.active or machine.active in names
    verdict = judge_eviction(machine.strategy, migratable=machine.migratable, active=active)
    answer = _ANSWERS.get(verdict, "")
    if verdict is EvictionVerdict.PROTECTED and machine.reason not in ("", NOT_MIGRATABLE):
        return f"{answer} ({machine.reason})"
    return answer


def with_rules(
    vms: Iterable[SnapshotVm], machines: Mapping[Key, Machine], policies: Mapping[Key, str]
) -> tuple[SnapshotVm, ...]:
    """The VMs with what their own objects say of evictions and migrations."""
    return tuple(_with_rules(vm, machines, policies) for vm in vms)


def _with_rules(
    vm: SnapshotVm, machines: Mapping[Key, Machine], policies: Mapping[Key, str]
) -> SnapshotVm:
    key = Key(vm.namespace, vm.name)
    machine = machines.get(key)
    if machine is None:
        return vm
    return replace(
        vm,
        eviction_strategy=machine.strategy,
        not_migratable=machine.reason,
        migration_policy=policies.get(key, ""),
    )
