"""The past of our own VMs, as their objects tell it: loads are curves, moves are migrations."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.kube.clock import Clock
from trimtab.kube.resources import Key
from trimtab.kube.virtual_machines import VirtualMachineMigration
from trimtab.model.load.curve import Curve, value_at
from trimtab.model.load.curve_means import Times, means
from trimtab.model.recorded.recording import NOWHERE, Loads, Places
from trimtab.observe import wire
from trimtab.observe.record.chunks import Grid
from trimtab.observe.vm_loads import key_of, load_from_pod, runs_a_vm
from trimtab.virt.migration_backoff import FINISHED_KEPT


class OwnVm(Struct, frozen=True):
    """A VM with its curves: cores and bytes are the curve's value times the size."""

    key: Key
    node: str
    since: float
    """When its VM was created, in seconds since 1970."""
    cores: float
    bytes: float
    cpu: Curve
    memory: Curve


class PastMove(Struct, frozen=True):
    """A migration that succeeded: where the VM was before `at`."""

    key: Key
    source: str
    target: str
    at: float


def own_vms(
    pods: Iterable[wire.Pod], created: Mapping[Key, datetime | None], active: frozenset[str]
) -> list[OwnVm]:
    """The VMs whose active pods (by uid) say what they use.

    A VM whose active pod is gone by now has moved since it was looked at: its newest one counts.
    """
    found = []
    for key, pod in _pods_of_vms(pods, active).items():
        meta = pod.metadata
        since = created.get(key) or meta.creation_timestamp
        load = load_from_pod(meta.annotations)
        if load is not None:
            started = since.timestamp() if since else 0.0
            size = (load.cores, load.bytes)
            found.append(OwnVm(key, pod.spec.node_name, started, *size, load.cpu, load.memory))
    return sorted(found, key=lambda vm: vm.key)


def _pods_of_vms(pods: Iterable[wire.Pod], active: frozenset[str]) -> dict[Key, wire.Pod]:
    chosen: dict[Key, wire.Pod] = {}
    for pod in sorted(pods, key=_age):
        if runs_a_vm(pod.metadata.labels):
            key = key_of(pod)
            if key not in chosen or chosen[key].metadata.uid not in active:
                chosen[key] = pod
    return chosen


def _age(pod: wire.Pod) -> float:
    created = pod.metadata.creation_timestamp
    return created.timestamp() if created else 0.0


def past_moves(migrations: Iterable[VirtualMachineMigration]) -> list[PastMove]:
    """What succeeded, newest first: the past is told from now backwards."""
    found = [
        PastMove(
            Key(each.metadata.namespace, each.spec.vm_name),
            each.status.source_node,
            each.status.target_node,
            each.status.completion_time.timestamp(),
        )
        for each in migrations
        if each.status.phase == "Succeeded" and each.status.completion_time is not None
    ]
    return sorted(found, key=lambda move: -move.at)


def known_from(migrations: Iterable[VirtualMachineMigration]) -> float:
    """Since when it is known where every VM was, in seconds since 1970; 0 if always.

    Of each VM only its newest finished migrations are kept: before the oldest of so many it may
    have been anywhere.
    """
    begun: dict[Key, list[float]] = {}
    for each in migrations:
        created = each.metadata.creation_timestamp
        if each.finished and created is not None:
            key = Key(each.metadata.namespace, each.spec.vm_name)
            begun.setdefault(key, []).append(created.timestamp())
    return max((min(all_) for all_ in begun.values() if len(all_) >= FINISHED_KEPT), default=0.0)


def own_loads(vms: Sequence[OwnVm], grid: Grid, clock: Clock) -> tuple[Loads, Loads]:
    """(moments, vms) cores and bytes: the exact mean of each curve over the step before.

    Before the clock's epoch every curve stands at its beginning. Before a VM was created it used
    nothing that anybody knows of: a cluster of two minutes has no week to tell.
    """
    edges = np.array([clock.lab_s(grid.at(moment - 1)) for moment in range(grid.moments + 1)])
    edges = np.maximum.accumulate(np.maximum(edges, 0.0))
    cpu = np.full((grid.moments, len(vms)), np.nan, dtype=np.float32)
    memory = cpu.copy()
    begun = np.diff(edges) > 0
    for column, vm in enumerate(vms):
        for table, curve, size in ((cpu, vm.cpu, vm.cores), (memory, vm.memory, vm.bytes)):
            table[~begun, column] = value_at(curve, 0.0) * size
            table[begun, column] = _means(curve, edges, begun) * size
            table[_times(grid) < vm.since, column] = np.nan
    return cpu, memory


def _times(grid: Grid) -> Times:
    return np.array([grid.at(moment) for moment in range(grid.moments)])


def _means(curve: Curve, edges: Times, begun: NDArray[np.bool_]) -> Times:
    if not begun.any():
        return np.zeros(0)
    first = int(np.argmax(begun))
    return means(curve, edges[first:])


def own_placement(
    vms: Sequence[OwnVm], moves: Sequence[PastMove], nodes: Sequence[str], grid: Grid
) -> Places:
    """(moments, vms) where each VM was: where it is now, and before each move at its source."""
    number = {name: at for at, name in enumerate(nodes)}
    placement = np.full((grid.moments, len(vms)), NOWHERE, dtype=np.int32)
    times = _times(grid)
    for column, vm in enumerate(vms):
        placement[:, column] = number.get(vm.node, NOWHERE)
        for move in moves:
            if move.key == vm.key:
                placement[times < move.at, column] = number.get(move.source, NOWHERE)
        placement[times < vm.since, column] = NOWHERE
    return placement
