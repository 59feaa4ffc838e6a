"""KubeVirt's VMs in the words of trimtab's own, and the other way round. Pure functions.

Commands and views know one VirtualMachine (`kube.virtual_machines`). In a cluster with KubeVirt it
is made of KubeVirt's VirtualMachine and its VMI; what one kind has and the other has not is listed
in docs/guide/kubevirt.md.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Literal, cast

from msgspec import convert

from trimtab.kube.kubevirt import (
    DIRTY_RATE,
    HOSTNAME,
    LIVE_MIGRATABLE,
    NOT_MIGRATABLE,
    Domain,
    KubevirtVm,
    MigrationState,
    Vmi,
    Vmim,
    plain_condition,
    state_of,
)
from trimtab.kube.resources import Condition, Free, Pod
from trimtab.kube.virtual_machines import (
    INITIAL_NODE,
    LOAD,
    Load,
    MigrationPhase,
    MigrationSpec,
    MigrationStatus,
    Phase,
    VirtualMachine,
    VirtualMachineMigration,
    VmAmounts,
    VmResources,
    VmSpec,
    VmStatus,
    decode_load,
    encode_load,
)
from trimtab.model.load.curve import Constant, overall_mean
from trimtab.model.quantity import NANO, parse_quantity
from trimtab.virt.eviction import EvictionStrategy

ASKED_FOR = "NotMigratable"
RequestsOf = Literal["consumption", "overcommit"]

_PHASES: Mapping[str, Phase] = {
    "": "Pending",
    "Pending": "Pending",
    "Scheduling": "Scheduling",
    "Scheduled": "Scheduled",
    "Running": "Running",
    "Succeeded": "Stopped",
    "Failed": "Failed",
}
_MIGRATION_PHASES: Mapping[str, MigrationPhase] = {
    "": "Pending",
    "Pending": "Pending",
    "Scheduling": "Scheduling",
    "Scheduled": "Scheduling",
    "PreparingTarget": "Scheduling",
    "TargetReady": "Scheduling",
    "Running": "PreCopy",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
}


def vm_view(vm: KubevirtVm, vmi: Vmi | None, pod: str = "") -> VirtualMachine:
    """A VM of KubeVirt as trimtab shows it; `pod` is the launcher that its guest runs in."""
    source = vm.spec.template if vmi is None else vmi
    given, load = _given(source.spec.domain), _load(source.metadata.annotations)
    strategy = source.spec.eviction_strategy or "LiveMigrate"
    return VirtualMachine(
        metadata=vm.metadata,
        spec=VmSpec(
            running=vm.spec.wanted,
            resources=VmResources(cpu=given.cpu, memory=given.memory),
            eviction_strategy=cast(EvictionStrategy, strategy),
            live_migratable=vmi is None or _migratable(vmi),
        ),
        status=_status(vm, vmi, pod, given, load),
    )


def migration_view(
    migration: Vmim, on_vmi: MigrationState | None = None
) -> VirtualMachineMigration:
    """A VirtualMachineInstanceMigration as trimtab shows it; see `state_of` for `on_vmi`."""
    state = state_of(migration, on_vmi)
    wish = migration.spec.added_node_selector
    return VirtualMachineMigration(
        metadata=migration.metadata,
        spec=MigrationSpec(
            vm_name=migration.spec.vmi_name,
            target_node=wish.get(HOSTNAME, ""),
            force=bool(wish),
        ),
        status=MigrationStatus(
            phase=_MIGRATION_PHASES.get(migration.status.phase, "Pending"),
            source_node=state.source_node,
            target_node=state.target_node,
            target_pod=state.target_pod,
            start_time=migration.metadata.creation_timestamp,
            precopy_start_time=state.start_timestamp,
            completion_time=state.end_timestamp,
            reason=state.failure_reason or _failure(migration),
            attempts=1,
        ),
    )


def migration_views(
    migrations: Iterable[Vmim], vmis: Iterable[Vmi]
) -> list[VirtualMachineMigration]:
    """Migrations as trimtab shows them, with what their VMIs say of those under way."""
    latest = {vmi.metadata.key: vmi.status.migration_state for vmi in vmis}
    return [migration_view(each, latest.get(each.vmi_key)) for each in migrations]


def launcher_names(pods: Iterable[Pod]) -> dict[str, str]:
    """Names of launcher pods by uid, as VMIs name their active pods."""
    return {pod.metadata.uid: pod.metadata.name for pod in pods}


def active_pod(vmi: Vmi, names: Mapping[str, str]) -> str:
    """The launcher that the guest runs in, if it is among `names`."""
    on_its_node = (u for u, node in vmi.status.active_pods.items() if node == vmi.status.node_name)
    return next((names[uid] for uid in on_its_node if uid in names), "")


def kubevirt_vm(own: Free, *, requests: RequestsOf = "overcommit", dirty_rate: int = 0) -> Free:
    """KubeVirt's VirtualMachine for one of trimtab's own, as a manifest.

    The use over time goes along as an annotation, which the played handlers read. With
    `consumption` the launcher asks for what the VM uses, otherwise for what KubeVirt thinks
    right (a tenth of its cores, all of its memory).
    """
    spec = convert(own["spec"], VmSpec)
    load = own_load(spec)
    meta: Free = own["metadata"]
    cores = max(1, math.ceil(load.cores))
    guest = f"{max(1, math.ceil(load.bytes / 1024**2))}Mi"
    domain: Free = {
        "cpu": {"cores": cores},
        "memory": {"guest": guest},
        "devices": {"interfaces": [{"name": "default", "masquerade": {}}]},
    }
    if requests == "consumption":
        domain["resources"] = {"requests": _requests(load)}
    notes = {LOAD: encode_load(load)}
    if dirty_rate:
        notes[DIRTY_RATE] = str(dirty_rate)
    if not spec.live_migratable:
        notes[NOT_MIGRATABLE] = ASKED_FOR
    if node := meta.get("annotations", {}).get(INITIAL_NODE):
        notes[INITIAL_NODE] = node
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {k: v for k, v in meta.items() if k in ("name", "namespace", "labels")},
        "spec": {
            "runStrategy": "Always" if spec.running else "Halted",
            "template": {
                "metadata": {"annotations": notes, "labels": meta.get("labels", {})},
                "spec": {
                    "domain": domain,
                    "networks": [{"name": "default", "pod": {}}],
                    "evictionStrategy": spec.eviction_strategy,
                    "terminationGracePeriodSeconds": 1,
                },
            },
        },
    }


def own_load(spec: VmSpec) -> Load:
    """Size and use of one of trimtab's own VMs."""
    curves = spec.load
    return Load(
        cores=_number(spec.resources.cpu),
        bytes=_number(spec.resources.memory),
        cpu=(curves and curves.cpu) or Constant(spec.utilization.cpu),
        memory=(curves and curves.memory) or Constant(spec.utilization.memory),
    )


