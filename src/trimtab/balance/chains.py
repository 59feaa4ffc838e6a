"""Nodes that no single move helps: exchange two VMs, or make a place on the target first.

exchange   a leaves the hot node for t, b of t comes back
chain      b of t goes on to u, then a of the hot node comes to t

Rare enough (one node in two hundred on a grown cluster) to try every pair of the hot
node's VMs and the VMs of the coldest nodes.
"""

import numpy as np
from msgspec import Struct

from trimtab.balance.gains import gains
from trimtab.balance.problem import SLACK, Flags, Floats, Places
from trimtab.balance.state import State

TRIED = 24
"""Targets that are tried: the coldest ones."""


class Chain(Struct, frozen=True):
    """Moves in their order: VM, target, drop of excess."""

    moves: tuple[tuple[int, int, float], ...]
    gain: float


def best_chain(
    state: State,
    source: int,
    vms: Places,
    targets: Places,
    ceiling: Floats,
    movable: Flags,
    enough: float,
) -> Chain | None:
    """The two moves that drop most excess, at least `enough`; None if no two do."""
    best: Chain | None = None
    for target in _by_room(state, targets, ceiling)[:TRIED].tolist():
        if target == source:
            continue
        partners = [vm for vm in state.on_node[target] if movable[vm]]
        for vm in vms.tolist():
            found = _through(state, source, vm, target, partners, targets, ceiling)
            if found and found.gain >= enough - SLACK and (best is None or found.gain > best.gain):
                best = found
        if best is not None:
            return best
    return best


def _by_room(state: State, targets: Places, ceiling: Floats) -> Places:
    room = (ceiling[:, targets] - state.share[:, targets]).min(axis=0)
    return np.asarray(targets[np.argsort(-room, kind="stable")])


def _through(
    state: State,
    source: int,
    vm: int,
    target: int,
    partners: list[int],
    others: Places,
    ceiling: Floats,
) -> Chain | None:
    """`vm` to `target` after one of the target's VMs went to the source or elsewhere."""
    ideal = _excess_without(state, source, vm, ceiling)
    if ideal <= SLACK or not _could_be_allowed(state, vm, target):
        return None
    for partner in sorted(partners, key=lambda p: float(state.problem.load[:, p].sum())):
        for onward in _places_for(state, partner, target, source, others, ceiling):
            chain = _tried(state, source, vm, target, partner, onward, ceiling)
            if chain is not None:
                return chain
    return None


def _excess_without(state: State, source: int, vm: int, ceiling: Floats) -> float:
    """How much excess the node loses when the VM leaves."""
    share, limit = state.share[:, source], ceiling[:, source]
    then = share - state.share_of(vm, source)
    return float((share - limit).clip(min=0).sum() - (then - limit).clip(min=0).sum())


def _could_be_allowed(state: State, vm: int, target: int) -> bool:
    problem = state.problem
    return bool(problem.open[target] and problem.allowed[problem.kind[vm], target])


def _places_for(
    state: State, partner: int, target: int, source: int, others: Places, ceiling: Floats
) -> list[int]:
    """Where the target's VM could go: back to the source, or to the coldest node that takes it."""
    one = np.array([partner])
    fits = state.fits(one, others)[0]
    drop, _, _ = gains(state, target, one, others, ceiling)
    onward = others[fits & (drop[0] >= -SLACK) & (others != source)]
    places = [int(onward[0])] if len(onward) else []
    if state.fits(one, np.array([source]))[0, 0]:
        places.append(source)
    return places


def _tried(
    state: State,
    source: int,
    vm: int,
    target: int,
    partner: int,
    onward: int,
    ceiling: Floats,
) -> Chain | None:
    """Do both moves, look, and undo them."""
    before = state.excess(ceiling)[[source, target, onward]].sum()
    if source == onward:
        before = state.excess(ceiling)[[source, target]].sum()
    first = gains(state, target, np.array([partner]), np.array([onward]), ceiling)
    state.move(partner, onward)
    try:
        if not state.fits(np.array([vm]), np.array([target]))[0, 0]:
            return None
        second = gains(state, source, np.array([vm]), np.array([target]), ceiling)
        state.move(vm, target)
        after = state.excess(ceiling)
        ends = {source, target, onward}
        gain = float(before - after[list(ends)].sum())
        state.move(vm, source)
    finally:
        state.move(partner, target)
    if gain <= SLACK:
        return None
    moves = (
        (partner, onward, float(first.drop[0, 0])),
        (vm, target, float(second.drop[0, 0])),
    )
    return Chain(moves, gain)
