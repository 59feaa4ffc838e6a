"""What restricts each recorded VM, as constraints of the simulator.

Pods that are no VMs never move, so what keeps a VM away from them is a rule about nodes: it
becomes part of the VM's required node affinity. VMs that were gone when the snapshot was taken
have no rules that anybody knows.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from trimtab.balance.from_snapshot import next_pod
from trimtab.model.nodes_and_vms import Ground
from trimtab.model.pod_rules import AntiAffinityTerm, Constraints, Expression, NodeTerm
from trimtab.model.quantity import Quantity
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.snapshot import (
    EVICT,
    PREFER_NO_EVICTION,
    Claim,
    Snapshot,
    SnapshotNode,
    SnapshotPod,
    SnapshotVm,
)
from trimtab.policy.pods.anti_affinity import groups_of
from trimtab.policy.pods.requests import requests_of
from trimtab.sim.placement.rules import Apart
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER
from trimtab.virt.eviction import EvictionStrategy

FIXED = "it is not live-migratable"
"""How a reason begins that does not go away by itself."""
CREATED_BY = "kubevirt.io/created-by"
OF_ONE_VM = frozenset(
    {
        CREATED_BY,
        "kubevirt.io/domain",
        "kubevirt.io/migrationJobUID",
        "kubevirt.io/vmi-name",
        "vm.kubevirt.io/name",
        "vmi.kubevirt.io/id",
    }
)
"""Labels that every VM has with a value of its own: kept only where some rule reads them."""
_KNOWN_RESOURCES = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})


def recorded_constraints(snapshot: Snapshot, nodes: Sequence[str]) -> dict[str, Constraints]:
    """By the VM's namespace/name; those alike share one object."""
    pods = {pod.uid: pod for pod in snapshot.pods}
    vms = [vm for vm in snapshot.vms if vm.pod_uid in pods]
    launched = {vm.pod_uid for vm in vms}
    mine = [next_pod(pods[vm.pod_uid], vm) for vm in vms]
    ground = [pod for pod in snapshot.pods if pod.uid not in launched and not pod.finished]
    here = [node for node in snapshot.nodes if node.name in set(nodes)]
    banned = _banned(mine, [pod for pod in ground if pod.node in set(nodes)], here)
    claims = {(claim.namespace, claim.name): claim for claim in snapshot.claims}
    kept = _keys_read((*mine, *ground))
    shared: dict[bytes, Constraints] = {}
    found = {}
    for at, (vm, pod) in enumerate(zip(vms, mine, strict=True)):
        rules = constraints_of(pod, vm, claims, kept)
        rules = replace(rules, node_affinity=_without(rules.node_affinity, banned.get(at, ())))
        key = msgspec.json.encode(rules, order="deterministic")
        found[f"{vm.namespace}/{vm.name}"] = shared.setdefault(key, rules)
    return found


def constraints_of(
    pod: SnapshotPod,
    vm: SnapshotVm | None = None,
    claims: Mapping[tuple[str, str], Claim] | None = None,
    kept: frozenset[str] = frozenset(),
) -> Constraints:
    """Of one pod; `kept` are labels of single VMs that some rule reads."""
    known = claims or {}
    mounted = [v.claim for v in pod.volumes if v.kind == "persistentVolumeClaim"]
    reason = vm.not_movable if vm is not None else ""
    return Constraints(
        namespace=pod.namespace,
        labels={k: v for k, v in pod.labels.items() if k in kept or k not in OF_ONE_VM},
        node_selector=pod.node_selector,
        node_affinity=pod.node_affinity,
        tolerations=pod.tolerations,
        anti_affinity=tuple(filter(_names_others, pod.anti_affinity)),
        not_movable=reason if reason.startswith(FIXED) else "",
        evict=EVICT in pod.annotations,
        prefer_no_eviction=PREFER_NO_EVICTION in pod.annotations,
        local_storage=any(v.kind in ("hostPath", "emptyDir") for v in pod.volumes),
        storage_classes=tuple(
            claim.storage_class if (claim := known.get((pod.namespace, name))) else ""
            for name in mounted
        ),
        resource_claims=pod.resource_claims > 0,
    )