def _requests(load: Load) -> dict[str, str]:
    cpu = max(1, round(1000 * load.cores * overall_mean(load.cpu)))
    memory = max(1, math.ceil(load.bytes * overall_mean(load.memory) / 1024**2))
    return {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}


def _status(
    vm: KubevirtVm, vmi: Vmi | None, pod: str, given: VmAmounts, load: Load | None
) -> VmStatus:
    if vmi is None:
        phase: Phase = "Pending" if vm.spec.wanted else "Stopped"
        return VmStatus(phase=phase, allocated=given, conditions=_conditions(vm.status.conditions))
    status, state = vmi.status, vmi.status.migration_state
    moving = state is not None and vmi.is_migrating
    return VmStatus(
        phase="Migrating" if moving else _PHASES.get(status.phase, "Pending"),
        node_name=status.node_name,
        pod_name=pod,
        evacuation_node_name=status.evacuation_node_name,
        migration_name=state.migration_uid if state is not None and moving else "",
        allocated=given,
        used=_used(load),
        cpu_percent=round(100 * overall_mean(load.cpu)) if load else 0,
        memory_percent=round(100 * overall_mean(load.memory)) if load else 0,
        conditions=_conditions(status.conditions),
        observed_generation=vm.metadata.generation,
    )


def _conditions(conditions: Iterable[Free]) -> tuple[Condition, ...]:
    return tuple(plain_condition(each) for each in conditions)


def _migratable(vmi: Vmi) -> bool:
    """What KubeVirt has found out; until it has, nothing speaks against it."""
    return vmi.migratable or vmi.condition(LIVE_MIGRATABLE) is None


def _failure(migration: Vmim) -> str:
    if migration.status.phase != "Failed":
        return ""
    texts = (str(c.get("message") or c.get("reason") or "") for c in migration.status.conditions)
    return next((text for text in texts if text), "")


def _given(domain: Domain) -> VmAmounts:
    memory = domain.memory.guest or domain.resources.requests.get("memory", "")
    return VmAmounts(cpu=str(domain.cpu.count), memory=str(memory))


def _load(notes: Mapping[str, str]) -> Load | None:
    text = notes.get(LOAD, "")
    try:
        return decode_load(text) if text else None
    except ValueError:  # msgspec's errors are: somebody's own annotation is not ours to judge
        return None


def _used(load: Load | None) -> VmAmounts:
    if load is None:
        return VmAmounts()
    cores = load.cores * overall_mean(load.cpu)
    memory = load.bytes * overall_mean(load.memory)
    return VmAmounts(cpu=f"{round(cores * 1000)}m", memory=f"{round(memory / 1024**2)}Mi")


def _number(amount: str | float) -> float:
    return parse_quantity(amount, "resources").nano / NANO
