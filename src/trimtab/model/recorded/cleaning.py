"""Repairs of recorded loads, each counted: nothing that was made up looks like a measurement."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.model.recorded.recording import NOWHERE, Loads, Places

HELD_STEPS = 3
"""A gap of so many moments keeps the value before it; a longer one stays unknown."""
SATURATED = 0.95
"""Share of a node's CPU from which on its VMs may have wanted more than they got."""


class Gaps(Struct, frozen=True):
    """What was missing inside the time in which a series existed."""

    held: int = 0
    """Moments that got the value before them."""
    unknown: int = 0
    """Moments that stay unknown."""


def fill_gaps(values: Loads, *, longest: int = HELD_STEPS) -> tuple[Loads, Gaps]:
    """Hold the last value over gaps of up to `longest` moments, column by column.

    Before its first and after its last value a column is left alone: it did not exist.
    """
    known = np.isfinite(values)
    row = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(known, row, -1), axis=0)
    following = np.minimum.accumulate(np.where(known, row, len(values))[::-1], axis=0)[::-1]
    inside = ~known & (last >= 0) & (following < len(values))
    short = inside & (following - last - 1 <= longest)
    filled = np.where(short, np.take_along_axis(values, np.maximum(last, 0), axis=0), values)
    counted = Gaps(int(short.sum()), int((inside & ~short).sum()))
    return np.asarray(filled, dtype=np.float32), counted


def not_negative(values: Loads) -> tuple[Loads, int]:
    """Values below 0 become 0 and infinite ones unknown; says how many there were."""
    wrong = int((values < 0).sum() + np.isinf(values).sum())
    cleaned = np.where(np.isinf(values), np.nan, np.maximum(values, 0))
    return np.asarray(cleaned, dtype=np.float32), wrong


def placement_from(
    seen: Sequence[tuple[int, int, NDArray[np.bool_]]], moments: int, vms: int
) -> tuple[Places, int]:
    """Where each VM was, from who reported it when: (vm, node, (moments,) reported) each.

    While two nodes report a VM (a migration's target does before the VM runs there) it stays
    where it was. The second number says how often that was so.
    """
    placement = np.full((moments, vms), NOWHERE, dtype=np.int32)
    by_vm: dict[int, list[tuple[int, NDArray[np.bool_]]]] = {}
    for vm, node, reported in seen:
        by_vm.setdefault(vm, []).append((node, reported))
    twice = 0
    for vm, reports in by_vm.items():
        if len(reports) == 1:
            placement[reports[0][1], vm] = reports[0][0]
            continue
        nodes = np.array([node for node, _ in reports])
        table = np.stack([reported for _, reported in reports])
        twice += int((table.sum(axis=0) > 1).sum())
        placement[:, vm] = _follow(nodes, table)
    return placement, twice


def _follow(nodes: NDArray[np.int_], table: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The node at each moment; of several that report, the one before, else the first to come."""
    found = np.full(table.shape[1], NOWHERE, dtype=np.int32)
    at = NOWHERE
    for moment in range(table.shape[1]):
        here = np.flatnonzero(table[:, moment])
        if at == NOWHERE or at not in here:
            at = int(here[0]) if len(here) else NOWHERE
        found[moment] = nodes[at] if at != NOWHERE else NOWHERE
    return found


def hold_places(placement: Places) -> Places:
    """A VM that is seen again on some node within `HELD_STEPS` moments was on its last one."""
    values = np.where(placement == NOWHERE, np.nan, placement).astype(np.float32)
    filled, _ = fill_gaps(values, longest=HELD_STEPS)
    return np.where(np.isnan(filled), NOWHERE, np.nan_to_num(filled)).astype(np.int32)


def recorded_moves(placement: Places) -> list[tuple[int, int, int, int]]:
    """(moment, vm, from, to) of every VM that was on another node at the moment before."""
    moved = (placement[1:] != placement[:-1]) & (placement[1:] >= 0) & (placement[:-1] >= 0)
    return [
        (int(at) + 1, int(vm), int(placement[at, vm]), int(placement[at + 1, vm]))
        for at, vm in zip(*np.nonzero(moved), strict=True)
    ]


def came_and_went(placement: Places) -> tuple[int, int]:
    """VMs that were not there at the first moment, and that were not there at the last one."""
    there = (placement >= 0).any(axis=0)
    came, went = there & (placement[0] < 0), there & (placement[-1] < 0)
    return int(came.sum()), int(went.sum())