def requested_ground(pods: Sequence[SnapshotPod]) -> Ground:
    """What pods that are no VMs request of their node; what they use is not in their specs."""
    asked = [requests_of(pod) for pod in pods]
    containers = [each for pod in pods for each in pod.containers]
    return Ground(
        requested_cpu=Quantity(sum(each.get("cpu", 0) for each in asked)),
        requested_memory=Quantity(sum(each.get("memory", 0) for each in asked)),
        pods=len(pods),
        without_cpu=sum("cpu" not in each.requests for each in containers),
        without_memory=sum("memory" not in each.requests for each in containers),
    )


def strategy_of(pod: SnapshotPod | None) -> EvictionStrategy:
    """What an eviction leads to, as far as the recording tells."""
    word, _, why = (pod.annotations if pod else {}).get(EVICTION_ANSWER, "").partition(": ")
    if word != "evicted":
        return "LiveMigrate"
    return "LiveMigrateIfPossible" if "cannot migrate" in why else "None"


def not_modelled(recording: ClusterRecording) -> list[str]:
    """What restricts the recorded VMs and is not part of their constraints, one line each."""
    snapshot, told = recording.snapshot, []
    pods = {pod.uid: pod for pod in snapshot.pods}
    devices = sorted(
        {
            name
            for vm in snapshot.vms
            if vm.pod_uid in pods
            for name in requests_of(pods[vm.pod_uid])
            if name not in _KNOWN_RESOURCES
        }
    )
    if devices:
        shown = ", ".join(devices[:3]) + (" …" if len(devices) > 3 else "")
        told.append(f"VMs request {shown}: the simulator counts CPU, memory and pods only")
    seen = {f"{vm.namespace}/{vm.name}" for vm in snapshot.vms if vm.pod_uid in pods}
    if gone := sum(name not in seen for name in recording.manifest.vms):
        told.append(
            f"{gone:,} VMs were gone when the objects were read: what restricted them is not known"
        )
    return told


def _banned(
    vms: Sequence[SnapshotPod], ground: Sequence[SnapshotPod], nodes: Sequence[SnapshotNode]
) -> dict[int, tuple[str, ...]]:
    """For VMs by number: the nodes that anti-affinity to pods which are no VMs forbids."""
    groups = groups_of((*vms, *ground), [node.labels for node in nodes])
    if groups is None:
        return {}
    index = {node.name: at for at, node in enumerate(nodes)}
    apart = Apart(groups)
    for at, pod in enumerate(ground, len(vms)):
        apart.count(at, index[pod.node], 1)
    found = {}
    for at in range(len(vms)):
        if apart.touches(at) and len(banned := apart.banned(at)):
            found[at] = tuple(nodes[node].name for node in banned.tolist())
    return found


def _without(
    terms: tuple[NodeTerm, ...] | None, banned: Sequence[str]
) -> tuple[NodeTerm, ...] | None:
    """The same affinity that also leaves these nodes out."""
    if not banned:
        return terms
    away = tuple(Expression("metadata.name", "NotIn", (name,)) for name in banned)
    if terms is None:
        return (NodeTerm(match_fields=away),)
    # An empty term matches no node, and must not begin to.
    return tuple(
        replace(term, match_fields=(*term.match_fields, *away))
        if term.match_expressions or term.match_fields
        else term
        for term in terms
    )


def _names_others(term: AntiAffinityTerm) -> bool:
    """False for KubeVirt's own term, which keeps a migration's target off its source."""
    selector = term.label_selector
    return selector is None or set(selector.match_labels) != {CREATED_BY}


def _keys_read(pods: Iterable[SnapshotPod]) -> frozenset[str]:
    """The labels that anti-affinity looks at."""
    terms = (term for pod in pods for term in pod.anti_affinity if _names_others(term))
    selectors = [term.label_selector for term in terms if term.label_selector]
    return frozenset(
        key
        for selector in selectors
        for key in (*selector.match_labels, *(e.key for e in selector.match_expressions))
    )
