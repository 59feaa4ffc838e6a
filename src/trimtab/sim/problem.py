"""A simulated cluster as the room `balance` sees it: for planned moves and for lower bounds."""

from typing import Any

import numpy as np

from trimtab.balance.problem import NOWHERE, Problem, problem_of
from trimtab.sim.fleet import BYTES_PER_UNIT, Fleet, Floats, Numbers


def problem_at(fleet: Fleet, where: Numbers, loads: tuple[Floats, Floats], **more: Any) -> Problem:
    """The problem with VMs at `where` (the number behind the last node is nowhere).

    loads: CPU and memory of each VM in the fleet's units; more: fields of `problem_of`.
    """
    rules, ground = fleet.rules, fleet.ground
    if rules is not None:
        more |= {"kind": rules.kind, "allowed": rules.allowed, "groups": rules.groups}
    return problem_of(
        nodes=fleet.node_names,
        vms=fleet.vm_names,
        capacity=np.stack([fleet.cpu_capacity, fleet.memory_capacity]),
        where=np.where(where == fleet.nodes, NOWHERE, where),
        load=np.stack(loads),
        ground=None if ground is None else np.stack([ground.cpu, ground.memory]),
        resident=loads[1] * BYTES_PER_UNIT,
        dirty_rate=fleet.dirty_rate,
        **more,
    )
