"""The vm-controller in a cluster in memory, which it sees late: each kind by another amount.

Writes carry the API's conditions: resourceVersion, uid, JSON patch tests. What the controller
does is judged at once, against the truth and not against what it saw.
"""

from typing import Any

from msgspec import convert, structs

from builders.worlds.vm_cluster import KEY, Choose, State, VmCluster
from trimtab.kube.resources import Free, Pod, PodStatus, metadata
from trimtab.kube.virtual_machines import CANCEL_EVACUATION, VirtualMachineMigration
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


class World(VmCluster):
    """The truth, and a controller that sees it late."""

    def __init__(self, settings: VmControllerSettings | None = None, **spec: Any) -> None:
        super().__init__(**spec)
        self.settings = settings or VmControllerSettings()
        self.losses = Losses()
        self.copied: set[str] = set()
        self.forget_writes()

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
                    self.annotate(notes)
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
