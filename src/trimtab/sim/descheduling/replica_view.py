"""A replica as the policy rules see it: nodes, samples, and pods of the nodes that are visited.

Pods are built only for those nodes. A VM that the restraint keeps back is not shown: to the
descheduler that is the same as a filter that refuses it just before the eviction.
"""

from collections.abc import Callable, Sequence
from itertools import compress

from msgspec import Struct
from msgspec.structs import replace

from trimtab.model.quantity import NANO
from trimtab.policy.view import (
    Amounts,
    NodeView,
    PlainNode,
    PodsAlike,
    PodView,
    Qos,
    Traits,
    Vector,
    View,
)
from trimtab.sim.descheduling.restraint import Restrained
from trimtab.sim.fleet import DEFAULT_NAMESPACE, UNITS, Fleet, Floats
from trimtab.sim.placement.rules import NO_CONSTRAINTS, TAINTER, node_labels, tolerations_of
from trimtab.sim.replica import Replica
from trimtab.virt.eviction import EvictionEffect
from trimtab.virt.launcher import SCHEDULABLE

REFERENCE_CORES = 32
REFERENCE_BYTES = 128 * 1024**3


class VmPod(Struct, frozen=True, gc=False):
    """The active virt-launcher pod of a VM.

    Its uid is the VM's name: whatever is remembered of a pod is forgotten when it is gone.
    """

    vm: int
    uid: str
    traits: Traits
    namespace: str = DEFAULT_NAMESPACE
    started: float | None = 0.0
    terminating: bool = False

    @property
    def name(self) -> str:
        """Made when asked for: thousands of pods are looked at, and few are ever named."""
        return f"virt-launcher-{self.uid}"

    @property
    def owner_uid(self) -> str:
        return str(self.vm)


class PodKind(Struct, frozen=True, eq=False, gc=False):
    """What the pods of many VMs have in common, with what their eviction leads to."""

    traits: Traits
    namespace: str


class SharedTraits:
    """What is the same for all replicas: node views and the traits that VMs share."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._traits: dict[tuple[int, int, int, int], Traits] = {}
        self._kinds: dict[tuple[Traits, EvictionEffect], PodKind] = {}
        self.kinds = KindOfVm(self._find_kind)
        self.nodes = [
            PlainNode(
                name=node.name,
                labels=node_labels(node),
                taints=node.taints,
                unschedulable=node.unschedulable,
                allocatable={
                    "cpu": node.cpu.nano,
                    "memory": node.memory.nano,
                    "pods": node.pods * NANO,
                },
            )
            for node in fleet.scenario.nodes
        ]

    def _find_kind(self, vm: int) -> PodKind:
        key = self._find_traits(vm), self._fleet.eviction_effects[vm]
        if (known := self._kinds.get(key)) is None:
            known = self._kinds[key] = PodKind(key[0], self._fleet.namespace(vm))
        return known

    def _find_traits(self, vm: int) -> Traits:
        seen = self._fleet.scenario.vms[vm]
        priority, rules = seen.priority, seen.constraints or NO_CONSTRAINTS
        cpu = self._fleet.requested_cpu.item(vm)
        memory = self._fleet.requested_memory.item(vm)
        known = self._traits.get((priority, cpu, memory, id(rules)))
        if known is None:
            known = self._traits[priority, cpu, memory, id(rules)] = Traits(
                priority=priority,
                qos=Qos.BURSTABLE,
                request_evict_only=True,
                evict=rules.evict,
                prefer_no_eviction=rules.prefer_no_eviction,
                local_storage=rules.local_storage,
                resource_claims=rules.resource_claims,
                claims=rules.storage_classes,
                labels=rules.labels,
                tolerations=tolerations_of(rules),
                node_selector={SCHEDULABLE: "true", **rules.node_selector},
                node_affinity=rules.node_affinity,
                anti_affinity=rules.anti_affinity,
                requests={"cpu": cpu * NANO // 1000, "memory": memory * NANO},
                requested=frozenset({"cpu", "memory"}),
            )
        return known


class KindOfVm(dict[int, PodKind]):
    """The kind of each VM's pods, one object for all that are alike; found when first asked for."""

    def __init__(self, find: Callable[[int], PodKind]) -> None:
        self._find = find

    def __missing__(self, vm: int) -> PodKind:
        found = self[vm] = self._find(vm)
        return found


