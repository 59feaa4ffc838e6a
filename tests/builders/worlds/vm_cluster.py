"""A cluster in memory for one VM: what the API server, scheduler, kubelet and webhook would do.

Every state is kept, so that a controller can be shown stores that lag behind.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct, structs

from trimtab.kube.resources import Condition, Key, ObjectMeta, Pod
from trimtab.kube.virtual_machines import (
    CANCEL_EVACUATION,
    MigrationSpec,
    VirtualMachine,
    VirtualMachineMigration,
    VmSpec,
)
from trimtab.vm.decide.eviction import MarkForEvacuation, decide
from trimtab.vm.decide.situation import is_over

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = Key("default", "web")
NODES = ("n1", "n2", "n3")
Choose = Callable[[int], int]
"""A number from 0 to below the given one."""


class State(Struct, frozen=True):
    """All objects at one revision."""

    vm: VirtualMachine | None
    pods: dict[str, Pod]
    migrations: dict[str, VirtualMachineMigration]


class VmCluster:
    """The truth, and everybody but the controller."""

    def __init__(self, **spec: Any) -> None:
        self.now = START
        self.nodes = set(NODES)
        meta = ObjectMeta(
            name=KEY.name, namespace=KEY.namespace, uid="vm-uid", resource_version="1", generation=1
        )
        self.history = [State(VirtualMachine(metadata=meta, spec=VmSpec(**spec)), {}, {})]

    # What there is

    @property
    def truth(self) -> State:
        return self.history[-1]

    @property
    def vm(self) -> VirtualMachine:
        assert self.truth.vm is not None
        return self.truth.vm

    @property
    def active(self) -> Pod | None:
        return self.truth.pods.get(self.vm.status.pod_name)

    @property
    def mark(self) -> str:
        return self.vm.status.evacuation_node_name

    def alive(self) -> list[Pod]:
        return [pod for pod in self.truth.pods.values() if not is_over(pod)]

    def unfinished(self) -> list[VirtualMachineMigration]:
        return [each for each in self.truth.migrations.values() if not each.finished]

    # Changes: each is a new revision

    def _commit(self, **changes: Any) -> None:
        self.history.append(structs.replace(self.truth, **changes))

    @property
    def _next_version(self) -> str:
        return str(len(self.history) + 1)

    def put_vm(self, **changes: Any) -> None:
        meta = structs.replace(self.vm.metadata, resource_version=self._next_version)
        self._commit(vm=structs.replace(self.vm, **({"metadata": meta} | changes)))

    def put_pod(self, pod: Pod, **meta: Any) -> None:
        changed = structs.replace(pod.metadata, resource_version=self._next_version, **meta)
        pod = structs.replace(pod, metadata=changed)
        self._commit(pods=self.truth.pods | {pod.metadata.name: pod})

    def remove_pod(self, name: str) -> None:
        self._commit(pods={n: pod for n, pod in self.truth.pods.items() if n != name})

    def put_migration(self, migration: VirtualMachineMigration) -> None:
        meta = structs.replace(migration.metadata, resource_version=self._next_version)
        migration = structs.replace(migration, metadata=meta)
        self._commit(migrations=self.truth.migrations | {meta.name: migration})

    def remove_migration(self, name: str) -> None:
        left = {n: each for n, each in self.truth.migrations.items() if n != name}
        self._commit(migrations=left)

    # What others do

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def schedule(self, choose: Choose) -> None:
        """Every unplaced pod gets a node that its affinity allows, if there is one."""
        for pod in list(self.truth.pods.values()):
            free = sorted(node for node in self.nodes if allows(pod, node))
            if not pod.spec.node_name and not is_over(pod) and free:
                spec = structs.replace(pod.spec, node_name=free[choose(len(free))])
                self.put_pod(structs.replace(pod, spec=spec))
            elif not pod.spec.node_name and not free:
                refusal = Condition(
                    type="PodScheduled", status="False", reason="Unschedulable", message="none fit"
                )
                status = structs.replace(pod.status, conditions=(refusal,))
                self.put_pod(structs.replace(pod, status=status))

    def kubelets(self) -> None:
        """Placed pods run; those whose time has come are gone."""
        for pod in list(self.truth.pods.values()):
            leaves = pod.metadata.deletion_timestamp
            if leaves is not None:
                if leaves <= self.now or not pod.spec.node_name:
                    self.remove_pod(pod.metadata.name)
            elif pod.spec.node_name and pod.status.phase in ("", "Pending"):
                status = structs.replace(pod.status, phase="Running")
                self.put_pod(structs.replace(pod, status=status))

    def end_pod(self, pod: Pod) -> None:
        self.put_pod(structs.replace(pod, status=structs.replace(pod.status, phase="Failed")))

    def delete_pod(self, pod: Pod, *, grace_s: float = 1.0) -> None:
        if grace_s and pod.spec.node_name:
            self.put_pod(pod, deletion_timestamp=self.now + timedelta(seconds=grace_s))
        else:
            self.remove_pod(pod.metadata.name)

    def evict(self, pod: Pod) -> str:
        """The webhook's verdict, carried out."""
        verdict = decide(pod, self.truth.vm)
        if isinstance(verdict, MarkForEvacuation):
            if self.vm.status.pod_name != verdict.pod:
                return "refused"
            status = structs.replace(self.vm.status, evacuation_node_name=verdict.node)
            self.put_vm(status=status)
        elif verdict.name == "allowed":
            self.delete_pod(pod)
        return verdict.name

    def ask_to_cancel(self, node: str) -> None:
        notes = self.vm.metadata.annotations | {CANCEL_EVACUATION: node}
        self.annotate(notes)

    def annotate(self, notes: dict[str, str]) -> None:
        version = self._next_version
        meta = structs.replace(self.vm.metadata, annotations=notes, resource_version=version)
        self.put_vm(metadata=meta)

    def set_spec(self, **changes: Any) -> None:
        meta = structs.replace(
            self.vm.metadata,
            generation=self.vm.metadata.generation + 1,
            resource_version=self._next_version,
        )
        self.put_vm(spec=structs.replace(self.vm.spec, **changes), metadata=meta)

    def ask_to_migrate(self, name: str, **spec: Any) -> None:
        meta = ObjectMeta(
            name=name, namespace=KEY.namespace, uid=f"uid-{name}", creation_timestamp=self.now
        )
        wish = MigrationSpec(vm_name=KEY.name, **spec)
        self.put_migration(VirtualMachineMigration(metadata=meta, spec=wish))


def allows(pod: Pod, node: str) -> bool:
    """Whether the required affinity of a pod of ours lets it go to a node."""
    affinity = (pod.spec.affinity or {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms = required.get("nodeSelectorTerms", [])
    return all(
        (node in field["values"]) == (field["operator"] == "In")
        for term in terms
        for field in term["matchFields"]
    )
