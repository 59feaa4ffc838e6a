"""What was read becomes a recording: columns by VM and node, repairs, and findings. Pure."""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.kube.resources import Key
from trimtab.model.quantity import parse_quantity
from trimtab.model.recorded.cleaning import (
    SATURATED,
    came_and_went,
    fill_gaps,
    hold_places,
    not_negative,
    placement_from,
    recorded_moves,
)
from trimtab.model.recorded.recording import (
    NOWHERE,
    ClusterRecording,
    Finding,
    Loads,
    LoadSource,
    Manifest,
    Places,
    RecordedMigration,
)
from trimtab.model.snapshot import Snapshot
from trimtab.observe.record.chunks import Columns, Grid
from trimtab.observe.record.migrations import forgetful, of_period
from trimtab.observe.record.prometheus_queries import (
    SOURCE_NAMES,
    Sources,
    missing,
    node_name,
    vm_key,
)
from trimtab.virt.migration_backoff import FINISHED_KEPT

RESIDUAL = 0.10
"""Share of the nodes' use beside VMs from which on it is worth a word."""


class RecordedAnswers(Struct, frozen=True, eq=False):
    """Everything that was read."""

    snapshot: Snapshot
    sources: Sources
    grid: Grid
    tables: Mapping[str, Columns] = {}
    own_keys: tuple[Key, ...] = ()
    own_cpu: Loads | None = None
    own_memory: Loads | None = None
    own_placement: Places | None = None
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = {}
    scale: float = 1.0
    """How fast the cluster's own time goes."""
    migrations: tuple[RecordedMigration, ...] = ()


def compose(answers: RecordedAnswers) -> ClusterRecording:
    """The recording, cleaned, with everything counted that was not as it should be."""
    return _Composer(answers).recording()