class ReplicaView(View):
    """One replica at one moment; `scores` are set before each decision."""

    def __init__(
        self, fleet: Fleet, shared: SharedTraits, replica: Replica, restraint: Restrained
    ) -> None:
        super().__init__(_nodes_now(shared.nodes, fleet, replica), now=replica.now)
        self._fleet, self._shared = fleet, shared
        self._replica, self._restraint = replica, restraint
        self.scores: Floats | None = None
        self._sampled: tuple[str, ...] | None = None
        """The nodes that have samples: as long as this view lasts, the same."""

    def samples(self) -> Vector:
        assert self.scores is not None
        lost = self._replica.cluster.lost
        if self._sampled is None:
            self._sampled = self._names(tuple(compress(self._fleet.node_names, ~lost)))
        return Vector(self._sampled, self.scores[~lost] if lost.any() else self.scores)

    def _names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The very tuple of the selection if it is the same: that saves the rules a look-up."""
        same = (s.names for s in self._selections.values() if s.names == names)
        return next(same, names)

    def pods_on(self, node: str) -> Sequence[PodView]:
        number = self._fleet.node_number[node]
        if self._restraint.spares_node(number):
            return ()
        cluster, now = self._replica.cluster, self._replica.now
        vms = cluster.vms_on(number).tolist()
        if self._restraint.restraint.cooldown_s > 0.0:
            vms = [vm for vm in vms if not self._restraint.spares_vm(vm, now)]
        if len(set(map(self._shared.kinds.__getitem__, vms))) == 1:
            return PodsAlike(vms, self._pod)
        return list(map(self._pod, vms))

    def _pod(self, vm: int) -> VmPod:
        kind, started_s = self._shared.kinds[vm], self._replica.started_s(vm)
        return VmPod(vm, self._fleet.vm_names[vm], kind.traits, kind.namespace, started_s)

    def requested_on(self, node: str) -> tuple[Amounts, int]:
        cluster, number = self._replica.cluster, self._fleet.node_number[node]
        amounts = {
            "cpu": int(cluster.requested_cpu[number]) * NANO // 1000,
            "memory": int(cluster.requested_memory[number]) * NANO,
        }
        return amounts, int(cluster.pods[number])

    def node_metrics(self, node: str) -> Amounts:
        cluster, number = self._replica.cluster, self._fleet.node_number[node]
        return _used(cluster.cpu[number], cluster.memory[number])

    def pod_metrics(self, pod: PodView) -> Sequence[Amounts]:
        assert isinstance(pod, VmPod)
        loads = self._replica.cluster.loads
        return [_used(loads.cpu[pod.vm], loads.memory[pod.vm])]

    def replicas(self, owner_uid: str) -> int:
        return 1

    def storage_class(self, namespace: str, claim: str) -> str | None:
        return claim or None  # the claims of traits are named by their class


def _used(cpu: float, memory: float) -> Amounts:
    """Units of load as nano-cores and nano-bytes."""
    return {
        "cpu": round(cpu * REFERENCE_CORES * NANO / UNITS),
        "memory": round(memory * REFERENCE_BYTES * NANO / UNITS),
    }


def _nodes_now(nodes: Sequence[PlainNode], fleet: Fleet, replica: Replica) -> list[NodeView]:
    """The nodes with the taints and conditions that they have right now."""
    cluster = replica.cluster
    added = cluster.soft_taints - fleet.soft_taints
    plain = (added == 0) & ~cluster.lost & (cluster.cordoned == fleet.cordoned)
    found: list[NodeView] = list(nodes)
    for number in (~plain).nonzero()[0].tolist():
        found[number] = replace(
            nodes[number],
            taints=nodes[number].taints + TAINTER[: added[number]],
            unschedulable=bool(cluster.cordoned[number]),
            ready=not cluster.lost[number],
        )
    return found
