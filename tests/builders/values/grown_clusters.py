"""Clusters that grew: all VMs on four fifths of the nodes, sizes 1, 2, 4, 8, use by chance."""

import numpy as np

from trimtab.balance.problem import Exclusion, Problem, problem_of


def a_grown_cluster(nodes: int, vms: int, seed: int = 0) -> Problem:
    """Nodes alike; mean load 0.50 of CPU and 0.45 of memory."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1.0, 2.0, 4.0, 8.0], vms)
    cpu = size * rng.beta(1.2, 3.0, vms)
    memory = size * rng.beta(1.2, 3.0, vms)
    cpu *= 0.50 * nodes / cpu.sum()
    memory *= 0.45 * nodes / memory.sum()
    where = rng.integers(0, int(nodes * 0.8), vms)
    return problem_of(
        nodes=[f"node-{n}" for n in range(nodes)],
        vms=[f"vm-{v}" for v in range(vms)],
        capacity=np.ones((2, nodes)),
        where=where,
        load=np.stack([cpu, memory]),
        resident=memory * 128e9,
    )


def an_unlike_cluster(nodes: int, vms: int, seed: int = 0) -> Problem:
    """Two sizes of nodes, two CPU models; a fifth of the VMs is tied to a model or cannot move."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1.0, 2.0, 4.0, 8.0], vms)
    large = rng.random(nodes) < 0.3
    capacity = np.where(large, 2.0, 1.0)
    model = rng.integers(0, 2, nodes)
    total = capacity.sum()
    cpu = size * rng.beta(1.2, 3.0, vms)
    memory = size * rng.beta(1.2, 3.0, vms)
    cpu *= 0.50 * total / cpu.sum()
    memory *= 0.45 * total / memory.sum()
    settled = int(nodes * 0.8)
    where = rng.choice(settled, vms, p=capacity[:settled] / capacity[:settled].sum())
    tied = rng.random(vms) < 0.15
    fixed = rng.random(vms) < 0.05
    kind = np.where(tied, 1 + model[where], 0)
    return problem_of(
        nodes=[f"node-{n}" for n in range(nodes)],
        vms=[f"vm-{v}" for v in range(vms)],
        capacity=np.stack([capacity, capacity]),
        where=where,
        load=np.stack([cpu, memory]),
        resident=memory * 128e9,
        kind=kind,
        allowed=np.stack([np.ones(nodes, dtype=np.bool_), model == 0, model == 1]),
        excluded={
            int(vm): Exclusion("not-migratable", "its disk is on one node")
            for vm in np.flatnonzero(fixed)
        },
    )