class _Composer:
    def __init__(self, answers: RecordedAnswers) -> None:
        self._answers, self._grid = answers, answers.grid
        snapshot = answers.snapshot
        self._capacity = {n.name: n.capacity or n.allocatable for n in snapshot.nodes}
        self._nodes = sorted(self._capacity)
        self._node_number = {name: at for at, name in enumerate(self._nodes)}
        keys = {Key(vm.namespace, vm.name) for vm in snapshot.vms} | set(answers.own_keys)
        for name in ("vm_cpu", "placement"):
            # of chosen pods only the present ones are known to be chosen
            if name in answers.tables and answers.sources.vms != "selected":
                keys |= {vm_key(labels) for labels in answers.tables[name].labels}
        self._keys = sorted(keys)
        self._vm_number = {key: at for at, key in enumerate(self._keys)}
        self._findings: list[Finding] = []

    def recording(self) -> ClusterRecording:
        cpu, delay, memory = (self._of_vms(t) for t in ("vm_cpu", "vm_delay", "vm_memory"))
        placement = self._placement(cpu)
        node_cpu = self._of_nodes("node_cpu", "cpu")
        node_memory = self._of_nodes("node_memory", "memory")
        first, last = self._covered(cpu, node_cpu)
        grid = Grid(self._grid.at(first), self._grid.step_s, last - first)
        cpu = self._filled(cpu[first:last], "CPU")
        memory = self._filled(memory[first:last], "memory")
        delay, _ = fill_gaps(delay[first:last])
        placement = hold_places(placement[first:last])
        node_cpu, _ = fill_gaps(node_cpu[first:last])
        node_memory, _ = fill_gaps(node_memory[first:last])
        answers = self._answers
        made = ClusterRecording(
            manifest=Manifest(
                versions=answers.snapshot.versions,
                start=grid.start,
                step_s=grid.step_s,
                moments=grid.moments,
                scale=answers.scale,
                nodes=tuple(self._nodes),
                vms=tuple(f"{key.namespace}/{key.name}" for key in self._keys),
                migrations=tuple(of_period(answers.migrations, grid.start)),
                sources=tuple(self._sources()),
                parameters=dict(answers.parameters),
            ),
            snapshot=answers.snapshot,
            vm_cpu=cpu,
            vm_delay=delay,
            vm_memory=memory,
            placement=placement,
            node_cpu=node_cpu,
            node_memory=node_memory,
        )
        self._judge(made)
        return replace(made, manifest=replace(made.manifest, findings=tuple(self._findings)))

    def _sources(self) -> Iterable[LoadSource]:
        for table in self._answers.sources.tables:
            yield LoadSource(table.name, table.source, table.query)
        if self._answers.own_keys:
            for name in ("vm_cpu", "vm_memory", "placement"):
                yield LoadSource(name, SOURCE_NAMES["pods"])

    def _found(self, what: str, count: int, meaning: str) -> None:
        if count:
            self._findings.append(Finding(what, count, meaning))

    def _of_vms(self, table: str) -> Loads:
        """Columns by VM; of two columns of one VM (its pods, one after the other) the sum."""
        values = np.full((self._grid.moments, len(self._keys)), np.nan, dtype=np.float32)
        columns = self._answers.tables.get(table)
        for column, labels in enumerate(columns.labels if columns else ()):
            at = self._vm_number.get(vm_key(labels))
            if columns is not None and at is not None:
                _add(values, at, columns.values[:, column], largest=table == "vm_memory")
        own = {"vm_cpu": self._answers.own_cpu, "vm_memory": self._answers.own_memory}.get(table)
        if own is not None:
            for column, key in enumerate(self._answers.own_keys):
                values[:, self._vm_number[key]] = own[:, column]
        cleaned, wrong = not_negative(values)
        self._found(f"values of {table} that cannot be", wrong, "they count as 0 or as unknown")
        return cleaned

    def _of_nodes(self, table: str, resource: str) -> Loads:
        """Cores or bytes: the queries give shares of what a node has."""
        values = np.full((self._grid.moments, len(self._nodes)), np.nan, dtype=np.float32)
        columns, label = self._answers.tables.get(table), self._answers.sources.node_label
        for column, labels in enumerate(columns.labels if columns else ()):
            name = node_name(labels.get(label, ""))
            at = self._node_number.get(name)
            if columns is not None and at is not None:
                whole = float(parse_quantity(self._capacity[name].get(resource, "0"), name))
                values[:, at] = columns.values[:, column] * whole
        return not_negative(values)[0]

    def _placement(self, cpu: Loads) -> Places:
        answers, grid = self._answers, self._grid
        if (columns := answers.tables.get("placement")) is not None:
            seen = []
            for column, labels in enumerate(columns.labels):
                node = self._node_number.get(node_name(labels.get("node", "")))
                number = self._vm_number.get(vm_key(labels))
                if node is not None and number is not None:
                    seen.append((number, node, np.isfinite(columns.values[:, column])))
            placement, twice = placement_from(seen, grid.moments, len(self._keys))
            self._found(
                "moments at which two nodes reported one VM",
                twice,
                "normal while VMs migrate; the VM counts where it was before",
            )
        else:
            placement = np.full((grid.moments, len(self._keys)), NOWHERE, dtype=np.int32)
            pods = {pod.uid: pod.node for pod in answers.snapshot.pods}
            for vm in answers.snapshot.vms:
                at = self._vm_number[Key(vm.namespace, vm.name)]
                there = np.isfinite(cpu[:, at])
                placement[there, at] = self._node_number.get(pods.get(vm.pod_uid, ""), NOWHERE)
        if answers.own_placement is not None:
            for column, key in enumerate(answers.own_keys):
                placement[:, self._vm_number[key]] = answers.own_placement[:, column]
        self._place_silent(placement)
        return placement

    def _place_silent(self, placement: Places) -> None:
        """VMs that no metric ever told of are where the snapshot has them, all of the time.

        Our own VMs need no metric: one that was nowhere was created after the last moment.
        """
        pods = {pod.uid: pod.node for pod in self._answers.snapshot.pods}
        own = frozenset(self._answers.own_keys)
        for vm in self._answers.snapshot.vms:
            key = Key(vm.namespace, vm.name)
            at = self._vm_number[key]
            if key not in own and (placement[:, at] == NOWHERE).all():
                placement[:, at] = self._node_number.get(pods.get(vm.pod_uid, ""), NOWHERE)

    def _covered(self, cpu: Loads, node_cpu: Loads) -> tuple[int, int]:
        """The moments of which anything is known; Prometheus may not go back so far."""
        measured = node_cpu if "node_cpu" in self._answers.sources.names else cpu
        known = np.flatnonzero(np.isfinite(measured).any(axis=1))
        if not len(known):
            raise ConfigError(
                "nothing was recorded in this period: no metric of VMs or nodes has a sample; "
                "check --prometheus, that KubeVirt's metrics are scraped, and that the cluster is "
                "older than --step"
            )
        first, last = int(known[0]), int(known[-1]) + 1
        self._found(
            "moments of the period that Prometheus does not have",
            self._grid.moments - (last - first),
            "the recording is shorter than was asked for",
        )
        return first, last

    def _filled(self, values: Loads, what: str) -> Loads:
        filled, gaps = fill_gaps(values)
        self._found(
            f"gaps of up to 3 moments in the {what} of VMs",
            gaps.held,
            "they keep the value before them",
        )
        self._found(
            f"moments in longer gaps in the {what} of VMs",
            gaps.unknown,
            "they are marked as unknown; a simulation takes the VM's mean there",
        )
        return filled

    def _judge(self, made: ClusterRecording) -> None:
        answers, placement = self._answers, made.placement
        for what, meaning in missing(answers.sources, len(self._nodes)):
            self._found(what, 1, meaning)
        for note in answers.notes:
            self._found(note, 1, "")
        silent = int((~np.isfinite(made.vm_cpu).any(axis=0)).sum())
        self._found("VMs without metrics", silent, "they count as using what they request")
        came, went = came_and_went(placement)
        self._found("VMs that came during the period", came, "they arrive in a simulation too")
        self._found("VMs that went during the period", went, "they leave in a simulation too")
        self._found("moves of VMs", len(recorded_moves(placement)), "a replay makes them too")
        self._found(
            f"VMs of which {FINISHED_KEPT} migrations are known",
            forgetful(made.manifest.migrations),
            "the cluster keeps no more of each VM: there may have been others in the period",
        )
        if (resets := answers.tables.get("resets")) is not None:
            count = int(np.nansum(resets.values))
            self._found("counter resets", count, "restarts; rates go on behind them")
        self._judge_nodes(made)

    def _judge_nodes(self, made: ClusterRecording) -> None:
        known = np.isfinite(made.node_cpu)
        if not known.any():
            return
        by_vms = made.vms_on_nodes(made.vm_cpu)
        total = float(np.nansum(made.node_cpu))
        residual = float(np.sum((made.node_cpu - by_vms)[known])) / max(total, 1e-9)
        if abs(residual) > RESIDUAL:
            self._found(
                "percent of the nodes' CPU use that no VM explains",
                round(residual * 100),
                "it is taken as a steady load beside the VMs"
                if residual > 0
                else "VMs seem to use more than their nodes: the sources disagree",
            )
        whole = np.array(
            [float(parse_quantity(self._capacity[n].get("cpu", "0"), n)) for n in self._nodes]
        )
        full = int((made.node_cpu >= SATURATED * np.maximum(whole, 1e-9))[known].sum())
        told = "vm_delay" in self._answers.sources.names
        self._found(
            "moments at which a node's CPU was full",
            full,
            "what VMs waited for is counted as demand"
            if told
            else "VMs may have wanted more than was measured: answers are optimistic",
        )


def _add(values: Loads, at: int, more: Loads, *, largest: bool) -> None:
    known = np.isfinite(more)
    there = np.isfinite(values[:, at])
    joined = np.fmax(values[:, at], more) if largest else np.nan_to_num(values[:, at]) + more
    values[known & there, at] = joined[known & there]
    values[known & ~there, at] = more[known & ~there]
