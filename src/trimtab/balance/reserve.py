"""Room for the loss of any one node: each node's largest VM must fit on another.

Moves do not change how much is free in all, only whether it is in one piece. So no move
may take the last places where the largest VMs fit, and where such a place is missing
already, one is made by moving a small VM out of the way.
"""

import numpy as np
from msgspec import Struct

from trimtab.balance.gains import gains
from trimtab.balance.problem import SLACK, Flags, Floats, Places
from trimtab.balance.state import State

KEPT = 2
"""So many nodes keep a place for the cluster's largest VM: one may be the node that is lost."""


class Need(Struct, frozen=True, eq=False):
    """A node whose largest VM would find no place."""

    node: int
    request: Floats


class Reserve:
    """Counts the nodes that have a place for the largest VM while moves are planned."""

    def __init__(self, state: State) -> None:
        self._state = state
        problem = state.problem
        self._largest: Floats = problem.request.max(axis=1, initial=0.0)
        room = problem.allocatable - state.used >= self._largest[:, None]
        self._roomy: Flags = np.asarray(problem.open & room.all(axis=0))

    def keeps_room(self, vms: Places, targets: Places) -> Flags:
        """(vms, targets): the move leaves enough places for the largest VM."""
        keeps = np.ones((len(vms), len(targets)), dtype=np.bool_)
        if not len(self._largest) or int(self._roomy.sum()) > KEPT:
            return keeps
        problem, state = self._state.problem, self._state
        for column, target in enumerate(targets.tolist()):
            if self._roomy[target]:
                free = problem.allocatable[:, target] - state.used[:, target]
                left = free[:, None] - problem.request[:, vms]
                keeps[:, column] = (left >= self._largest[:, None]).all(axis=0)
        return keeps

    def before_move(self, vm: int, target: int) -> None:
        """Keep count of a move that is about to be planned."""
        if not len(self._largest):
            return
        problem, state = self._state.problem, self._state
        for node, sign in ((int(state.where[vm]), -1.0), (target, 1.0)):
            used = state.used[:, node] + sign * problem.request[:, vm]
            room = problem.allocatable[:, node] - used >= self._largest
            self._roomy[node] = bool(problem.open[node] and room.all())

    def unprotected(self) -> list[Need]:
        """Nodes whose largest VM fits on no other node, though all free room would do."""
        problem, state = self._state.problem, self._state
        if not len(problem.resources):
            return []
        free = np.where(problem.open, problem.allocatable - state.used, -np.inf)
        found = []
        for node, vms in enumerate(state.on_node):
            if not vms:
                continue
            need = problem.request[:, vms].max(axis=1)
            fits = (free >= need[:, None]).all(axis=0)
            fits[node] = False
            if not fits.any():
                found.append(Need(node, need))
        return found


def room_making_move(
    state: State, need: Need, movable: Flags, ceiling: Floats
) -> tuple[int, int] | None:
    """The smallest VM whose leaving makes a place for the need, and where it can go."""
    problem = state.problem
    free = problem.allocatable - state.used
    order = np.argsort(-free.min(axis=0), kind="stable")
    for node in order[problem.open[order] & (order != need.node)][:32].tolist():
        vms = np.array([vm for vm in state.on_node[node] if movable[vm]], dtype=np.intp)
        short = need.request - free[:, node]
        enough = vms[(problem.request[:, vms] >= short[:, None]).all(axis=0)]
        for vm in enough[np.argsort(problem.request[:, enough].sum(axis=0))].tolist():
            targets = np.flatnonzero(problem.open & (np.arange(len(problem.nodes)) != need.node))
            fits = state.fits(np.array([vm]), targets)[0]
            drop, _, _ = gains(state, node, np.array([vm]), targets, ceiling)
            good = targets[fits & (drop[0] >= -SLACK)]
            if len(good):
                return vm, int(good[0])
    return None
