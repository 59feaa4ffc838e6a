"""A recorded cluster as pictures: loads and places of each moment, and its snapshot at the end.

A recording holds loads and no scores, so the nodes of its moments have no classes; those of
the snapshot have, and every click on it is answered.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from trimtab.model.recorded.recording import NOWHERE, ClusterRecording, Loads, Places
from trimtab.model.snapshot import Snapshot
from trimtab.web.feed.from_snapshot import imbalance, picture_of
from trimtab.web.feed.picture import ClusterState, MoveState, NodeState, Picture, VmState

MOST_ENTRIES = 400_000
"""VMs times moments that are shown; more would fold the oldest moments away anyway."""
_MIB = 1024**2


def pictures_of(recording: ClusterRecording) -> Iterator[tuple[Picture, Snapshot | None]]:
    """Moment after moment, and the snapshot at the end."""
    last = picture_of(recording.snapshot)
    for _, picture in moments_of(recording, last.nodes):
        yield picture, None
    yield last, recording.snapshot


def moments_of(
    recording: ClusterRecording, known: Mapping[str, NodeState] | None = None
) -> Iterator[tuple[int, Picture]]:
    """Each moment by its number, evenly left out where there are too many.

    `known` are the nodes of the snapshot, for whoever has them already.
    """
    moments, vms = recording.placement.shape
    stride = max(1, math.ceil(moments * max(1, vms) / MOST_ENTRIES))
    known = picture_of(recording.snapshot).nodes if known is None else known
    note = f"recorded; one of {stride} moments is shown" if stride > 1 else "recorded"
    demand = recording.demand
    before: Places | None = None
    moved = 0
    for moment in range(0, moments, stride):
        moves = _moves(recording, moment, before)
        moved += len(moves)
        nodes = {
            name: _node(recording, moment, number, known.get(name, NodeState()))
            for number, name in enumerate(recording.manifest.nodes)
        }
        cluster = ClusterState(
            imbalance=imbalance(list(nodes.values())),
            over=None,
            evictions=None,
            moved=moved,
            notes=(note,),
        )
        at = recording.manifest.start + moment * recording.manifest.step_s
        vms = _vms(recording, moment, demand[moment])
        yield moment, Picture(at=at, cluster=cluster, nodes=nodes, vms=vms, moves=moves)
        before = recording.placement[moment]


def _vms(recording: ClusterRecording, moment: int, demand: Loads) -> dict[str, VmState]:
    manifest, places = recording.manifest, recording.placement[moment]
    memory = recording.vm_memory[moment]
    return {
        name: VmState(
            node=manifest.nodes[places[number]],
            cpu=_known(demand[number], 3),
            memory=None if math.isnan(memory[number]) else float(memory[number]) // _MIB * _MIB,
        )
        for number, name in enumerate(manifest.vms)
        if places[number] != NOWHERE
    }


def _node(recording: ClusterRecording, moment: int, number: int, seen: NodeState) -> NodeState:
    cores, memory = seen.capacity
    return NodeState(
        cpu=_share(recording.node_cpu[moment, number], cores),
        memory=_share(recording.node_memory[moment, number], memory),
        capacity=seen.capacity,
        zone=seen.zone,
    )


def _moves(recording: ClusterRecording, moment: int, before: Places | None) -> dict[str, MoveState]:
    """VMs that are elsewhere than at the moment before."""
    if before is None:
        return {}
    manifest, now = recording.manifest, recording.placement[moment]
    moved = np.flatnonzero((now != before) & (now != NOWHERE) & (before != NOWHERE))
    at = manifest.start + moment * manifest.step_s
    return {
        f"{manifest.vms[number]}@{moment}": MoveState(
            vm=manifest.vms[number],
            source=manifest.nodes[before[number]],
            target=manifest.nodes[now[number]],
            phase="Succeeded",
            begun=at - manifest.step_s,
            ended=True,
        )
        for number in moved
    }


def _share(used: float, capacity: float) -> float | None:
    return None if math.isnan(used) or not capacity else round(float(used) / capacity, 4)


def _known(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(float(value), digits)
