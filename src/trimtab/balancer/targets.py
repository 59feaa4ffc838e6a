"""Where a move may end: one named node, or a set of cool nodes that the scheduler chooses from.

KubeVirt takes conditions on a migration's target, not a name (addedNodeSelector). A condition
on the hostname would stay on the VM's new pod for its whole life, so the balancer labels the
nodes that suit, asks for the label, and takes it away again once the scheduler has chosen.
"""

import numpy as np

from trimtab.balance.bounds import ceilings
from trimtab.balance.gains import gains
from trimtab.balance.problem import Flags
from trimtab.balance.state import State
from trimtab.balancer.situation import Situation
from trimtab.balancer.wire import PlannedMove

SLACK = 1e-9
WORTH = 0.5
"""A node that brings less than this share of the best gain is no target."""
NO_GAIN = "it would bring nothing any more"


def suitable_nodes(
    s: Situation, move: PlannedMove, state: State, *, only_planned: bool
) -> tuple[Flags, str]:
    """(N,) nodes where the move does what it was planned for; if there is none, the reason.

    only_planned: the node that the plan names, and no other.
    """
    problem = state.problem
    vm, count = problem.vms.index(move.vm), len(problem.nodes)
    everywhere, planned = np.arange(count), np.zeros(count, dtype=np.bool_)
    if move.target in problem.nodes:
        planned[problem.nodes.index(move.target)] = True
    asked = planned if only_planned else np.ones(count, dtype=np.bool_)
    fits = state.fits(np.array([vm]), everywhere)[0] & asked
    if not fits.any():
        return fits, _why_nowhere(state, vm, move.target)
    goals, source = s.settings.goals(), int(state.where[vm])
    ceiling = ceilings(problem, goals.band)
    drop, _, rise = (each[0] for each in gains(state, source, np.array([vm]), everywhere, ceiling))
    if only_planned and (move.goal != "level" or move.chain):
        return fits, ""
    if move.goal in ("level", "relieve"):
        wanted = fits & (drop >= goals.margin - SLACK)
        if not only_planned:
            wanted &= (rise <= SLACK) | planned
            wanted &= drop >= WORTH * float(np.where(wanted, drop, 0.0).max())
        return wanted, "" if wanted.any() else NO_GAIN
    level = fits & (rise <= SLACK)
    return (level if level.any() else fits), ""


def _why_nowhere(state: State, vm: int, target: str) -> str:
    nodes = state.problem.nodes
    if target not in nodes:
        return f"there is no node {target} any more"
    refused = state.refusal(vm, nodes.index(target))
    return refused[1] if refused is not None else "no node may take it"
