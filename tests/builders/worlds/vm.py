"""A cluster in memory for one VM: what the API server, scheduler, kubelet and webhook would do.

Every state is kept, so that a controller can be shown stores that lag behind, each kind by
another amount. Writes carry the API's conditions: resourceVersion, uid, JSON patch tests.
What the controller does is judged at once, against the truth and not against what it saw.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct, convert, structs

from trimtab.kube.resources import Condition, Free, Key, ObjectMeta, Pod, PodStatus, metadata
from trimtab.kube.virtual_machines import (
    CANCEL_EVACUATION,
    MigrationSpec,
    VirtualMachine,
    VirtualMachineMigration,
    VmSpec,
)
from trimtab.vm.decide.eviction import MarkForEvacuation, decide
from trimtab.vm.decide.lifecycle import next_step
from trimtab.vm.decide.situation import Losses, Precopy, VmSituation, is_over, is_running
from trimtab.vm.decide.steps import (
    AdoptMigration,
    ClearMark,
    CreateMigration,
    CreatePod,
    DecideAgain,
    DeleteMigration,
    DeletePod,
    DropCancel,
    Lose,
    PatchPod,
    Rest,
    Start,
    Step,
    Wait,
    WriteMigration,
    WriteVmStatus,
)
from trimtab.vm.settings import VmControllerSettings

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


class World:
    """The truth, and a controller that sees it late."""

    def __init__(self, settings: VmControllerSettings | None = None, **spec: Any) -> None:
        self.settings = settings or VmControllerSettings()
        self.now = START
        self.nodes = set(NODES)
        meta = ObjectMeta(
            name=KEY.name, namespace=KEY.namespace, uid="vm-uid", resource_version="1", generation=1
        )
        self.history = [State(VirtualMachine(metadata=meta, spec=VmSpec(**spec)), {}, {})]
        self.losses = Losses()
        self.copied: set[str] = set()
        self.forget_writes()

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

    def end_pod(self, pod: Pod, phase: str = "Failed") -> None:
        self.put_pod(structs.replace(pod, status=structs.replace(pod.status, phase=phase)))

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
        self._annotate(notes)

    def _annotate(self, notes: dict[str, str]) -> None:
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

    # What the controller sees and does

    def forget_writes(self) -> None:
        """A new process: nothing is known of what the last one wrote."""
        self.seen = {"vm": 0, "pods": 0, "migrations": 0}

    def look(self, choose: Choose | None = None) -> VmSituation:
        """From the stores; `choose` decides how far each lags, never behind our own writes."""
        for kind, least in self.seen.items():
            newest = len(self.history) - 1
            self.seen[kind] = least + (choose(newest - least + 1) if choose else newest - least)
        state = State(
            self.history[self.seen["vm"]].vm,
            self.history[self.seen["pods"]].pods,
            self.history[self.seen["migrations"]].migrations,
        )
        return self._situation(state, checked=False)

    def _situation(self, state: State, *, checked: bool) -> VmSituation:
        s = VmSituation(
            key=KEY,
            now=self.now,
            vm=state.vm,
            pods=tuple(state.pods.values()),
            migrations=tuple(state.migrations.values()),
            settings=self.settings,
            losses=self.losses,
            checked=checked,
        )
        current = s.current if s.vm else None
        if current is None or current.status.phase != "PreCopy":
            return s
        done = current.metadata.name in self.copied
        return structs.replace(s, precopy=Precopy(0.0 if done else 10.0, True))

    def turn(self, choose: Choose | None = None) -> Step:
        """One reconcile: look, decide, perhaps check, write."""
        s = self.look(choose)
        step = next_step(s)
        if isinstance(step, DecideAgain):
            s = self._situation(self.truth, checked=True)
            step = next_step(s)
        assert not isinstance(step, DecideAgain), "a checked situation is decided"
        before = len(self.history)
        self._write(s, step)
        for kind in KIND_OF.get(type(step), ()):
            self.seen[kind] = max(self.seen[kind], len(self.history) - 1)
        self.last_wrote = len(self.history) > before
        return step

    def _write(self, s: VmSituation, step: Step) -> None:
        match step:
            case WriteVmStatus() | Lose() | Start():
                self._write_status(s, step)
            case CreatePod(pod=pod):
                self._create(pod)
            case PatchPod(pod=pod, metadata=change):
                self._patch(pod, change)
            case DeletePod(pod=pod):
                self._delete(s, pod)
            case ClearMark():
                self._clear_mark(s, step)
            case DropCancel(node=node):
                notes = dict(self.vm.metadata.annotations)
                if notes.get(CANCEL_EVACUATION) == node and same_version(s.vm, self.vm):
                    del notes[CANCEL_EVACUATION]
                    self._annotate(notes)
            case CreateMigration(migration=body):
                if metadata(body).name not in self.truth.migrations:
                    created = convert(body, VirtualMachineMigration)
                    meta = structs.replace(
                        created.metadata,
                        uid=f"uid-{created.metadata.name}",
                        creation_timestamp=self.now,
                    )
                    self.put_migration(structs.replace(created, metadata=meta))
            case WriteMigration(migration=migration, status=status):
                current = self.truth.migrations.get(migration.metadata.name)
                if current is not None and same_version(current, migration):
                    if status.phase == "Succeeded" and self.settings.mode == "live":
                        assert self.mark != status.source_node, "over, but still marked"
                    self.put_migration(structs.replace(current, status=status))
            case AdoptMigration(migration=migration, owners=owners):
                current = self.truth.migrations.get(migration.metadata.name)
                if current is not None and same_version(current, migration):
                    meta = structs.replace(current.metadata, owner_references=owners)
                    self.put_migration(structs.replace(current, metadata=meta))
            case DeleteMigration(migration=migration):
                assert migration.finished
                if migration.metadata.name in self.truth.migrations:
                    self.remove_migration(migration.metadata.name)
            case Wait(seconds=seconds):
                assert seconds > 0
            case Rest() | DecideAgain():
                pass

    def _write_status(self, s: VmSituation, step: WriteVmStatus | Lose | Start) -> None:
        vm = self.truth.vm
        if vm is None or s.vm is None or not same_version(vm, s.vm):
            return
        self._judge_change(vm.status.pod_name, step)
        mark = vm.status.evacuation_node_name
        self.put_vm(status=structs.replace(step.status, evacuation_node_name=mark))
        if isinstance(step, Lose):
            self.losses = Losses(self.losses.count + 1, self.now)

    def _judge_change(self, before: str, step: WriteVmStatus | Lose | Start) -> None:
        """The active pod changes only when it is lost, left or given up."""
        after = step.status.pod_name
        if after == before:
            return
        old = self.truth.pods.get(before)
        if isinstance(step, Lose):
            assert old is None or is_over(old), "a pod that lives was given up for lost"
            assert not self.mark, "the mark of a lost pod would be its successor's"
        elif isinstance(step, Start):
            assert self.settings.mode == "recreate"
        elif before and after:
            seen = [pod for state in self.history if (pod := state.pods.get(after))]
            assert any(map(is_running, seen)), "cut over to a pod that never ran"
            assert step.status.node_name == seen[-1].spec.node_name
        elif before:
            assert not self.vm.spec.running

    def _create(self, body: Free) -> None:
        pod = convert(body, Pod)
        if pod.metadata.name in self.truth.pods:
            return
        self.put_pod(structs.replace(pod, status=PodStatus(phase="Pending")), uid=self._uid(pod))

    def _uid(self, pod: Pod) -> str:
        return f"uid-{pod.metadata.name}-{len(self.history)}"

    def _patch(self, pod: Pod, change: dict[str, Any]) -> None:
        current = self.truth.pods.get(pod.metadata.name)
        if current is None or current.metadata.uid != pod.metadata.uid:
            return
        merged = {
            field: {
                name: value
                for name, value in (
                    getattr(current.metadata, field) | change.get(field, {})
                ).items()
                if value is not None
            }
            for field in ("labels", "annotations")
        }
        self.put_pod(current, **merged)

    def _delete(self, s: VmSituation, pod: Pod) -> None:
        current = self.truth.pods.get(pod.metadata.name)
        if current is None or current.metadata.uid != pod.metadata.uid:
            return
        wanted = self.truth.vm is not None and self.vm.spec.running
        if wanted and s.vm is not None and s.vm.spec.running:
            assert pod.metadata.name != self.vm.status.pod_name or is_over(current)
            targets = {
                each.status.target_pod
                for each in self.unfinished()
                if each.metadata.name == self.vm.status.migration_name
            }
            assert pod.metadata.name not in targets, "the target of a running migration"
        self.delete_pod(current)

    def _clear_mark(self, s: VmSituation, step: ClearMark) -> None:
        if self.mark != step.node or not same_version(s.vm, self.vm):
            return
        self._judge_clearing()
        self.put_vm(status=structs.replace(self.vm.status, evacuation_node_name=""))

    def _judge_clearing(self) -> None:
        """A mark goes only if its VM has left, was told to stay, is stopped, or lost its pod."""
        pod = self.active
        stays = pod is not None and not is_over(pod) and pod.spec.node_name == self.mark
        told = self.vm.metadata.annotations.get(CANCEL_EVACUATION) == self.mark
        assert not stays or told or not self.vm.spec.running, "a mark was lost"

    def settle(self, turns: int = 80) -> list[Step]:
        """Let everybody do their work, without any trouble, until nothing changes."""
        steps: list[Step] = []
        idle = 0
        for _ in range(turns * 4):
            self.forget_writes()
            step = self.turn()
            steps.append(step)
            for each in self.unfinished():
                self.copied.add(each.metadata.name)
            before = len(self.history)
            self.schedule(lambda _: 0)
            self.kubelets()
            if self.last_wrote or len(self.history) > before:
                idle = 0
                continue
            idle += 1
            if isinstance(step, Rest) and idle > 2:
                return steps
            self.pass_time(step.seconds if isinstance(step, Wait) else 1.0)
        raise AssertionError(f"it never comes to rest: {[type(x).__name__ for x in steps[-12:]]}")


KIND_OF: dict[type, tuple[str, ...]] = {
    WriteVmStatus: ("vm",),
    Lose: ("vm",),
    Start: ("vm",),
    ClearMark: ("vm",),
    DropCancel: ("vm",),
    CreatePod: ("pods",),
    PatchPod: ("pods",),
    CreateMigration: ("migrations",),
    WriteMigration: ("migrations",),
    AdoptMigration: ("migrations",),
}


def same_version(a: Any, b: Any) -> bool:
    same: bool = a.metadata.resource_version == b.metadata.resource_version
    return same


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
